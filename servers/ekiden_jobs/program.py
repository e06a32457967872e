"""The program of a job: starting it, passing signals on, keeping its bounds, ending all of it.

The standard library alone.
"""

import contextlib
import math
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn

from ekiden_jobs.records import CANNOT_START
from ekiden_warden import kernel, tree

_LINUX = sys.platform.startswith("linux")
_MAY_NOT_START = 126
_TO_ALL = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
_TO_PROGRAM = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM)
_WATCHED = (*_TO_ALL, *_TO_PROGRAM, signal.SIGCHLD)
_LOOK_EVERY_S = 5.0
_LOOK_EVERY_S_BOUNDED = 0.5
_MEBIBYTE = 1_048_576


class Bounds(NamedTuple):
    """What a runner ends a program for.

    Attributes:
        time_s: The most seconds.
        memory_mb: The most memory of the program and all that it started, in mebibytes.
        warn_s: How long before the end of its time it is warned.
        warn_signal: The signal that warns it.
        grace_s: How long it may take to end after it was asked to.
    """

    time_s: float = math.inf
    memory_mb: float = math.inf
    warn_s: float | None = None
    warn_signal: signal.Signals = signal.SIGUSR1
    grace_s: float = 20.0


class Launch(NamedTuple):
    """What is to be started.

    Attributes:
        command: The program and its arguments.
        folder: Where it runs.
        environment: All its variables.
        out: The file to which its output is added.
        err: The file to which its complaints are added.
    """

    command: Sequence[str]
    folder: str
    environment: Mapping[str, str]
    out: Path
    err: Path


class Finish(NamedTuple):
    """How a program ended.

    Attributes:
        exit_code: Its exit code; None if a signal ended it.
        signal: The signal that ended it.
        limit: The bound for which the runner ended it.
        peak_memory_mb: The most memory it was seen to use with all that it had started.
    """

    exit_code: int | None
    signal: int | None
    limit: Literal["", "time", "memory"]
    peak_memory_mb: int


class Listener:
    """Hears the signals that this process gets."""

    def __init__(self) -> None:
        self.heard: list[signal.Signals] = []
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(writer, False)
        for number in _WATCHED:
            signal.signal(number, lambda _number, _frame: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def wait(self, timeout_s: float) -> list[signal.Signals]:
        """Wait for signals and return them; none when the time is up."""
        select.select([self._reader], [], [], None if math.isinf(timeout_s) else max(0.0, timeout_s))
        try:
            numbers = [signal.Signals(number) for number in os.read(self._reader, 512)]
        except BlockingIOError:
            return []
        self.heard += [number for number in numbers if number != signal.SIGCHLD]
        return numbers

    @property
    def was_asked_to_end(self) -> bool:
        """Whether somebody wanted this process to end."""
        return signal.SIGTERM in self.heard


def run_program(launch: Launch, bounds: Bounds, listener: Listener) -> Finish:
    """Run a program to its end, and end all that it left behind.

    Raises:
        OSError: Its logs cannot be opened, or there can be no more processes.
    """
    if _LINUX:
        with contextlib.suppress(OSError, AttributeError):
            kernel.adopt_orphans()
    pid = _start(launch)
    watch = _Watch(pid, bounds, listener)
    status = watch.until_end()
    tree.end_all(pid)
    if status is None:
        return Finish(None, signal.SIGKILL, watch.limit, watch.peak_mb())
    code = os.waitstatus_to_exitcode(status)
    return Finish(code if code >= 0 else None, -code if code < 0 else None, watch.limit, watch.peak_mb())


class _Watch:
    """Company for a program."""

    def __init__(self, pid: int, bounds: Bounds, listener: Listener) -> None:
        self.limit: Literal["", "time", "memory"] = ""
        self._pid = pid
        self._bounds = bounds
        self._listener = listener
        self._peak_bytes = 0
        self._look_every_s = _LOOK_EVERY_S if math.isinf(bounds.memory_mb) else _LOOK_EVERY_S_BOUNDED
        self._end_at = time.monotonic() + bounds.time_s
        self._warn_at = math.inf if bounds.warn_s is None else self._end_at - bounds.warn_s
        self._kill_at = math.inf

    def until_end(self) -> int | None:
        """Wait for the program; return its status, or None if it has to be killed."""
        look_at = time.monotonic()
        if self._listener.was_asked_to_end:
            self._ask_to_end(signal.SIGTERM)
        while True:
            now = time.monotonic()
            if now >= look_at:
                if self._needs_too_much():
                    self.limit = "memory"
                    return None
                look_at = now + self._look_every_s
            if now >= self._kill_at:
                return None
            if now >= self._warn_at:
                self._warn_at = math.inf
                self._send([self._pid], self._bounds.warn_signal)
            if now >= self._end_at:
                self._end_at = math.inf
                self.limit = "time"
                self._ask_to_end(signal.SIGTERM)
            for number in self._listener.wait(min(look_at, self._kill_at, self._warn_at, self._end_at) - now):
                if number in _TO_ALL:
                    self._ask_to_end(number)
                elif number in _TO_PROGRAM:
                    self._send([self._pid], number)
            status = tree.reap_until(self._pid)
            if status is not None:
                return status

    def peak_mb(self) -> int:
        """Return the most memory that was seen, and at least that of the biggest process that has ended."""
        biggest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * (1024 if _LINUX else 1)
        return math.ceil(max(self._peak_bytes, biggest) / _MEBIBYTE)

    def _ask_to_end(self, number: signal.Signals) -> None:
        self._send([-self._pid], number)
        if number == signal.SIGTERM:
            self._send([-self._pid], signal.SIGCONT)  # one that was stopped could not even end
            self._kill_at = min(self._kill_at, time.monotonic() + self._bounds.grace_s)

    def _needs_too_much(self) -> bool:
        most = self._bounds.memory_mb * _MEBIBYTE
        used = tree.count_resident_bytes(os.getpid())
        if used > most:  # what processes share was counted for each of them; to tell that apart takes longer
            used = tree.count_proportional_bytes(os.getpid())
        self._peak_bytes = max(self._peak_bytes, used)
        return used > most

    @staticmethod
    def _send(pids: Iterable[int], number: signal.Signals) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def _start(launch: Launch) -> int:
    descriptors = [os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)]
    descriptors += [
        os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666) for path in (launch.out, launch.err)
    ]
    parent = os.getpid()
    # No signal may come between: the child would take it for this process, and the program would never hear of it.
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    pid = os.fork()
    if pid == 0:
        _become_program(launch, descriptors, parent)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)
    for descriptor in descriptors:
        os.close(descriptor)
    return pid


def _become_program(launch: Launch, descriptors: Sequence[int], parent: int) -> NoReturn:
    code = CANNOT_START
    try:
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        signal.set_wakeup_fd(-1)
        os.setpgid(0, 0)
        if _LINUX:
            kernel.die_with_parent()
            if os.getppid() != parent:
                os._exit(CANNOT_START)
        for number in (*_WATCHED, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.chdir(launch.folder)
        os.execvpe(launch.command[0], list(launch.command), dict(launch.environment))  # noqa: S606
    except FileNotFoundError as error:
        place = f"folder {launch.folder!r}" if error.filename == launch.folder else f"program {launch.command[0]!r}"
        complain(f"there is no {place}")
    except BaseException as error:  # noqa: BLE001 - the last stop of a forked child: report and leave
        code = _MAY_NOT_START
        complain(f"cannot run {launch.command[0]!r} in {launch.folder!r}: {error}")
    os._exit(code)


def complain(text: str) -> None:
    """Say something where complaints go, if anybody can still hear it."""
    with contextlib.suppress(OSError):
        os.write(2, f"ekiden: {text}\n".encode())
