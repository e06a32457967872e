"""The runner, under which every job runs: it claims the job, runs its program, and writes down how that ended.

It is started by `run_job.py` and uses the standard library alone.
"""

import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from ekiden_files import write_whole
from ekiden_jobs.claim import LeaveError, claim_run
from ekiden_jobs.program import Bounds, Finish, Launch, Listener, complain, run_program
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

_USAGE = "FOLDER [--id ID] [--task N] [--restarts N] [--grace-s S] [--keep-bounds] [--afterwards JSON-LIST]"
_USAGE_ERROR = 2
_ENDING = (signal.SIGTERM, signal.SIGKILL)
_HEAR_OUT_S = 1.0


class Options(NamedTuple):
    """What a runner is told.

    Attributes:
        folder: The job's folder.
        native_id: What the system that runs the job calls it.
        task: The number of the task, of an array.
        restarts: How often the system has put the job back.
        grace_s: How many seconds a program may take from SIGTERM to its end.
        keeps_bounds: Whether the runner keeps the request's bounds on time and memory, because nobody else does.
        afterwards: A command to start when the job is over.
    """

    folder: Path
    native_id: str
    task: int | None
    restarts: int
    grace_s: float
    keeps_bounds: bool
    afterwards: tuple[str, ...]


def main(arguments: Sequence[str]) -> int:
    """Run a job; return the exit code of its program, or 128 and the number of the signal that ended it."""
    try:
        options = read_options(arguments, os.environ)
    except (ValueError, KeyError, IndexError) as error:
        complain(f"cannot understand {' '.join(arguments)!r} ({error!r}); it must be: {_USAGE}")
        return _USAGE_ERROR
    try:
        return _Runner(options, Listener()).run()
    except LeaveError as error:
        complain(f"{error}")
        return error.code
    except (OSError, ValueError, KeyError, IndexError) as error:
        complain(f"cannot run the job in {str(options.folder)!r}: {error}")
        return CANNOT_START
    finally:
        if options.afterwards:
            _start_afterwards(options.afterwards)


def read_options(arguments: Sequence[str], environment: Mapping[str, str]) -> Options:
    """Return what a command line says; without `--id` the job is Slurm's, whose variables tell the rest."""
    folder = Path(arguments[0]).absolute()
    given: dict[str, str] = {}
    keeps_bounds = False
    words = iter(arguments[1:])
    for word in words:
        if word == "--keep-bounds":
            keeps_bounds = True
        elif word in {"--id", "--task", "--restarts", "--grace-s", "--afterwards"}:
            given[word] = next(words, "")
        else:
            raise ValueError(word)
    slurm: Mapping[str, str] = {} if "--id" in given else environment
    return Options(
        folder=folder,
        native_id=given["--id"] if "--id" in given else environment["SLURM_JOB_ID"],
        task=int(given["--task"]) if "--task" in given else None,
        restarts=int(given.get("--restarts", slurm.get("SLURM_RESTART_COUNT", "0"))),
        grace_s=float(given.get("--grace-s", "20")),
        keeps_bounds=keeps_bounds,
        afterwards=tuple(json.loads(given.get("--afterwards", "[]"))),
    )


class _Runner:
    """One run of a job."""

    def __init__(self, options: Options, listener: Listener) -> None:
        self._options = options
        self._listener = listener
        self._request = cast("Request", json.loads((options.folder / REQUEST_FILE).read_bytes()))
        self._folder = options.folder if options.task is None else options.folder / "tasks" / str(options.task)
        self._node = os.environ.get("SLURMD_NODENAME") or os.uname().nodename
        self._started_at = time.time()

    def run(self) -> int:
        requeues: int = self._request["requeues"]
        number = claim_run(self._folder, self._options.native_id, requeues, self._pause)
        is_last = number > requeues
        if self._listener.was_asked_to_end or self._is_asked_now():
            return self._end(Finish(None, signal.SIGTERM, "", 0), number - 1, is_last=False)
        try:
            finish = self._run_program(number, is_last=is_last)
        except OSError as error:  # such as secrets that are gone, a full disk, too many processes
            complain(f"cannot run the job in {str(self._folder)!r}: {error}")
            finish = Finish(CANNOT_START, None, "", 0)
        return self._end(finish, number, is_last=is_last)

    def _run_program(self, number: int, *, is_last: bool) -> Finish:
        secrets = self._read_secrets()
        pid, started, boot = this_process()
        record = StartedRun(
            self._options.native_id, self._options.restarts, number, self._node, pid, started, boot, at=self._started_at
        )
        write_whole(self._folder / STARTED_FILE, as_json(record), sync=True)
        if is_last:
            self._drop_secrets()
        finish = run_program(self._launch(secrets), self._bounds(), self._listener)
        self._hear_out(finish)
        return finish

    def _hear_out(self, finish: Finish) -> None:
        """Wait a moment for the signal that this process gets too where the system ends all of a job, in any order."""
        was_ended = finish.signal in _ENDING or finish.exit_code in {128 + number for number in _ENDING}
        give_up_at = time.monotonic() + (_HEAR_OUT_S if was_ended and not finish.limit else 0.0)
        while not self._is_asked_now() and (left_s := give_up_at - time.monotonic()) > 0:
            self._listener.wait(left_s)

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
        environment["EKIDEN_RESTARTS"] = f"{self._options.restarts}"
        if self._options.task is not None:
            command += self._request["tasks"][self._options.task]
            environment["EKIDEN_TASK"] = f"{self._options.task}"
        out, err = self._folder / "out.log", self._folder / "err.log"
        return Launch(command, self._request["folder"], environment, out, err)

    def _bounds(self) -> Bounds:
        if not self._options.keeps_bounds:
            return Bounds(grace_s=self._options.grace_s)
        resources = self._request["resources"]
        per_cpu_mb = resources["memory_mb_per_cpu"]
        memory_mb = resources["memory_mb"] if per_cpu_mb is None else per_cpu_mb * resources["cpus"]
        return Bounds(
            time_s=resources["time_limit_s"] or float("inf"),
            memory_mb=memory_mb or float("inf"),
            warn_s=self._request["warn_s"],
            warn_signal=signal.Signals[f"SIG{self._request['warn_signal']}"],
            grace_s=self._options.grace_s,
        )

    def _end(self, finish: Finish, number: int, *, is_last: bool) -> int:
        record = EndedRun(
            native_id=self._options.native_id,
            restarts=self._options.restarts,
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
            complain(f"cannot write how the job ended: {error}")
        return record.shell_code


def _start_afterwards(command: Sequence[str]) -> None:
    try:
        os.posix_spawn(command[0], list(command), os.environ, setsid=True, setsigmask=())
    except OSError as error:
        complain(f"cannot start {command!r}: {error}")
