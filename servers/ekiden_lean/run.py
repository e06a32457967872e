"""Elaborating one file that the user trusts, in a process group with a time limit."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ekiden_lean.diagnostics import Diagnostic, read_diagnostics
from ekiden_lean.errors import LeanError
from ekiden_lean.toolchain import Toolchain


@dataclass(frozen=True, slots=True)
class FileCheck:
    """What Lean said of a file."""

    file: Path
    status: int
    """Lean's exit status: 0 without errors, 1 with errors, otherwise it broke down."""
    timed_out: bool
    diagnostics: tuple[Diagnostic, ...]
    complaint: str
    """What standard error says when Lean broke down, else empty."""
    seconds: float

    @property
    def accepted(self) -> bool:
        """Tell whether Lean ended without an error; a `sorry` is a warning."""
        return self.status == 0 and not any(message.severity == "error" for message in self.diagnostics)


def run_check(toolchain: Toolchain, file: Path, *, timeout_s: float) -> FileCheck:
    """Elaborate a file and wait for what Lean says; its code runs, with the user's rights where Lean is native.

    Raises:
        LeanError: If the file cannot be read, or Lean cannot be started.
    """
    if not file.is_file():
        raise LeanError(f"There is no file {str(file)!r}.")
    file = file.resolve()
    command = toolchain.check_command(file)
    started = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                cwd=file.parent,
                env=toolchain.environment(),
                start_new_session=True,
            )
        except OSError as error:
            raise LeanError(f"Cannot start {command[0]!r}: {error.strerror}.") from error
        timed_out = False
        try:
            child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            _end_group(child)
        seconds = time.monotonic() - started
        out.seek(0)
        lines = out.read().decode("utf-8", errors="replace").splitlines()
        errors.seek(0)
        told = [line for line in errors.read().decode("utf-8", errors="replace").splitlines() if _says_something(line)]
    diagnostics = tuple(read_diagnostics(lines))
    # Node, too, ends with status 1 when its program fails
    broke = child.returncode != 0 and not timed_out and not any(message.severity == "error" for message in diagnostics)
    return FileCheck(
        file=file,
        status=child.returncode,
        timed_out=timed_out,
        diagnostics=diagnostics,
        complaint=_complaint(told) if broke else "",
        seconds=seconds,
    )


def _says_something(line: str) -> bool:
    # the WebAssembly Lean comments on each of its steps
    return bool(line.strip()) and not line.startswith("[DEBUG")


def _complaint(told: list[str]) -> str:
    """Return the line that names an error, else the last one."""
    named = [line for line in told if "Error" in line or "error" in line]
    return (named or told or [""])[0 if named else -1].strip()[:500]


def _end_group(child: "subprocess.Popen[bytes]") -> None:
    # macOS says EPERM of a group that has ended
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
