"""One Lean process that works through jobs in a folder; see `driver/` for its side."""

import os
import select
import tempfile
import time
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from threading import Event
from typing import Literal, Self

from ekiden_lean.errors import LeanError, LeanStoppedError
from ekiden_lean.submission import LeanLimits, TrustedModule
from ekiden_lean.toolchain import Toolchain, ToolchainKind
from ekiden_warden import ConfinedProcess

Mode = Literal["elaborate", "check"]
Ending = Literal["done", "failed", "timeout", "memory", "crashed", "flood"]

_POLL_S = 0.05
_OUTPUT_BYTES = 32 << 20
# Without the two options the WebAssembly Lean takes half as long again to start.
_HEADER = "import Lean.Elab.Frontend\nset_option Elab.async false\nset_option linter.all false"
_DRIVER = ("text", "export", "replay", "facts", "main")


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work.

    Attributes:
        imports: Modules of the toolchain.
        modules: Trusted modules, each after those it needs.
        text: The submission's body in mode `elaborate`, an export in mode `check`.
        target: The constant in question.
        goal: The constant that its type must be.
        nonce: What the report must carry.
        scope: Whether it is about the target, or about all that the text declares.
    """

    imports: tuple[str, ...]
    modules: tuple[TrustedModule, ...]
    text: str
    target: str
    goal: str
    nonce: str
    scope: Literal["target", "all"] = "target"


@dataclass(frozen=True, slots=True)
class Finished:
    """How a job ended.

    Attributes:
        ending: `done`, or what ended it; after anything but `done` and `failed` the process is gone.
        detail: What the process said of it.
        lines: What it printed while at it.
        seconds: Wall seconds from the job's begin.
    """

    ending: Ending
    detail: str
    lines: tuple[str, ...]
    seconds: float


class Worker:
    """A Lean process in a folder of its own; started by `start`, used by one thread.

    In mode `elaborate` it may write to its folder; in mode `check` it writes nothing but its standard output.
    """

    def __init__(self, toolchain: Toolchain, mode: Mode, limits: LeanLimits) -> None:
        """Prepare a worker without starting anything."""
        self._toolchain = toolchain
        self._mode: Mode = mode
        self._limits = limits
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: ConfinedProcess | None = None
        self._pending = b""
        self._jobs = 0
        self._ready = False

    @property
    def jobs(self) -> int:
        """How many jobs the running process has been given."""
        return self._jobs

    @property
    def is_running(self) -> bool:
        """Tell whether there is a process."""
        return self._process is not None

    @property
    def folder(self) -> Path:
        """The folder that the process works in."""
        assert self._folder is not None
        return Path(self._folder.name)

    def start(self) -> None:
        """Start the process, if there is none; returns before it is ready."""
        if self._process is not None:
            return
        self._folder = tempfile.TemporaryDirectory(prefix="ekiden-lean-", ignore_cleanup_errors=True)
        driver = self.folder / "driver.lean"
        driver.write_text(driver_text(self._toolchain.kind), encoding="utf-8")
        writes = (self.folder,) if self._mode == "elaborate" else ()
        self._process = ConfinedProcess(
            self._toolchain.command(driver, (self._mode, str(self.folder)), reads=(self.folder,), writes=writes),
            environment=self._toolchain.environment(),
            directory=self.folder,
            shows=(*self._toolchain.reads, self.folder),
            writes=writes,
        )
        self._pending, self._jobs, self._ready = b"", 0, False

    def close(self) -> None:
        """End the process and everything it started, and remove its folder."""
        if self._process is not None:
            self._process.close()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> Self:
        """Return the worker itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def work(self, job: Job, stop: Event | None = None) -> Finished:
        """Do one job, starting the process if need be.

        Args:
            job: What to do.
            stop: Once it is set, by another thread, the work ends at once. A process that is only starting is kept; one
                that has the job is killed, and gone before this returns.

        Raises:
            LeanStoppedError: It was stopped.
            LeanError: The process does not start, or cannot prepare what the job imports.
        """
        stop = stop or Event()
        had_others = self._process is not None and self._jobs > 0
        try:
            number = self._begin(job, stop)
        except LeanError as error:
            if isinstance(error, LeanStoppedError) or not had_others or self._process is not None:
                raise
            number = self._begin(job, stop)  # what ended it may have been left by the jobs before
        finished = self._await_end(number, stop)
        if finished.ending not in ("done", "failed"):
            self.close()
        return finished

    def result_file(self) -> Path:
        """Return where the last job's result lies, in mode `elaborate`."""
        return self.folder / f"{self._jobs - 1}.out"

    def _begin(self, job: Job, stop: Event) -> int:
        self.start()
        deadline = time.monotonic() + self._limits.start_s
        while not self._ready:
            self._ready = self._opening_line(deadline, stop) == "ready"
        number = self._jobs
        self._jobs += 1
        self._post(number, job)
        try:
            self._await_begin(number, deadline, stop)
        except LeanStoppedError:
            self.close()
            raise
        return number

    def _post(self, number: int, job: Job) -> None:
        lines = [f"import {module}" for module in job.imports]
        for module in job.modules:
            name = f"m-{sha256(module.text.encode()).hexdigest()}.lean"
            if not (self.folder / name).exists():
                (self.folder / name).write_text(module.text, encoding="utf-8")
            lines.append(f"module {name}")
        (self.folder / f"{number}.text").write_text(job.text, encoding="utf-8", newline="")
        lines += [f"answer {number}.text", f"target {job.target}", f"goal {job.goal}", f"nonce {job.nonce}"]
        lines.append(f"scope {job.scope}")
        part = self.folder / f"{number}.job.part"
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")
        part.replace(self.folder / f"{number}.job")

    def _await_begin(self, number: int, deadline: float, stop: Event) -> None:
        while (line := self._opening_line(deadline, stop)) != f"begin {number}":
            if line.startswith(f"failed {number} "):
                raise LeanError(f"Lean could not prepare the problem: {unescaped(line.split(' ', 2)[2])}")

    def _opening_line(self, deadline: float, stop: Event) -> str:
        """Return the next line of a process that is at no job yet."""
        how = f"was not ready within {self._limits.start_s:g} s"
        try:
            while time.monotonic() < deadline:
                _go_on(stop)
                if (line := self._line(min(deadline, time.monotonic() + _POLL_S))) is not None:
                    return line
        except EOFError:
            assert self._process is not None
            how = f"did not start ({_crash(self._process)})"
        self.close()
        raise LeanError(f"Lean {self._toolchain.version} {how}: see what `ekiden lean status --verify` says.")

    def interrupt(self) -> None:
        """Have the process killed while another thread waits for it."""
        if (process := self._process) is not None:
            process.kill()

    def _await_end(self, number: int, stop: Event) -> Finished:
        process = self._process
        assert process is not None
        began, cpu_before = time.monotonic(), process.usage().cpu_s
        limits = self._limits
        deadline = began + limits.cpu_s * limits.wall_factor
        lines: list[str] = []
        size = 0
        next_look = began + _POLL_S
        while True:
            try:
                line = self._line(min(deadline, time.monotonic() + _POLL_S))
            except EOFError:
                return self._finished("crashed", began, lines, _crash(process))
            if line == f"done {number}":
                return self._finished("done", began, lines, "")
            if line is not None and line.startswith(f"failed {number} "):
                return self._finished("failed", began, lines, unescaped(line.split(" ", 2)[2]))
            if line is not None:
                lines.append(line)
                size += len(line) + 1
                if size > _OUTPUT_BYTES:
                    return self._finished("flood", began, [], f"{_OUTPUT_BYTES >> 20} MiB")
            if (now := time.monotonic()) >= next_look:  # also between lines that never stop
                next_look = now + _POLL_S
                usage = process.usage()
                if usage.rss_bytes > limits.memory_bytes:
                    return self._finished("memory", began, lines, f"{usage.rss_bytes >> 20} MiB")
                if usage.cpu_s - cpu_before > limits.cpu_s or now >= deadline:
                    return self._finished("timeout", began, lines, f"{limits.cpu_s:g} s")
                if stop.is_set():
                    self.close()
                    _go_on(stop)

    def _finished(self, ending: Ending, began: float, lines: list[str], detail: str) -> Finished:
        return Finished(ending, detail, tuple(lines), time.monotonic() - began)

    def _line(self, deadline: float) -> str | None:
        """Return the next line of standard output; None at the deadline.

        Raises:
            EOFError: There will be no more; only while a job is being done.
        """
        process = self._process
        assert process is not None
        while b"\n" not in self._pending:
            readable, _, _ = select.select([process.stdout_fd], [], [], max(0.0, deadline - time.monotonic()))
            if not readable:
                return None
            data = os.read(process.stdout_fd, 65536)
            if not data:
                raise EOFError
            self._pending += data
            if len(self._pending) > _OUTPUT_BYTES:
                raise EOFError
        line, _, self._pending = self._pending.partition(b"\n")
        return line.decode("utf-8", "replace")


def _go_on(stop: Event) -> None:
    if stop.is_set():
        raise LeanStoppedError("Lean was stopped: what it was asked is no longer wanted.")


@lru_cache
def driver_text(kind: ToolchainKind) -> str:
    """Return the driver as a toolchain of this kind takes it."""
    # In the WebAssembly build every file is a module, whose declarations are private unless it says otherwise.
    opening = "public section" if kind == "wasm" else ""
    folder = files("ekiden_lean") / "driver"
    parts = [(folder / f"{part}.lean").read_text(encoding="utf-8") for part in _DRIVER]
    return "\n".join([_HEADER, opening, *parts])


def worker_identity(toolchain: Toolchain, limits: LeanLimits) -> str:
    """Name all that what workers find depends on besides their jobs: the toolchain, the driver, the limits."""
    driver = sha256(driver_text(toolchain.kind).encode()).hexdigest()[:12]
    return (
        f"{toolchain.kind} {toolchain.version} {toolchain.identity} driver={driver} cpu={limits.cpu_s:g}s "
        f"wall={limits.wall_factor:g} memory={limits.memory_bytes >> 20}MiB export={limits.export_bytes >> 20}MiB"
    )


def _crash(process: ConfinedProcess) -> str:
    code = process.wait(5.0)
    tail = [line.strip() for line in process.stderr_tail().splitlines() if not line.startswith("[DEBUG")]
    said = next((line for line in tail if "rror" in line or "verflow" in line), "")
    return f"exit status {code}{f': {said[:200]}' if said else ''}"


def unescaped(text: str) -> str:
    """Undo the driver's escaping of line breaks and backslashes."""
    pieces = text.split("\\\\")
    return "\\".join(piece.replace("\\n", "\n").replace("\\r", "\r") for piece in pieces)
