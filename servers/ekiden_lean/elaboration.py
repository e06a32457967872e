"""The untrusted phase: turning a submission into diagnostics and an export of declarations."""

import os
import re
import stat
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from typing import Literal, NamedTuple, get_args

from ekiden_lean.diagnostics import Diagnostic, Severity
from ekiden_lean.errors import HeaderError
from ekiden_lean.header import read_header
from ekiden_lean.plain import is_plain
from ekiden_lean.submission import Checked, Submission, TrustedModule
from ekiden_lean.toolchain import Toolchain
from ekiden_lean.worker import Finished, Job, Worker, unescaped

_MOST_DIAGNOSTICS = 100
_PLACE = re.compile("[0-9]{1,9}")
_COMPILER_GAP = re.compile(r"Unknown constant `[^`]*\._redArg`|failed to compile definition, compiler IR check failed")
"""Where the library comes without its compiled code, Lean checks a definition and then cannot compile it. A complete
Lean can, and a proof does not care."""
_LIBRARIES = ("Aesop", "Batteries", "ImportGraph", "LeanSearchClient", "Mathlib", "Plausible", "ProofWidgets", "Qq")
"""Roots of libraries that are not there by mistake of an answer but for want of them: Mathlib and what it brings."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A submission whose header has been read.

    Attributes:
        submission: The submission.
        job: What a worker is to do.
        goal_modules: What the kernel's check needs: the modules it imports, and the one that states the goal.
        plain: Whether it may share a process with others.
        compiles: Whether the toolchain can compile whatever it can check.
    """

    submission: Submission
    job: Job
    goal_modules: tuple[TrustedModule, ...]
    plain: bool
    compiles: bool


@dataclass(frozen=True, slots=True)
class Elaborated:
    """What elaboration gave.

    Attributes:
        diagnostics: Lean's messages.
        export: The declarations that the target needs, as the driver writes them.
        seconds: What it took.
    """

    diagnostics: tuple[Diagnostic, ...]
    export: str
    seconds: float


class Imports(NamedTuple):
    """What a text imports: modules of the library, modules of the caller's own; and the text without its header."""

    library: tuple[str, ...]
    own: tuple[str, ...]
    body: str


class NotImportable(NamedTuple):
    """Why a text cannot be elaborated."""

    outcome: Literal["refused", "unavailable"]
    message: str


def sort_imports(code: str, known: Collection[str], toolchain: Toolchain) -> Imports | NotImportable:
    """Read a text's header, and find each module that it imports."""
    try:
        header = read_header(code)
    except HeaderError as error:
        return NotImportable("refused", str(error))
    library: list[str] = ["Init"]
    own: list[str] = []
    for name in header.imports:
        if name in known:
            own.append(name)
        elif toolchain.modules_present(name):
            library.append(name)
        elif name.split(".")[0] in _LIBRARIES:
            return NotImportable("unavailable", f"It imports {name!r}, which this Lean does not have.")
        else:
            return NotImportable("refused", f"There is no module {name!r} to import.")
    return Imports(tuple(dict.fromkeys(library)), tuple(own), header.body)


def prepare(submission: Submission, toolchain: Toolchain) -> Prepared | Checked:
    """Read a submission's header, or say at once why it cannot be checked."""
    known = {module.name for module in submission.modules}
    sorted_out = sort_imports(submission.code, known, toolchain)
    if not isinstance(sorted_out, Imports):
        return Checked(submission.key, sorted_out.outcome, sorted_out.message)
    imports, own, body = sorted_out
    job = Job(imports, _chain(list(own), submission.modules), body, submission.target, submission.goal, token_hex(16))
    goal_modules = _chain([*own, submission.goal_module], submission.modules)
    plain = is_plain(submission.code) and imports == ("Init",)
    return Prepared(submission, job, goal_modules, plain=plain, compiles=toolchain.kind == "native")


def _chain(names: list[str], modules: tuple[TrustedModule, ...]) -> tuple[TrustedModule, ...]:
    """Return modules with all that they import, in the order in which they are given: each after those it needs.

    One order for all submissions lets them share what the first modules of a chain have made.
    """
    needed: set[str] = set()
    for module in reversed(modules):
        if module.name in names or module.name in needed:
            needed |= {module.name, *module.imports}
    return tuple(module for module in modules if module.name in needed)


def elaborate(prepared: Prepared, worker: Worker, *, export_bytes: int) -> Elaborated | Checked:
    """Have a worker elaborate a submission.

    Raises:
        LeanError: The worker cannot work, whatever the submission is.
    """
    finished = worker.work(prepared.job)
    key = prepared.submission.key
    match finished.ending:
        case "done":
            return _read_result(prepared, finished, worker.result_file(), export_bytes)
        case "failed":
            return Checked(
                key, "crashed", f"Lean gave up and said: {finished.detail[:500]!r}", seconds=finished.seconds
            )
        case _:
            return ended_badly(key, finished, "Lean's elaboration of it")


def ended_badly(key: str, finished: Finished, what: str) -> Checked:
    """Say that a process ended before it was done with a submission."""
    match finished.ending:
        case "timeout":
            return Checked(key, "timeout", f"{what} did not end within {finished.detail}.", seconds=finished.seconds)
        case "memory":
            return Checked(key, "memory", f"{what} took too much memory: {finished.detail}.", seconds=finished.seconds)
        case "flood":
            return Checked(key, "crashed", f"{what} printed more than {finished.detail}.", seconds=finished.seconds)
        case _:
            return Checked(key, "crashed", f"{what} ended the process ({finished.detail}).", seconds=finished.seconds)


def _read_result(prepared: Prepared, finished: Finished, file: Path, export_bytes: int) -> Elaborated | Checked:
    key, target = prepared.submission.key, prepared.submission.target
    text = read_contents(file, export_bytes)
    if text is None:
        message = f"Its declarations are not there, or take more than {export_bytes >> 20} MiB."
        return Checked(key, "refused", message, seconds=finished.seconds)
    diagnostics, found, export = part_result(text)
    refused = Checked(key, "refused", "", diagnostics, seconds=finished.seconds)
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    errors = [error for error in errors if prepared.compiles or not is_compiler_gap(error)]
    if errors:
        first = errors[0]
        return replace(refused, message=f"line {first.line}, column {first.column + 1}: {first.message}")
    if not found:
        return replace(refused, message=f"It defines no constant {target!r}.")
    return Elaborated(diagnostics, export, finished.seconds)


def is_compiler_gap(diagnostic: Diagnostic) -> bool:
    """Tell a message that is there only because the toolchain cannot compile whatever it can check."""
    return _COMPILER_GAP.match(diagnostic.message) is not None


def read_contents(file: Path, most: int) -> str | None:
    """Read a file that the other side may have tampered with: a regular one, no link, not too large."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = stream.read(most + 1)
    return None if len(data) > most else data.decode("utf-8", "replace")


def part_result(text: str, *, most: int = _MOST_DIAGNOSTICS) -> tuple[tuple[Diagnostic, ...], bool, str]:
    """Part a result file into the first diagnostics, whether the target is there, and the export."""
    diagnostics: list[Diagnostic] = []
    place = 0
    while place < len(text):
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        line = text[place:end]
        place = end + 1
        if not line.startswith("message "):
            return tuple(diagnostics), line == "found", text[place:]
        if len(diagnostics) < most and (diagnostic := _diagnostic(line)):
            diagnostics.append(diagnostic)
    return tuple(diagnostics), False, ""


def _diagnostic(line: str) -> Diagnostic | None:
    head, _, message = line.partition("\t")
    parts = head.split(" ", 6)
    if len(parts) != 7 or parts[1] not in get_args(Severity):
        return None
    _, severity, row, column, end_row, end_column, kind = parts
    numbers = [int(part) if _PLACE.fullmatch(part) else None for part in (row, column, end_row, end_column)]
    if numbers[0] is None or numbers[1] is None:
        return None
    place = (numbers[0], numbers[1], numbers[2], numbers[3])
    named: Severity = next(known for known in get_args(Severity) if known == severity)
    return Diagnostic(*place, severity=named, message=unescaped(message), kind="" if kind == "[anonymous]" else kind)
