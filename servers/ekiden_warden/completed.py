"""Running an untrusted program to its end, or to a limit."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Required, TypedDict, Unpack

from ekiden_warden.confined import ConfinedProcess, Enforced, Isolation, readable

OUTPUT_BYTES = 1 << 20
"""The most output of a program that is kept, unless told otherwise."""

_LOOK_EVERY_S = 0.1
_READ_BYTES = 65536

Ended = Literal["exit", "time", "cpu", "memory", "output"]


class Confinement(TypedDict, total=False):
    """What a program may see, write and use: the arguments of `ConfinedProcess`."""

    environment: Required[Mapping[str, str]]
    directory: Required[Path]
    writes: Sequence[Path]
    shows: Sequence[Path]
    hides: Sequence[Path]
    network: bool
    file_bytes: int
    processes: int
    isolations: Sequence[Isolation]


@dataclass(frozen=True, slots=True)
class Completed:
    """How a program ended.

    Attributes:
        exit_code: Its exit status, negative for the signal that ended it; None when a limit did.
        stdout: What it wrote to its standard output, at most as much as was asked for.
        stderr_tail: The end of what it wrote to its standard error.
        cpu_s: Processor seconds of its whole tree.
        wall_s: Seconds from its start to its end.
        ended: What ended it: itself (or a signal), or a limit.
        enforced: What held for it.
    """

    exit_code: int | None
    stdout: bytes
    stderr_tail: str
    cpu_s: float
    wall_s: float
    ended: Ended
    enforced: Enforced


def run_confined(
    argv: Sequence[str],
    *,
    time_limit_s: float,
    cpu_limit_s: float | None = None,
    memory_bytes: int | None = None,
    output_bytes: int = OUTPUT_BYTES,
    **confinement: Unpack[Confinement],
) -> Completed:
    """Run a program confined, as `ConfinedProcess` does, until it ends or passes a limit; nothing of it is left then.

    Limits are looked at ten times a second and hold for the whole tree of processes.

    Raises:
        WardenError: The program could not be started.
    """
    started = time.monotonic()
    with ConfinedProcess(argv, **confinement) as process:
        run = _Run(process, started + time_limit_s, cpu_limit_s, memory_bytes, output_bytes)
        ended = run.follow()
        if ended != "exit":
            process.kill()
        code = process.wait()
        wall_s = time.monotonic() - started
    return Completed(
        exit_code=code if ended == "exit" else None,
        stdout=bytes(run.stdout),
        stderr_tail=process.stderr_tail(),
        cpu_s=process.usage().cpu_s,
        wall_s=wall_s,
        ended=ended,
        enforced=process.enforced,
    )


class _Run:
    """The loop around one program."""

    def __init__(
        self,
        process: ConfinedProcess,
        deadline: float,
        cpu_limit_s: float | None,
        memory_bytes: int | None,
        output_bytes: int,
    ) -> None:
        self.stdout = bytearray()
        self._process = process
        self._deadline = deadline
        self._cpu_limit_s = cpu_limit_s
        self._memory_bytes = memory_bytes
        self._output_bytes = output_bytes

    def follow(self) -> Ended:
        """Read the program's output until all of it has ended or passes a limit; tell which."""
        next_look = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= self._deadline:
                return "time"
            if now >= next_look:
                gone = self._process.wait(0) is not None
                if (passed := self._passed()) is not None:
                    return passed
                if gone and not readable(self._process.stdout_fd, 0):
                    return "exit"
                next_look = time.monotonic() + _LOOK_EVERY_S
            if readable(self._process.stdout_fd, min(next_look, self._deadline) - now):
                data = os.read(self._process.stdout_fd, _READ_BYTES)
                if not data:  # the warden holds the other end as well, until nothing of the program is left
                    return "exit"
                self.stdout += data
                if len(self.stdout) > self._output_bytes:
                    del self.stdout[self._output_bytes :]
                    return "output"

    def _passed(self) -> Ended | None:
        usage = self._process.usage()
        if self._cpu_limit_s is not None and usage.cpu_s > self._cpu_limit_s:
            return "cpu"
        if self._memory_bytes is not None and usage.rss_bytes > self._memory_bytes:
            return "memory"
        return None
