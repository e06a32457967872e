"""`ekiden marathon run` as its user meets it: a process, a terminal, a kill in the middle."""

import json
import os
import pty
import random
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ekiden_orchestrator.marathon.events import Judged, read_events
from marathon_bed import PROBLEMS, SOLVERS, processes_of

COMMAND = [str(Path(sys.executable).parent / "ekiden"), "marathon", "run"]


def environment(**extra: str) -> dict[str, str]:
    return {
        **os.environ,
        "COLUMNS": "120",
        "EKIDEN_MARATHON_GRACE_S": "0.5",
        "EKIDEN_MARATHON_HEARTBEAT_S": "0.1",
        **extra,
    }


def ekiden(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], cwd=cwd, env=environment(), capture_output=True, text=True, check=False
    )


def start(*arguments: str | Path, cwd: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def solver(folder: Path, source: str) -> Path:
    folder.mkdir()
    (folder / "solver.py").write_text(source, encoding="utf-8")
    return folder


STEADY = """\
import json, os, time
output = open(os.environ["JUDGE_MARATHON_OUTPUT"], "a", encoding="utf-8")
for line in open(os.environ["JUDGE_MARATHON_MANIFEST"], encoding="utf-8"):
    time.sleep(0.02)
    output.write(json.dumps({"id": json.loads(line)["id"], "verdict": "false", "code": "import JudgeProblem"}) + "\\n")
    output.flush()
"""


def wait_for(path: Path, text: bytes, process: subprocess.Popen[bytes]) -> None:
    """Wait until a growing file holds a text."""
    watch = select.poll()
    while not (path.exists() and text in path.read_bytes()):
        assert process.poll() is None, f"the runner ended before {path} held {text!r}"
        watch.poll(20)


def test_bad_input_is_one_line_and_exit_status_2(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    with (tmp_path / "huge.jsonl").open("wb") as file:
        file.truncate(60 << 20)
    for arguments, message in (
        (["--manifest", "empty.jsonl"], "holds no problems"),
        (["--manifest", "huge.jsonl"], "manifest limit"),
        (["--manifest", "normal_100", "--budget-usd", "much"], "no amount of dollars"),
        ([], "--manifest"),
        (["--score-only"], "--output-dir"),
        (["--resume", "nowhere", "--budget-seconds", "5"], "--resume alone"),
        (["--manifest", "x" * 300], "File name too long"),
    ):
        result = ekiden(*arguments, cwd=tmp_path)
        assert (result.returncode, result.stdout) == (2, ""), arguments
        assert message in " ".join(result.stderr.split()), arguments
        assert "Traceback" not in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.jsonl", "huge.jsonl"]


def test_a_run_without_a_terminal_prints_plain_lines_into_a_default_folder(tmp_path: Path) -> None:
    result = ekiden("--solver", SOLVERS / "brute", "--manifest", PROBLEMS / "sample_20.json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout
    assert "\r" not in result.stdout
    (folder,) = (tmp_path / "runs" / "marathon").iterdir()
    assert re.fullmatch(r"brute__sample_20__\d{8}_\d{6}", folder.name)
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary["score"] == summary["attempted"] == 8
    assert summary["labels"] is None
    assert f"Score:         {summary['score']} / 20" in result.stdout


def test_a_terminal_shows_the_solver_at_work(tmp_path: Path) -> None:
    outside, inside = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "--solver", str(solver(tmp_path / "steady", STEADY)), "--manifest", "normal_100"],
        cwd=tmp_path,
        env=environment(TERM="xterm"),
        stdout=inside,
        stderr=inside,
    )
    os.close(inside)
    shown = bytearray()
    try:
        while data := os.read(outside, 65536):
            shown += data
    except OSError:  # Linux says so when the other side closes
        pass
    os.close(outside)
    assert process.wait() == 0
    assert b"solver running" in shown
    assert b"=== Result ===" in shown


@pytest.mark.parametrize("request_to_end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_everything_and_says_how_to_resume(tmp_path: Path, request_to_end: int) -> None:
    folder = solver(tmp_path / "steady", STEADY.replace("0.02", "0.1"))  # so that a busy machine interrupts it in time
    process = subprocess.Popen(
        [*COMMAND, "--solver", str(folder), "--manifest", "normal_100", "--output-dir", "run"],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    answers = tmp_path / "run" / "attempts" / "1" / "answers.jsonl"
    watch = select.poll()
    while not (answers.exists() and answers.stat().st_size):
        watch.poll(20)
    process.send_signal(request_to_end)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert f"ekiden marathon run --resume {tmp_path / 'run'}" in errors
    assert processes_of(tmp_path / "run") == []
    before = (tmp_path / "run" / "answers.jsonl").read_bytes()
    assert before
    resumed = ekiden("--resume", "run", cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    assert [attempt["reason"] for attempt in summary["attempts"]] == ["interrupted", "exited"]
    assert summary["attempted"] == 100
    assert (tmp_path / "run" / "answers.jsonl").read_bytes().startswith(before)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="writes to /dev/full")
@pytest.mark.parametrize("output", ["full", "closed"])
def test_a_run_that_cannot_print_stops_and_says_how_to_resume(tmp_path: Path, output: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with Path("/dev/full").open("wb") if output == "full" else os.fdopen(writer, "wb") as stdout:
        result = subprocess.run(
            [*COMMAND, "--solver", SOLVERS / "brute", "--manifest", "normal_100", "--output-dir", "run"],
            cwd=tmp_path,
            env=environment(),
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.endswith(f"ekiden marathon run --resume {tmp_path / 'run'}\n"), "ready to be copied"
    assert ekiden("--resume", "run", cwd=tmp_path).returncode == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_nothing_outlives_a_runner_that_is_killed(tmp_path: Path) -> None:
    process = start("--solver", SOLVERS / "family", "--manifest", "normal_100", "--output-dir", "run", cwd=tmp_path)
    wait_for(tmp_path / "run" / "attempts" / "1" / "answers.jsonl", b"all started", process)
    assert len(processes_of(tmp_path / "run")) >= 4
    process.kill()
    process.wait()
    watch = select.poll()
    while processes_of(tmp_path / "run"):
        watch.poll(20)  # the test's own time limit is the assertion


def drill(tmp_path: Path, moments: list[float]) -> None:
    """Kill a run after so many seconds, again and again, then let it end; nothing may be lost or judged twice."""
    folder = solver(tmp_path / "steady", STEADY)
    arguments = ["--solver", str(folder), "--manifest", "normal_100", "--output-dir", "run"]
    run = tmp_path / "run"
    kept = b""
    for moment in moments:
        process = start(*arguments, cwd=tmp_path)
        try:
            process.wait(timeout=moment)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        started = (run / "events.jsonl").exists() and b"run_started" in (run / "events.jsonl").read_bytes()
        arguments = ["--resume", "run"] if started else arguments
        if (run / "answers.jsonl").exists():
            answers = (run / "answers.jsonl").read_bytes()
            assert answers.startswith(kept)
            kept = answers
    result = ekiden(*arguments, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert (run / "answers.jsonl").read_bytes().startswith(kept)
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    assert summary["by_status"] == {"undecided": 100}
    keys = [(e.problem, e.answer_sha256) for e in read_events(run / "events.jsonl") if isinstance(e, Judged)]
    assert len(keys) == len(set(keys)) == 100
    assert processes_of(run) == []


@pytest.mark.timeout(120)
def test_a_run_killed_a_few_times_loses_nothing(tmp_path: Path) -> None:
    drill(tmp_path, [1.2, 1.6])


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(6))
def test_a_run_killed_at_random_moments_loses_nothing(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    drill(tmp_path, [dice.uniform(0.3, 3.0) for _ in range(6)])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_built_in_solver_refutes_every_false_problem_of_normal_100(tmp_path: Path) -> None:
    result = ekiden("--manifest", "normal_100", "--output-dir", "run", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    assert summary["by_status"] == {"accepted": 44, "not_attempted": 56}
    assert summary["labels"] == {"labelled": 100, "agreeing": 44, "contradicting": []}
    assert processes_of(tmp_path / "run") == []
