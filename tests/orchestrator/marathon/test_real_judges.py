"""Runs that are judged by a real Lean or a real Coq."""

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from ekiden_orchestrator.marathon.events import Judged, read_events
from ekiden_orchestrator.marathon.request import Request
from ekiden_orchestrator.marathon.run import resume_run, start_run
from marathon_bed import SOLVERS, Bed


def request(bed: Bed, *numbers: int) -> Request:
    return Request(
        solver=str(SOLVERS / "brute"),
        manifest=bed.manifest(*numbers),
        budget_seconds=60,
        output_dir=bed.run_folder,
        judge="lean",
    )


@pytest.mark.coq
def test_coq_judges_a_run(bed: Bed) -> None:
    summary = start_run(replace(request(bed, 3, 6), judge="coq"), bed.settings, bed.display)
    assert (summary.score, summary.judge) == (2, "coq")
    assert {result.checker for result in summary.per_problem} == {"coq"}


@pytest.mark.lean
@pytest.mark.timeout(1200)
def test_a_run_whose_lean_is_interrupted_leaves_no_process_and_goes_on(bed: Bed) -> None:
    asked = request(bed, 3, 6)
    command = [sys.executable, "-c", "from ekiden_orchestrator.main import main; main()", "marathon", "run"]
    command += ["--solver", asked.solver, "--manifest", asked.manifest, "--budget-seconds", "60", "--judge", "lean"]
    command += ["--output-dir", str(bed.run_folder)]
    environment = {**os.environ, "EKIDEN_JUDGE_CACHE": "false"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as runner:
        children = await_lean(runner, bed.run_folder)
        runner.send_signal(signal.SIGINT)
        out, err = runner.communicate(timeout=60)
    assert runner.returncode == 130, (out, err)
    assert b"go on with: ekiden marathon run --resume" in err
    assert psutil.wait_procs(children, timeout=10)[1] == []
    done = [event.problem for event in read_events(bed.run_folder / "events.jsonl") if isinstance(event, Judged)]
    uncached = bed.settings.judge.model_copy(update={"cache": False})
    summary = resume_run(bed.run_folder, bed.settings.model_copy(update={"judge": uncached}), bed.display)
    assert (summary.score, summary.judge) == (2, "lean")
    assert summary.judge_identity is not None
    assert summary.judge_identity.startswith("lean ")
    after = [event.problem for event in read_events(bed.run_folder / "events.jsonl") if isinstance(event, Judged)]
    assert after[: len(done)] == done
    assert sorted(after) == ["normal_0003", "normal_0006"]


def await_lean(runner: subprocess.Popen[bytes], root: Path) -> list[psutil.Process]:
    """Wait until the solver has ended and Lean's processes run; return all that the runner has started."""
    mine = psutil.Process(runner.pid)
    while runner.poll() is None:
        try:
            ended = b'"attempt_ended"' in (root / "events.jsonl").read_bytes()
        except FileNotFoundError:
            ended = False
        children = mine.children(recursive=True)
        if ended and len(children) >= 2:
            return children
        with contextlib.suppress(subprocess.TimeoutExpired):
            runner.wait(timeout=0.1)
    raise AssertionError(f"the run ended by itself: {runner.communicate()}")
