"""A secret reaches the job's program and nothing else: no file, no process's command line, no record of Slurm."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from ekiden_jobs import JobKey
from slurm_jobs import ENOUGH_S, executor_on, job
from slurm_rig import SlurmRig
from slurm_rig_daemons import wait_until

KEY = JobKey("secretive")
SECRET = "planted-" + "7f3c0b5e"  # in two parts: this file is no place for it either
PROGRAM = 'printf %s "$TOKEN" | cksum > seen; touch runs; while [ ! -e go ]; do sleep 0.1; done'


def files(folder: Path) -> Iterator[str]:
    """Yield all files that hold the secret: the cluster's state, logs and database are among them."""
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink() and SECRET.encode() in file.read_bytes():
            yield f"{file.relative_to(folder)} {file.stat().st_mode & 0o777:o}"


def records(rig: SlurmRig) -> Iterator[str]:
    """Yield all command lines and all records of Slurm that hold the secret."""
    for process in psutil.process_iter(["cmdline"]):
        if SECRET in " ".join(process.info["cmdline"] or ()):
            yield f"the command line of process {process.pid}"
    questions = [
        ("squeue", "-t", "all", "-O", "Command:500,Comment:500,Name:500,WorkDir:500"),
        ("squeue", "--json"),
        ("scontrol", "show", "job", "-d"),
        ("sacct", "-a", "-P", "-o", "ALL"),
        ("sacct", "-j", "1", "--env-vars"),
        ("sacct", "-j", "1", "--batch-script"),
        ("scontrol", "write", "batch_script", "1", "-"),
    ]
    for command in questions:
        if SECRET in (answer := rig.command(*command)).stdout + answer.stderr:
            yield " ".join(command)


@pytest.mark.slurm
@pytest.mark.timeout(120)
def test_a_planted_secret_is_found_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", SECRET)
    jobs = tmp_path / "jobs"
    with SlurmRig(tmp_path / "rig", nodes=1, accounting="slurmdbd") as rig:
        executor = executor_on(jobs, {**rig.env, "TOKEN": SECRET})
        request = job(tmp_path, KEY, PROGRAM, secrets={"TOKEN": SECRET}, resources={"directives": ("--hold",)})
        assert SECRET not in repr(request)
        assert SECRET not in f"{executor.preview(request)}"
        number = executor.submit(request).native_id
        assert [*files(tmp_path), *records(rig)] == [f"jobs/{KEY}/secrets 600"]

        rig.command("scontrol", "release", number, check=True)
        wait_until((tmp_path / "runs").exists, "it running", ENOUGH_S, needed=[])
        executor.status([KEY])
        assert [*files(tmp_path), *records(rig)] == []

        (tmp_path / "go").touch()
        assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "ok"
        ended = ("sacct", "-n", "-X", "-o", "state", "-j", number)
        wait_until(lambda: "COMPLETED" in rig.command(*ended).stdout, "accounting knowing it", ENOUGH_S, needed=[])
        assert [*files(tmp_path), *records(rig)] == []
        told = rig.command("cksum", given=SECRET).stdout
        assert (tmp_path / "seen").read_text(encoding="utf-8") == told  # the program had it
    assert list(files(tmp_path)) == []
