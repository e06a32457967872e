"""One solver process: its lines in both directions, its clock, and the end of all that it started."""

import contextlib
import os
import selectors
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from ekiden_orchestrator.solo.errors import SoloError
from ekiden_warden import Order, View, WardenProcess, end_strays

MAX_LINE_CHARS = 1_048_576
MAX_STDERR_BYTES = 65_536
MARK = "EKIDEN_SOLO_PROCESS"
"""Variable by which every process of a solver is told, where no namespace holds them together."""

_READ_BYTES = 65_536
_GRACE_S = 5.0
_START_S = 60.0
_WARDEN_MARGIN_S = 0.5
_ISOLATED = ("confined", "namespaces")

Quiet = Literal["ended", "time", "flood"]
"""Why no line comes any more: the solver has ended, its time is over, or its line is too long."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a solver process may use.

    Attributes:
        time_limit_s: Wall time; its warden keeps it even if nobody looks.
        file_bytes: Largest file it may write.
        processes: Most processes and threads.
        isolations: The kinds of isolation to try, strongest first.
        view: What it sees of the file system under the strongest kind.
    """

    time_limit_s: float
    file_bytes: int
    processes: int
    isolations: Sequence[str]
    view: View | None


class SolverProcess:
    """A running solver. One thread uses it; nothing of it is left when it is closed."""

    def __init__(self, argv: Sequence[str], *, environment: dict[str, str], directory: Path, bounds: Bounds) -> None:
        """Start it; returns when it runs, and its time counts from then.

        Raises:
            SoloError: It could not be started.
        """
        self._lines = b""
        self._outbox = b""
        self._stderr = b""
        self._mark = environment[MARK]
        self._isolation = ""
        self._failure = ""
        self._started = self._gone = self._stdout_ended = False
        self.exit_code: int | None = None
        with contextlib.ExitStack() as owned:
            selector = owned.enter_context(selectors.DefaultSelector())
            with contextlib.ExitStack() as given:
                in_reader, self._stdin = _pipe(given, owned, ours=1)
                self._stdout, out_writer = _pipe(owned, given, ours=0)
                self._error, error_writer = _pipe(owned, given, ours=0)
                order = Order(
                    argv=tuple(argv),
                    environment=environment,
                    directory=str(directory),
                    stdin_fd=in_reader,
                    stdout_fd=out_writer,
                    stderr_fd=error_writer,
                    file_bytes=bounds.file_bytes,
                    processes=bounds.processes,
                    view=bounds.view,
                    isolations=tuple(bounds.isolations),
                    deadline_s=bounds.time_limit_s + _WARDEN_MARGIN_S,
                    network=False,
                )
                self._warden = WardenProcess(order, log_fd=error_writer)
            owned.callback(self._warden.close)
            for descriptor in (self._warden.reports_fd, self._stdout, self._error):
                selector.register(descriptor, selectors.EVENT_READ)
            self._selector = selector
            self._await_start()
            self.began = time.monotonic()
            self._deadline = self.began + bounds.time_limit_s
            self._owned = owned.pop_all()

    @property
    def left_s(self) -> float:
        """The seconds left."""
        return self._deadline - time.monotonic()

    @property
    def isolation(self) -> str:
        """The kind of isolation in force."""
        return self._isolation

    @property
    def stderr_tail(self) -> str:
        """The end of what it has written to its standard error."""
        return self._stderr.decode("utf-8", "replace")

    def send(self, line: bytes) -> None:
        """Give it a line, as soon as it reads; `next_line` sees to that."""
        self._outbox += line

    def next_line(self) -> bytes | Quiet:
        """Wait for its next line. While it leaves our own lines unread, nothing of it is read either."""
        while True:
            if not self._outbox:
                line, found, rest = self._lines.partition(b"\n")
                if _is_too_long(line):
                    return "flood"
                if found:
                    self._lines = rest
                    return line
            if self._gone or (self._stdout_ended and not self._outbox):
                return "ended"
            if self.left_s <= 0:
                return "time"
            self._serve(self.left_s)

    def end(self, *, kill: bool = False) -> None:
        """Ask it to end, and kill all of it if it has not after a grace; or kill it at once."""
        if kill:
            self._warden.kill()
        else:
            self._warden.ask_to_end()
        self._outbox = b""
        until = time.monotonic() + _GRACE_S
        while not self._gone:
            if time.monotonic() >= until:
                self._warden.kill()
                until = time.monotonic() + _GRACE_S
            self._serve(max(0.0, until - time.monotonic()))
        self._drain_stderr()

    def close(self) -> None:
        """Kill what is left and wait until that is done."""
        self._owned.close()
        if self._isolation not in _ISOLATED:
            end_strays(MARK, self._mark)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _await_start(self) -> None:
        until = time.monotonic() + _START_S
        while not self._started and not self._gone and not self._failure:
            if time.monotonic() >= until:
                raise SoloError(f"The solver did not start within {_START_S:g} s; the machine is too busy.")
            self._serve(until - time.monotonic())
        if not self._started:
            self._drain_stderr()
            raise SoloError(f"The solver could not be started: {self._failure or self.stderr_tail or 'no reason told'}")

    def _serve(self, patience_s: float) -> None:
        """Wait for something to happen, and take it in."""
        self._watch(self._stdin, selectors.EVENT_WRITE, wanted=bool(self._outbox))
        self._watch(self._stdout, selectors.EVENT_READ, wanted=not self._outbox and not self._stdout_ended)
        for key, _ in self._selector.select(patience_s):
            if key.fd == self._warden.reports_fd:
                self._hear()
            elif key.fd == self._stdin:
                self._write()
            elif key.fd == self._stdout:
                data = _read(self._stdout)
                self._stdout_ended = data == b""
                self._lines += data or b""
            elif not self._read_stderr():
                self._selector.unregister(self._error)

    def _watch(self, descriptor: int, events: int, *, wanted: bool) -> None:
        if wanted and descriptor not in self._selector.get_map():
            self._selector.register(descriptor, events)
        elif not wanted and descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)

    def _write(self) -> None:
        try:
            self._outbox = self._outbox[os.write(self._stdin, self._outbox[:_READ_BYTES]) :]
        except BrokenPipeError:  # it reads no more; it may still write
            self._outbox = b""
        except BlockingIOError:
            pass

    def _read_stderr(self) -> bool:
        """Take in what there is on standard error; tell whether there may be more."""
        data = _read(self._error)
        self._stderr = (self._stderr + (data or b""))[-MAX_STDERR_BYTES:]
        return data != b""

    def _drain_stderr(self) -> None:
        while data := _read(self._error):
            self._stderr = (self._stderr + data)[-MAX_STDERR_BYTES:]

    def _hear(self) -> None:
        reports = self._warden.hear()
        if reports is None:
            self._selector.unregister(self._warden.reports_fd)
            self._leave()
        for report in reports or ():
            match report:
                case {"isolation": str(kind)}:
                    self._isolation = kind
                case {"started": True}:
                    self._started = True
                case {"exited": int(code)}:
                    self.exit_code = code
                case {"failed": str(why)}:
                    self._failure = why
                case {"gone": True}:
                    self._leave()
                case _:
                    pass

    def _leave(self) -> None:
        """Nothing of it is left but what is still in the pipes."""
        self._gone = True
        self._outbox = b""
        while data := _read(self._stdout):
            self._lines += data


def _pipe(reads: contextlib.ExitStack, writes: contextlib.ExitStack, *, ours: int) -> tuple[int, int]:
    """Open a pipe whose ends the two stacks close; our end does not block."""
    ends = os.pipe()
    reads.callback(os.close, ends[0])
    writes.callback(os.close, ends[1])
    os.set_blocking(ends[ours], False)
    return ends


def _read(descriptor: int) -> bytes | None:
    """Return what there is to read, b"" at the end, None if there is nothing yet."""
    try:
        return os.read(descriptor, _READ_BYTES)
    except BlockingIOError:
        return None


def _is_too_long(line: bytes) -> bool:
    if len(line) <= MAX_LINE_CHARS:
        return False
    return len(line) > 4 * MAX_LINE_CHARS or len(line.decode("utf-8", "replace")) > MAX_LINE_CHARS
