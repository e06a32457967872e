"""Lean, native or for WebAssembly, behind one interface.

`find_toolchain(settings)` gives a `Toolchain`: the commands that run Lean, and what it is. `install_wasm` of
`ekiden_lean.install` installs the WebAssembly one. `ProofChecker` checks untrusted files in batches;
`LeanProbe` finds what they declare.
"""

from ekiden_lean.checker import ProofChecker
from ekiden_lean.diagnostics import Diagnostic, Severity, read_diagnostic, read_diagnostics
from ekiden_lean.errors import LeanError, LeanInstallError, LeanMissingError, LeanStoppedError
from ekiden_lean.facts import DeclarationFacts, LeanFacts
from ekiden_lean.facts_store import FactsStore
from ekiden_lean.probe import LeanProbe
from ekiden_lean.run import FileCheck, run_check
from ekiden_lean.submission import Checked, LeanLimits, Outcome, Submission, TrustedModule
from ekiden_lean.toolchain import Toolchain, ToolchainKind, find_toolchain

__all__ = [
    "Checked",
    "DeclarationFacts",
    "Diagnostic",
    "FactsStore",
    "FileCheck",
    "LeanError",
    "LeanFacts",
    "LeanInstallError",
    "LeanLimits",
    "LeanMissingError",
    "LeanProbe",
    "LeanStoppedError",
    "Outcome",
    "ProofChecker",
    "Severity",
    "Submission",
    "Toolchain",
    "ToolchainKind",
    "TrustedModule",
    "find_toolchain",
    "read_diagnostic",
    "read_diagnostics",
    "run_check",
]
