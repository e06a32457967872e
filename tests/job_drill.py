"""Real processes that submit and start local jobs and are killed between any two lines of that.

A program of its own (`python job_drill.py submitters|starters FOLDER ROUNDS SEED`), since it forks. It prints what it
found as JSON.
"""

import json
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Literal

import ekiden_jobs
from ekiden_jobs import JobKey, JobRequest
from ekiden_jobs.local import LocalExecutor
from ekiden_jobs.local_start import starter_command

_SOURCES = str(Path(ekiden_jobs.__file__).parents[1])
_SLOTS = 2
_PATIENCE_S = 120.0


def kill_submitters(folder: Path, rounds: int, seed: int) -> dict[str, int]:
    """Kill processes at random lines of submitting a job, some of them twice, and see that each job runs once."""
    chance = random.Random(seed)
    jobs, work = _folders(folder)
    lines = _count_lines(lambda: _executor(jobs).submit(_request("counted", work)))
    keys = [f"job-{number}" for number in range(rounds)]
    killed = 0
    for key in keys:
        for _ in range(chance.choice([1, 1, 2])):
            request = _request(key, work)
            killed += _is_killed(lambda request=request: _executor(jobs).submit(request), chance.randrange(1, lines))
    left = [key for key in _executor(jobs).known() if _executor(jobs).status([key])[key].phase == "unsubmitted"]
    known = len(_executor(jobs).known()) - 1 - len(left)
    for key in keys:
        if key in left or key not in _executor(jobs).known():
            _executor(jobs).submit(_request(key, work))
    return {"lines": lines, "killed": killed, "known": known, **_ends(jobs, work, ["counted", *keys])}


def kill_starters(folder: Path, rounds: int, seed: int) -> dict[str, int]:
    """Kill processes at random lines of starting jobs that are due, and see that each job runs once."""
    chance = random.Random(seed)
    jobs, work = _folders(folder)

    def start() -> None:
        from ekiden_jobs import local_start

        local_start.main(starter_command(jobs, _SLOTS, 5.0)[-3:])

    def put_down(key: str) -> None:
        _die(lambda frame, _: frame.f_code.co_name == "could_start")
        _executor(jobs).submit(_request(key, work))

    keys = ["counted", *(f"job-{number}" for number in range(rounds))]
    lines, killed = 0, 0
    for key in keys:
        assert _fork(lambda key=key: put_down(key)) == -signal.SIGKILL
        if lines == 0:
            lines = _count_lines(start)
        else:
            killed += _is_killed(start, chance.randrange(1, lines))
    return {"lines": lines, "killed": killed, **_ends(jobs, work, keys)}


def _folders(folder: Path) -> tuple[Path, Path]:
    work = folder / "work"
    work.mkdir(parents=True)
    return folder / "jobs", work


def _executor(jobs: Path) -> LocalExecutor:
    return LocalExecutor(jobs, slots=_SLOTS)


def _request(key: str, work: Path) -> JobRequest:
    return JobRequest(
        JobKey(key), ("sh", "-c", f'test "$TOKEN" = open && echo run >> {key}'), work, secrets={"TOKEN": "open"}
    )


def _ends(jobs: Path, work: Path, keys: list[str]) -> dict[str, int]:
    """Wait for all jobs and count those that ended well, and their runs."""
    executor = _executor(jobs)
    ends = executor.wait([JobKey(key) for key in keys], _PATIENCE_S)
    for status in ends.values():
        assert status.outcome == "ok", status
    runs = [len((work / key).read_text().splitlines()) for key in keys]
    assert runs == [1] * len(keys), dict(zip(keys, runs, strict=True))
    return {"ok": len(ends), "runs": sum(runs), "secrets": len(list(jobs.rglob("secrets")))}


def _count_lines(work: Callable[[], object]) -> int:
    reading, writing = os.pipe()

    def count() -> None:
        seen = 0
        owner = os.getpid()

        def take(frame: FrameType, event: Literal["call", "line"]) -> bool:
            nonlocal seen
            seen += event == "line"
            return False

        _die(take)
        work()
        if os.getpid() == owner:
            os.write(writing, f"{seen}".encode())

    assert _fork(count) == 0
    os.close(writing)
    with os.fdopen(reading) as answer:
        return int(answer.read())


def _is_killed(work: Callable[[], object], lines: int) -> bool:
    """Do something in a process of its own that is killed after so many lines of Ekiden's; tell whether it was."""
    left = lines

    def take(_: FrameType, event: Literal["call", "line"]) -> bool:
        nonlocal left
        left -= event == "line"
        return left == 0

    def do() -> None:
        _die(take)
        work()

    end = _fork(do)
    assert end in {0, -signal.SIGKILL}, f"a process ended with {end}"
    return end != 0


def _die(now: Callable[[FrameType, Literal["call", "line"]], bool]) -> None:
    """Have this process killed, but none that it forks, at the line or call of Ekiden's where that is asked for."""
    owner = os.getpid()

    def look(frame: FrameType, event: Literal["call", "line"], _: object) -> object:
        if os.getpid() != owner or not frame.f_code.co_filename.startswith(_SOURCES):
            return None
        if event in {"call", "line"} and now(frame, event):
            os.kill(owner, signal.SIGKILL)
        return look

    sys.settrace(look)  # pyright: ignore[reportArgumentType] - the type of a trace function is recursive


def _fork(work: Callable[[], object]) -> int:
    """Do something in a process of its own; return its exit code, negative for a signal."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # noqa: BLE001 - the last stop of a forked child: report and leave
        traceback.print_exc()
    finally:
        os._exit(status)


if __name__ == "__main__":
    drills = {"submitters": kill_submitters, "starters": kill_starters}
    drill, place, rounds, seed = sys.argv[1:]
    print(json.dumps(drills[drill](Path(place), int(rounds), int(seed))))
