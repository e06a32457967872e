"""One conversation with Coq's top level, confined, with limits for each text."""

import os
import re
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Self

from ekiden_judge.errors import JudgeInfrastructureError
from ekiden_warden import ConfinedProcess, Enforced, WardenError

HOW_TO_GET = (
    "install Coq 8.16 or newer, such as the Debian package `coq` (`apt-get install coq`) or opam's, and put its "
    "program `coqtop` on the PATH"
)

_LOOK_EVERY_S = 0.1
_READ_BYTES = 65536
_OUTPUT_BYTES = 1 << 20
_STACK_KB = 256 * 1024
_SPARE_BYTES = 1 << 30
_FILE_BYTES = 1 << 20
_PROCESSES = 16
_ASK_S = 60.0

# The shell sets what only the process itself can set, then becomes Coq. Each is a second fence: a system may refuse it.
_START = 'ulimit -v "$2" 2>/dev/null; ulimit -s "$3" 2>/dev/null; ulimit -c 0 2>/dev/null; exec "$1" -q 2>&1'

Stopped = Literal["time", "memory", "output", "crash"]


@dataclass(frozen=True, slots=True)
class CoqLimits:
    """What one certificate may use.

    Attributes:
        cpu_s: Processor seconds.
        wall_factor: Times `cpu_s` that it may take by the clock, for a busy machine.
        memory_bytes: Memory of Coq, with all that it has read before.
    """

    cpu_s: float = 60.0
    wall_factor: float = 10.0
    memory_bytes: int = 2 << 30


@dataclass(frozen=True, slots=True)
class Coq:
    """An installed Coq.

    Attributes:
        program: Its top level, `coqtop`.
        version: As it tells.
        library: The folder of its library.
    """

    program: Path
    version: str
    library: Path


class Reply(NamedTuple):
    """What Coq said to a text, and what stopped it before the end of the text, if something did."""

    output: str
    stopped: Stopped | None


def find_coq(program: str = "coqtop") -> Coq:
    """Find Coq's top level by its name on the PATH, or by its path.

    Raises:
        JudgeInfrastructureError: It is not there or does not work; the message says how to get it.
    """
    found = shutil.which(program)
    if found is None:
        raise JudgeInfrastructureError(f"There is no program {program!r} here: {HOW_TO_GET}.")
    path = Path(found).absolute()
    version = _told(path, "-print-version").split()
    if not version:
        raise JudgeInfrastructureError(f"The program {str(path)!r} tells no version: {HOW_TO_GET}.")
    return Coq(path, version[0], Path(_told(path, "-where").strip()))


class CoqSession:
    """A running top level that reads one text after the other. A wrong sentence leaves no trace but its message.

    Once a text is stopped, the session is over.
    """

    def __init__(self, coq: Coq, limits: CoqLimits) -> None:
        """Start Coq in an empty folder; it sees the system and its own library, and no network.

        Raises:
            JudgeInfrastructureError: It cannot be started.
        """
        self._limits = limits
        self._texts = 0
        address_kb = (limits.memory_bytes + _SPARE_BYTES) // 1024
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ekiden-coq-")))
            try:
                self._process = stack.enter_context(
                    ConfinedProcess(
                        ["sh", "-c", _START, "sh", str(coq.program), str(address_kb), str(_STACK_KB)],
                        environment=_environment(folder),
                        directory=folder,
                        shows=(coq.program, coq.program.resolve(), coq.library, coq.library.parent),
                        file_bytes=_FILE_BYTES,
                        processes=_PROCESSES,
                        stdin=True,
                    )
                )
            except WardenError as error:
                raise JudgeInfrastructureError(f"Coq cannot be started: {error}") from error
            assert self._process.stdin is not None
            self._stdin = self._process.stdin.fileno()
            os.set_blocking(self._stdin, False)
            self._owned = stack.pop_all()

    @property
    def enforced(self) -> Enforced:
        """What holds for this Coq, whatever it is told."""
        return self._process.enforced

    def read(self, text: str, limits: CoqLimits | None = None) -> Reply:
        """Give Coq a text of whole sentences, and return all that it said to it.

        Args:
            text: The text.
            limits: What it may use, in place of the session's limits.
        """
        mark = f"ekiden: end of text {self._texts}\n"
        self._texts += 1
        marked = f'{text}\nGoal True. idtac "{mark.strip()}". Abort.\n'
        return self._converse(marked.encode(), mark.encode(), limits or self._limits)

    def close(self) -> None:
        """End Coq."""
        self._owned.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _converse(self, text: bytes, mark: bytes, limits: CoqLimits) -> Reply:
        said = bytearray()
        unsent = memoryview(text)
        watch = _Watch(self._process, limits)
        stopped: Stopped | None = None
        while stopped is None:
            readable, writable = _ready(self._process.stdout_fd, self._stdin if unsent else None)
            if writable:
                try:
                    unsent = unsent[os.write(self._stdin, unsent) :]
                except BrokenPipeError:
                    unsent = unsent[:0]  # what it said before its end can still be read
            if readable:
                data = os.read(self._process.stdout_fd, _READ_BYTES)
                said += data
                if mark in said[-len(data) - len(mark) :]:
                    break
                stopped = "crash" if not data else "output" if len(said) > _OUTPUT_BYTES else None
            stopped = stopped or watch.look()
        output = said.decode("utf-8", "replace").replace(mark.decode(), "")
        return Reply(output.replace("Coq < ", ""), stopped)


class _Watch:
    """Looks ten times a second at what a text has used; a text that takes less costs no look."""

    def __init__(self, process: ConfinedProcess, limits: CoqLimits) -> None:
        self._process = process
        self._limits = limits
        now = time.monotonic()
        self._deadline = now + limits.cpu_s * limits.wall_factor
        self._next_look = now + _LOOK_EVERY_S
        self._cpu_before: float | None = None

    def look(self) -> Stopped | None:
        now = time.monotonic()
        if now < self._next_look:
            return None
        self._next_look = now + _LOOK_EVERY_S
        usage = self._process.usage()
        if self._cpu_before is None:
            self._cpu_before = usage.cpu_s
        if now > self._deadline or usage.cpu_s - self._cpu_before > self._limits.cpu_s:
            return "time"
        return "memory" if usage.rss_bytes > self._limits.memory_bytes else None


def _ready(reader: int, writer: int | None) -> tuple[bool, bool]:
    """Wait a moment until there is something to read, or room to write."""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    if writer is not None:
        poll.register(writer, select.POLLOUT)
    events = dict(poll.poll(_LOOK_EVERY_S * 1000))
    return reader in events, writer in events


def _environment(folder: Path) -> Mapping[str, str]:
    return {"PATH": os.defpath, "HOME": str(folder), "TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}


def _told(program: Path, option: str) -> str:
    try:
        done = subprocess.run(
            [program, option], capture_output=True, text=True, timeout=_ASK_S, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError) as error:
        reason = re.sub(r"\s+", " ", str(error))
        raise JudgeInfrastructureError(
            f"The program {str(program)!r} does not work ({reason}): {HOW_TO_GET}."
        ) from None
    return done.stdout
