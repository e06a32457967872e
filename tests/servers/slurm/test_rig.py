"""The test cluster does what real ones do: jobs run, and end in every way that a job can end."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from slurm_rig import ACCOUNT, RigError, SlurmRig

pytestmark = [pytest.mark.slurm, pytest.mark.timeout(180)]

JOB_S = 60.0


def submit(rig: SlurmRig, script: str, *options: str) -> str:
    """Submit a job by its script, and return its id."""
    at = ("--output=/dev/null", f"--chdir={rig.root}")
    done = rig.command("sbatch", "--parsable", *at, *options, given=f"#!/bin/bash\n{script}\n", check=True)
    return done.stdout.strip()


def seen(rig: SlurmRig, job: str, fields: str = "%T %r") -> str:
    """Return what `squeue` says of a job."""
    return rig.command("squeue", "-h", "-t", "all", "-j", job, "-o", fields).stdout.strip()


def until(question: Callable[[], bool], what: object) -> None:
    """Wait for something that the cluster does by itself."""
    end, pause = time.monotonic() + JOB_S, 0.02
    while not question():
        assert time.monotonic() < end, f"{JOB_S:g} s went by without {what}"
        time.sleep(pause)
        pause = min(2 * pause, 0.5)


def ended(rig: SlurmRig, job: str) -> str:
    """Wait for the end of a job, and return its state, its reason and its exit code."""
    alive = ("PENDING", "RUNNING", "COMPLETING", "CONFIGURING")
    until(lambda: not seen(rig, job).startswith(alive), f"the end of job {job}")
    shown = rig.command("scontrol", "show", "job", "-o", job, check=True).stdout
    return " ".join(
        part.partition("=")[2] for part in shown.split() if part.startswith(("JobState", "Reason", "ExitC"))
    )


def runs(rig: SlurmRig, job: str) -> None:
    """Wait until a job runs."""
    until(lambda: seen(rig, job, "%T") == "RUNNING", f"job {job} running")


def processes(rig: SlurmRig) -> list[str]:
    """Return what runs on behalf of a cluster."""
    found: list[str] = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("SLURM_CONF") == str(rig.conf):
                found.append(" ".join(process.cmdline()))
    return found


def test_a_job_tells_its_exit_code(slurm: SlurmRig):
    assert ended(slurm, submit(slurm, "exit 3")) == "FAILED NonZeroExitCode 3:0"


def test_a_job_gets_the_gpus_that_it_asks_for_and_no_others(slurm: SlurmRig, tmp_path: Path):
    job = submit(slurm, f"echo $CUDA_VISIBLE_DEVICES > {tmp_path}/gpus", "--gres=gpu:lovelace_l40:2", "-w", "n2")
    assert ended(slurm, job) == "COMPLETED None 0:0"
    assert (tmp_path / "gpus").read_text(encoding="utf-8") == "0,1\n"


def test_a_job_that_takes_more_memory_than_it_asked_for_is_ended(slurm: SlurmRig):
    script = 'exec python3 -c "held = bytearray(400 << 20); held[::4096] = bytes(102400); input()" < <(sleep 60)'
    assert ended(slurm, submit(slurm, script, "--mem=100")) == "FAILED JobLaunchFailure 0:9"


def test_a_job_out_of_time_is_ended(slurm: SlurmRig):
    job = submit(slurm, "sleep 300")
    runs(slurm, job)
    slurm.time_out(job)
    assert ended(slurm, job).startswith("TIMEOUT TimeLimit")


def test_jobs_go_on_while_their_controller_is_killed_or_restarted(slurm: SlurmRig):
    job = submit(slurm, "sleep 300")
    runs(slurm, job)
    slurm.restart_controller()
    slurm.kill_controller()
    slurm.start_controller()
    assert seen(slurm, job, "%T") == "RUNNING"
    slurm.command("scancel", job, check=True)
    assert ended(slurm, job) == "CANCELLED None 0:15"


def test_a_drained_node_gets_no_work_until_it_is_resumed(slurm: SlurmRig):
    slurm.drain("n3", "a test")
    job = submit(slurm, "true", "-w", "n3")
    until(lambda: "ReqNodeNotAvail" in seen(slurm, job), "the job waiting for its node")
    slurm.resume("n3")
    assert ended(slurm, job) == "COMPLETED None 0:0"


def test_a_node_that_loses_power_takes_its_jobs_with_it(slurm: SlurmRig):
    lost = submit(slurm, "sleep 300", "-w", "n3", "--no-requeue")
    back = submit(slurm, 'test -n "$SLURM_RESTART_COUNT" || sleep 300', "-w", "n3", "--requeue")
    runs(slurm, lost)
    runs(slurm, back)
    slurm.fail_node("n3")
    assert ended(slurm, lost) == "NODE_FAIL NodeDown 0:0"
    slurm.start_node("n3")
    assert ended(slurm, back) == "COMPLETED None 0:0"


def test_a_job_outlives_the_daemon_of_its_node(slurm: SlurmRig):
    job = submit(slurm, "sleep 300", "-w", "n2")
    runs(slurm, job)
    slurm.stop_node("n2")
    slurm.start_node("n2")
    assert seen(slurm, job, "%T") == "RUNNING"
    slurm.command("scancel", job, check=True)
    assert ended(slurm, job).startswith("CANCELLED")


def test_an_urgent_job_takes_the_place_of_a_spare_one_which_comes_back(slurm: SlurmRig):
    spare = submit(slurm, 'test -n "$SLURM_RESTART_COUNT" || sleep 300', "-p", "spare", "-w", "n1", "--exclusive")
    runs(slurm, spare)
    urgent = submit(slurm, "true", "-p", "urgent", "-w", "n1")
    assert ended(slurm, urgent) == "COMPLETED None 0:0"
    assert ended(slurm, spare) == "COMPLETED None 0:0"


def test_accounting_keeps_the_comment_and_the_account(slurm_accounting: SlurmRig):
    job = submit(slurm_accounting, "true", "--comment=key-1", f"--account={ACCOUNT}")
    assert ended(slurm_accounting, job) == "COMPLETED None 0:0"
    ask = ("sacct", "-X", "-n", "-P", "-S", "now-1hours", "-j", job, "-o", "State,Comment,Account")
    until(lambda: slurm_accounting.command(*ask).stdout == f"COMPLETED|key-1|{ACCOUNT}\n", "the job in the accounting")


def test_what_ends_while_accounting_is_away_is_told_to_it_later(slurm_accounting: SlurmRig):
    with slurm_accounting.without_accounting():
        job = submit(slurm_accounting, "true")
        assert ended(slurm_accounting, job) == "COMPLETED None 0:0"
        assert slurm_accounting.command("sacct", "-j", job).returncode == 1
    ask = ("sacct", "-X", "-n", "-P", "-S", "now-1hours", "-j", job, "-o", "State")
    until(lambda: slurm_accounting.command(*ask).stdout == "COMPLETED\n", "the job in the accounting")


def test_a_cluster_without_a_database_writes_finished_jobs_to_a_file(tmp_path: Path):
    with SlurmRig(tmp_path / "rig", nodes=1, accounting="filetxt") as rig:
        job = submit(rig, "exit 4")
        assert ended(rig, job) == "FAILED NonZeroExitCode 4:0"
        until(lambda: f"JobId={job} " in rig.finished_jobs.read_text(encoding="utf-8"), "the line of the job")
        assert "JobState=FAILED" in rig.finished_jobs.read_text(encoding="utf-8")


def test_nothing_of_a_cluster_is_left_when_it_ends_not_even_its_jobs(tmp_path: Path):
    with SlurmRig(tmp_path / "rig", nodes=1) as rig:
        runs(rig, submit(rig, "trap '' TERM; setsid sleep 300 & sleep 300"))
        assert processes(rig)
    assert processes(rig) == []


def test_a_cluster_that_does_not_come_up_says_why_and_leaves_nothing(tmp_path: Path):
    rig = SlurmRig(tmp_path / "rig", nodes=1, settings={"SelectType": "select/no_such"})
    with pytest.raises(RigError, match="select/no_such"):
        rig.__enter__()
    assert processes(rig) == []
