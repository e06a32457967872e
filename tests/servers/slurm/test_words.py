"""What is read of people and agents, and what they are told."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from ekiden_config import default_settings
from ekiden_jobs import JobKey, JobRequestError, JobStatus, Resources
from ekiden_slurm.choice import Choice, Reasoned, which_executor
from ekiden_slurm.needs import EXAMPLE, Needs, read_memory, read_needs, read_time
from ekiden_slurm.overview import look_around
from ekiden_slurm.scope import AgentScope
from ekiden_slurm.words import duration, in_a_line
from remembered_jobs import NOON, RememberedJobs

SETTINGS = default_settings().slurm


def test_what_a_job_needs_is_read_from_a_line() -> None:
    assert read_needs("") == Needs(Resources())
    wanted = Resources(cpus=4, memory_mb=8192, gpus=1, time_limit_s=1800)
    assert read_needs(EXAMPLE) == Needs(wanted)
    assert read_needs("nodes=2, at_once=3") == Needs(Resources(nodes=2), 3)


@pytest.mark.parametrize(
    ("text", "mebibytes"),
    [("1", 1), ("3850", 3850), ("512M", 512), ("8G", 8192), ("8gb", 8192), ("2GiB", 2048), ("1T", 1048576)],
)
def test_memory_is_read_with_its_unit(text: str, mebibytes: int) -> None:
    assert read_memory(text) == mebibytes


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30", 1800), ("0:30", 30), ("1:30:00", 5400), ("2-12", 216_000), ("1-00:30", 88_200), ("1-0:0:5", 86_405)],
)
def test_a_time_limit_is_read_as_slurm_writes_it(text: str, seconds: int) -> None:
    assert read_time(text) == seconds


@pytest.mark.parametrize("text", ["", "0", "soon", "-5", "1:2:3:4", "1.5", "٣", "0:00", "1h"])
def test_what_is_no_time_limit_is_refused(text: str) -> None:
    with pytest.raises(JobRequestError, match="no time limit"):
        read_time(text)


@pytest.mark.parametrize("text", ["", "0", "-1", "8X", "G", "1.5G", "9" * 12, "999999999T"])
def test_what_is_no_memory_is_refused(text: str) -> None:
    with pytest.raises(JobRequestError, match="no amount of memory"):
        read_memory(text)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0.0 s"), (9.94, "9.9 s"), (42, "42 s"), (61, "1 min 01 s"), (5400, "1 h 30 min"), (200_000, "2 d 7 h")],
)
def test_a_time_span_is_told_as_people_say_it(seconds: float, told: str) -> None:
    assert duration(seconds) == told


def test_all_that_is_known_of_a_job_is_in_its_line() -> None:
    status = JobStatus(
        JobKey("a"), "ended", "node_failure", reason="Its node was lost.", node="n1", started_at=NOON,
        ended_at=NOON + timedelta(seconds=90), restarts=2, peak_memory_mb=10, native_id="7", stale=True,
    )  # fmt: skip
    assert in_a_line(status) == (
        "node_failure: Its node was lost; ran for 1 min 30 s; on n1; peak 10 MB; put back 2 times; id 7; as last "
        "known, since the system cannot be asked now"
    )
    assert in_a_line(JobStatus(JobKey("a"), "unsubmitted")) == "unsubmitted"


def test_folders_outside_the_workspace_are_told_by_their_names(tmp_path: Path) -> None:
    scope = AgentScope.of_folder(tmp_path, tmp_path / "runs", ())
    told = scope.veiled(f"{tmp_path}/runs/{scope.prefix}a in {tmp_path} or {tmp_path}-other, {Path.home()}/x")
    assert told == f"<jobs>/a in . or {tmp_path}-other, <home>/x"


def program(folder: Path, name: str, script: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def test_slurm_is_chosen_where_a_cluster_is_configured_even_if_it_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = tmp_path / "usual.conf"
    monkeypatch.setattr("ekiden_slurm.choice.CONFIGURATIONS", (str(usual),))
    environ = {"PATH": str(tmp_path)}
    auto = SETTINGS.model_copy(update={"executor": "auto"})
    assert which_executor(auto, environ) == Reasoned("local", "there is no Slurm here")
    program(tmp_path, "sbatch", "exit 1")
    program(tmp_path, "scontrol", "exit 1")
    assert which_executor(auto, environ).name == "local"
    conf = tmp_path / "slurm.conf"
    named = environ | {"SLURM_CONF": str(conf)}
    assert which_executor(auto, named) == Reasoned("local", "the variable SLURM_CONF names no file: 'slurm.conf'")
    conf.touch()
    assert which_executor(auto, named) == Reasoned("slurm", "a Slurm cluster is configured")
    program(tmp_path, "scontrol", "exit 0")
    assert which_executor(auto, environ) == Reasoned("slurm", "a Slurm controller answers")
    program(tmp_path, "scontrol", "exit 1")
    usual.touch()
    assert which_executor(auto, environ) == Reasoned("slurm", "a Slurm cluster is configured")
    for name in ("local", "slurm"):
        assert which_executor(SETTINGS.model_copy(update={"executor": name}), environ).name == name


def test_nodes_that_are_alike_are_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(
        tmp_path, "sinfo",
        "case \"$*\" in *-N*) for n in 1 2 3; do "
        "printf 'n%s\\037idle\\0370/8/0/8\\03716000\\0370\\037(null)\\037\\037main*\\037none\\037\\n' $n; done;; "
        "*) printf 'main\\037main*\\037up\\0371-00:00:00\\0373\\0370/24/0/24\\037(null)\\037\\n';; esac",
    )  # fmt: skip
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    seen = look_around(Choice(RememberedJobs("slurm"), "the test says so", tmp_path, SETTINGS))
    assert list(seen.parts) == [
        "partition main: up, 3 nodes, 24 of 24 processors free, at most 1-00:00:00, the default",
        "3 nodes n1, n2, n3: idle, 8 of 8 processors free, 16 of 16 GiB free",
    ]
    assert not re.search("local", seen.executor)
