"""Trying a Lean on a small file: it must accept what is true and refuse what is false."""

import tempfile
from pathlib import Path

from ekiden_lean.errors import LeanInstallError
from ekiden_lean.run import run_check
from ekiden_lean.toolchain import Toolchain

_PATIENCE_S = 300.0
_FILE = """theorem true_one : 1 + 1 = 2 := rfl
theorem false_one : 1 + 1 = 3 := rfl
theorem true_two (a b : Nat) : a + b = b + a := Nat.add_comm a b
"""
_FALSE_LINE = 2


def self_test(toolchain: Toolchain) -> None:
    """Check a file with two true theorems and a false one.

    Raises:
        LeanInstallError: If Lean does not accept the true ones and refuse the false one.
    """
    with tempfile.TemporaryDirectory(prefix="ekiden-lean-") as folder:
        file = Path(folder).resolve() / "SelfTest.lean"
        file.write_text(_FILE, encoding="utf-8")
        run = run_check(toolchain, file, timeout_s=_PATIENCE_S)
    wrong_lines = {message.line for message in run.diagnostics if message.severity == "error"}
    if run.timed_out:
        raise LeanInstallError(f"Lean did not check a file of three lines within {_PATIENCE_S:.0f} seconds.")
    if wrong_lines != {_FALSE_LINE}:
        told = "; ".join(message.message for message in run.diagnostics) or run.complaint or "nothing"
        raise LeanInstallError(
            f"Lean did not pass its test (exit status {run.status}); of three theorems it said: {told[:300]}"
        )
