"""The runner, under which every job runs: it claims the job, runs its program, and writes down how that ended.

It is started by `run_job.py` and uses the standard library alone.
"""

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from ekiden_files import write_whole
from ekiden_jobs.claim import LeaveError, claim_run
from ekiden_jobs.program import Bounds, Finish, Launch, Listener, run_program
from ekiden_jobs.records import (
    CANNOT_START,
    ENDED_FILE,
    REQUEST_FILE,
    SECRETS_FILE,
    STARTED_FILE,
    EndedRun,
    StartedRun,
    as_json,
)
from ekiden_warden.identity import this_process

Request = dict[str, Any]


def main(arguments: Sequence[str]) -> int:
    """Run a job; return the exit code of its program, or 128 and the number of the signal that ended it."""
    options = _parser().parse_args(arguments)
    if options.id is None:
        options.id = os.environ["SLURM_JOB_ID"]
        options.restarts = int(os.environ.get("SLURM_RESTART_COUNT", "0"))
    listener = Listener()
    try:
        return _Runner(options, listener).run()
    except LeaveError as error:
        _complain(f"{error}")
        return error.code
    except (OSError, ValueError, KeyError) as error:
        _complain(f"cannot run the job in {str(options.folder)!r}: {error}")
        return CANNOT_START
    finally:
        if options.afterwards:
            _start_afterwards(cast("list[str]", json.loads(options.afterwards)))


class _Runner:
    """One run of a job."""

    def __init__(self, options: argparse.Namespace, listener: Listener) -> None:
        self._native_id: str = options.id
        self._restarts: int = options.restarts
        self._task: int | None = options.task
        self._grace_s: float = options.grace_s
        self._keeps_bounds: bool = options.keep_bounds
        self._listener = listener
        job = Path(options.folder).absolute()
        self._request = cast("Request", json.loads((job / REQUEST_FILE).read_bytes()))
        self._folder = job if self._task is None else job / "tasks" / str(self._task)
        self._node = os.environ.get("SLURMD_NODENAME") or platform.node()
        self._started_at = time.time()

    def run(self) -> int:
        requeues: int = self._request["requeues"]
        number = claim_run(self._folder, self._native_id, requeues, self._pause)
        is_last = number > requeues
        if self._listener.was_asked_to_end or self._is_asked_now():
            return self._end(Finish(None, signal.SIGTERM, "", 0), number - 1, is_last=False)
        secrets = self._read_secrets()
        pid, started, boot = this_process()
        record = StartedRun(
            self._native_id, self._restarts, number, self._node, pid, started, boot, at=self._started_at
        )
        write_whole(self._folder / STARTED_FILE, as_json(record), sync=True)
        if is_last:
            self._drop_secrets()
        finish = run_program(self._launch(secrets), self._bounds(), self._listener)
        return self._end(finish, number, is_last=is_last)

    def _pause(self, seconds: float) -> None:
        self._listener.wait(seconds)
        if self._listener.was_asked_to_end:
            raise LeaveError(128 + signal.SIGTERM, "asked to end while an earlier run of this job still lived")

    def _is_asked_now(self) -> bool:
        self._listener.wait(0)
        return self._listener.was_asked_to_end

    def _read_secrets(self) -> dict[str, str]:
        if not self._request["secret_names"]:
            return {}
        return cast("dict[str, str]", json.loads((self._folder / SECRETS_FILE).read_bytes()))

    def _drop_secrets(self) -> None:
        (self._folder / SECRETS_FILE).unlink(missing_ok=True)

    def _launch(self, secrets: dict[str, str]) -> Launch:
        command = list(self._request["command"])
        environment = {**os.environ, **self._request["environment"], **secrets, "EKIDEN_JOB": str(self._folder)}
        environment["EKIDEN_RESTARTS"] = f"{self._restarts}"
        if self._task is not None:
            command += self._request["tasks"][self._task]
            environment["EKIDEN_TASK"] = f"{self._task}"
        out, err = self._folder / "out.log", self._folder / "err.log"
        return Launch(command, self._request["folder"], environment, out, err)

    def _bounds(self) -> Bounds:
        if not self._keeps_bounds:
            return Bounds(grace_s=self._grace_s)
        resources = self._request["resources"]
        per_cpu_mb = resources["memory_mb_per_cpu"]
        memory_mb = resources["memory_mb"] if per_cpu_mb is None else per_cpu_mb * resources["cpus"]
        return Bounds(
            time_s=resources["time_limit_s"] or float("inf"),
            memory_mb=memory_mb or float("inf"),
            warn_s=self._request["warn_s"],
            warn_signal=signal.Signals[f"SIG{self._request['warn_signal']}"],
            grace_s=self._grace_s,
        )

    def _end(self, finish: Finish, number: int, *, is_last: bool) -> int:
        record = EndedRun(
            native_id=self._native_id,
            restarts=self._restarts,
            run=number,
            node=self._node,
            exit_code=finish.exit_code,
            signal=finish.signal,
            limit=finish.limit,
            heard=tuple(heard.name for heard in self._listener.heard),
            peak_memory_mb=finish.peak_memory_mb,
            started_at=self._started_at,
            at=time.time(),
        )
        try:
            write_whole(self._folder / ENDED_FILE, as_json(record), sync=True)
            if is_last or record.is_final:
                self._drop_secrets()
        except OSError as error:
            _complain(f"cannot write how the job ended: {error}")
        return record.shell_code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="run_job.py", description="Run a job.", allow_abbrev=False)
    parser.add_argument("folder", help="the job's folder")
    parser.add_argument("--id", help="what the system that runs the job calls it; Slurm says that itself")
    parser.add_argument("--task", type=int, help="the number of the task, of an array")
    parser.add_argument("--restarts", type=int, default=0, help="how often the system has put the job back")
    parser.add_argument("--grace-s", type=float, default=20.0, help="seconds from SIGTERM to SIGKILL")
    parser.add_argument("--keep-bounds", action="store_true", help="keep time and memory of the request, as none else")
    parser.add_argument("--afterwards", help="a command, as a JSON list, to start when the job is over")
    return parser


def _start_afterwards(command: list[str]) -> None:
    try:
        os.posix_spawn(command[0], command, os.environ, setsid=True, setsigmask=())
    except OSError as error:
        _complain(f"cannot start {command!r}: {error}")


def _complain(text: str) -> None:
    sys.stderr.write(f"ekiden: {text}\n")
    sys.stderr.flush()
