"""One untrusted program under a warden of its own."""

import contextlib
import os
import select
import shutil
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Literal, Self, get_args

from ekiden_warden.errors import WardenError
from ekiden_warden.order import Order
from ekiden_warden.places import program_files, system_view
from ekiden_warden.usage import Meter, Usage
from ekiden_warden.warden_process import Report, WardenProcess

Isolation = Literal["confined", "namespaces", "subreaper", "group"]
ISOLATIONS: tuple[Isolation, ...] = get_args(Isolation)
"""The kinds of isolation, strongest first."""

FILE_BYTES = 1 << 30
"""The largest file a program may write, unless told otherwise."""
PROCESSES = 256
"""The most processes and threads a program may have, unless told otherwise."""

_TAIL_BYTES = 65536
_PATIENCE_S = 1.0
_NAMESPACES = ("confined", "namespaces")


@dataclass(frozen=True, slots=True)
class Enforced:
    """What holds for a program on this system, whatever it does.

    Attributes:
        isolation: The kind in force.
        files: It sees and writes only what it was given.
        network: It reaches no network.
        tree: No process of it outlives it, or sees another one.
        refused: Stronger kinds that do not work here, with the reason.
    """

    isolation: Isolation
    files: bool
    network: bool
    tree: bool
    refused: Mapping[str, str] = field(default_factory=dict[str, str])


class ConfinedProcess:
    """A running program that reads the system and what it is shown, and writes only where it may.

    It ends with everything that it started when it is killed, when this object is closed, and when the owner's process
    dies, however that happens. The caller reads `stdout_fd`; a program whose output nobody reads waits. One thread
    uses an object; only `kill` may come from another.

    Attributes:
        stdout_fd: The readable end of the program's standard output.
        stdin: The writable end of its standard input, where that was asked for; closing it ends the input.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        directory: Path,
        writes: Sequence[Path] = (),
        shows: Sequence[Path] = (),
        hides: Sequence[Path] = (),
        network: bool = False,
        file_bytes: int = FILE_BYTES,
        processes: int = PROCESSES,
        isolations: Sequence[Isolation] = ISOLATIONS,
        stdin: bool = False,
    ) -> None:
        """Start a program; returns when it runs.

        Args:
            argv: The program, sought on the `PATH` of its environment, and its arguments.
            environment: All of its environment.
            directory: Its working directory; visible.
            writes: Folders that it may write; they must exist.
            shows: Files and folders beside the system's own that it may read.
            hides: Files and folders that it may not see though a shown or a system folder holds them.
            network: Whether it may use the network.
            file_bytes: Largest file it may write.
            processes: Most processes and threads it may have.
            isolations: The kinds of isolation to try, strongest first.
            stdin: Whether to connect its standard input to `stdin`; it is empty otherwise.

        Raises:
            WardenError: The program or a folder is not there, or no kind of isolation works.
        """
        path = _executable(argv[0], environment)
        for folder in (directory, *writes):
            if not folder.is_dir():
                raise WardenError(f"There is no folder {str(folder)!r} for {argv[0]!r} to work in: create it first.")
        view = system_view(writes=writes, shows=(*shows, directory, *program_files(path)), hides=hides)
        self._told = _Told()
        self._gone = False
        with contextlib.ExitStack() as owned:
            with contextlib.ExitStack() as given:
                self.stdout_fd, out_writer = _pipe(owned, given)
                error_reader, error_writer = os.pipe()
                given.callback(os.close, error_writer)
                self._tail = _Tail(error_reader)
                owned.callback(self._tail.finish)
                in_reader, self.stdin = _stdin(given, owned) if stdin else (None, None)
                order = Order(
                    argv=(str(path), *argv[1:]),
                    environment=dict(environment),
                    directory=str(directory.absolute()),
                    stdin_fd=in_reader,
                    stdout_fd=out_writer,
                    stderr_fd=error_writer,
                    file_bytes=file_bytes,
                    processes=processes,
                    view=view,
                    isolations=tuple(isolations),
                    network=network,
                )
                self._warden = WardenProcess(order, log_fd=error_writer)
            owned.callback(self._warden.close)
            self._enforced, self._meter = self._await_start(argv[0])
            owned.callback(self._end)
            self._owned = owned.pop_all()

    @property
    def enforced(self) -> Enforced:
        """What holds for this program."""
        return self._enforced

    def stderr_tail(self) -> str:
        """Return the end of what it has written to its standard error."""
        return self._tail.text()

    def usage(self) -> Usage:
        """Return what its tree of processes uses; costs a few milliseconds."""
        usage = self._meter.read()
        return Usage(max(usage.cpu_s, self._told.cpu_s), usage.rss_bytes)

    def kill(self) -> None:
        """Have all of it killed; `wait` tells when that is done. May be called from another thread."""
        self._warden.kill()

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait until nothing of the program is left.

        Returns:
            Its exit status, negative for the signal that ended it; None when it still runs after the time.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._gone:
            remaining = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            if not readable(self._warden.reports_fd, remaining):
                return None
            self._hear()
        return -signal.SIGKILL if self._told.exit_code is None else self._told.exit_code

    def close(self) -> None:
        """Kill what is left of it and wait until that is done; more than once does no harm."""
        self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _await_start(self, name: str) -> tuple[Enforced, Meter]:
        while not self._gone:
            self._hear()
            if self._told.failure is not None:
                raise WardenError(f"{name!r} could not be started: {self._told.failure}.")
            if self._told.started and self._told.enforced is not None:
                return self._told.enforced, Meter(self._warden.pid, depth=2 if self._told.enforced.tree else 0)
        raise WardenError(f"{name!r} could not be started: its warden ended. {self.stderr_tail()}".rstrip())

    def _hear(self) -> None:
        reports = self._warden.hear()
        self._gone = reports is None
        for report in reports or ():
            self._told.take(report)

    def _end(self) -> None:
        """Kill all of the program, also what has got away from its warden where that is possible."""
        self._meter.read()
        self.kill()
        self.wait()
        if not self._enforced.tree:
            self._meter.end_seen()


@dataclass(slots=True)
class _Told:
    """What a warden has reported."""

    enforced: Enforced | None = None
    refused: dict[str, str] = field(default_factory=dict[str, str])
    failure: str | None = None
    started: bool = False
    exit_code: int | None = None
    cpu_s: float = 0.0

    def take(self, report: Report) -> None:
        match report:
            case {"refused": str(kind), "why": str(why)}:
                self.refused[kind] = why
            case {"isolation": str(kind), "read_only": bool(files), "offline": bool(network)}:
                isolation = ISOLATIONS[ISOLATIONS.index(kind)]
                self.enforced = Enforced(isolation, files, network, kind in _NAMESPACES, self.refused)
            case {"started": True}:
                self.started = True
            case {"exited": int(code), "cpu_s": float(cpu_s)}:
                self.exit_code, self.cpu_s = code, cpu_s
            case {"failed": str(why)}:
                self.failure = why
            case _:
                pass


class _Tail:
    """Reads a stream to its end and keeps the end of it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._kept = b""
        self._lock = threading.Lock()  # guards `_kept`
        self._thread = threading.Thread(target=self._drain, name="stderr tail", daemon=True)
        self._thread.start()

    def text(self) -> str:
        with self._lock:
            return self._kept.decode("utf-8", "replace")

    def finish(self) -> None:
        """Wait for the end of the stream; not for long, since an escaped process may hold it open."""
        self._thread.join(_PATIENCE_S)

    def _drain(self) -> None:
        with os.fdopen(self._descriptor, "rb", buffering=0) as stream:
            while data := stream.read(_TAIL_BYTES):
                with self._lock:
                    self._kept = (self._kept + data)[-_TAIL_BYTES:]


def readable(descriptor: int, timeout_s: float | None) -> bool:
    """Wait until a descriptor can be read or its other end is closed; tell whether that happened in time."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if timeout_s is None else timeout_s * 1000))


def _executable(name: str, environment: Mapping[str, str]) -> Path:
    found = shutil.which(name, path=environment.get("PATH", os.defpath))
    if found is None:
        raise WardenError(f"There is no program {name!r} that can be run: install it, or give its full path.")
    return Path(found).absolute()


def _pipe(reads: contextlib.ExitStack, writes: contextlib.ExitStack) -> tuple[int, int]:
    reader, writer = os.pipe()
    reads.callback(os.close, reader)
    writes.callback(os.close, writer)
    return reader, writer


def _stdin(given: contextlib.ExitStack, owned: contextlib.ExitStack) -> tuple[int, FileIO]:
    reader, writer = os.pipe()
    given.callback(os.close, reader)
    return reader, owned.enter_context(FileIO(writer, "wb"))
