"""Check 1: what Lean and the build said, as data or read from a log."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Literal

from ekiden_blueprint.findings import Finding
from ekiden_blueprint.rules.table import RULES
from ekiden_blueprint.spans import Position, Span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ekiden_blueprint.rules.facts import LeanMessage
    from ekiden_blueprint.rules.scene import Place, Scene


Severity = Literal["error", "warning", "information"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message of Lean or of the build.

    Attributes:
        severity: How bad it is.
        message: What it says, without place and severity.
        line: From 1; 0 when it is about no place.
        column: From 0, in code points, as Lean counts.
        path: The file; may be empty in a project of one file.
    """

    severity: Severity
    message: str
    line: int = 0
    column: int = 0
    path: str = ""


_SORRY = re.compile(r"declaration uses ['`‘]?sorry['`’]?\.?", re.IGNORECASE)
_SEVERITY = r"(?:error|warning|info|information|trace)"
_STAMP = r"(?:\d{4}-\d\d-\d\dT[\d:.]+Z )?"
_NUMBERS = r":(?P<line>\d+):(?P<column>\d+)(?:-\d+:\d+)?:"
_LATE = re.compile(
    rf"{_STAMP}(?P<path>.*?){_NUMBERS}\s*(?P<severity>{_SEVERITY})(?:\([^)]*\))?:\s?(?P<message>.*)",
    re.IGNORECASE,
)
_EARLY = re.compile(
    rf"{_STAMP}\s*(?P<severity>{_SEVERITY})(?:\([^)]*\))?:\s*(?P<path>.*?){_NUMBERS}\s?(?P<message>.*)",
    re.IGNORECASE,
)
_LEADING_SEVERITY = re.compile(rf"\s*{_SEVERITY}:\s*", re.IGNORECASE)
_BREAKDOWN = re.compile(
    rf"{_STAMP}\s*(?:(?:INTERNAL )?PANIC\b|panic\b|fatal error|lake: error|error:|uncaught exception"
    r"|Stack overflow detected|libc\+\+abi: terminating|terminate called|out of memory\b)",
)
_KILLED = re.compile(
    rf"{_STAMP}(?:\S+:\s+)?(?:line \d+:\s+)?(?:\d+\s+)?(?:Segmentation fault|Bus error|Illegal instruction|Aborted"
    r"|Killed|Terminated)(?:[:(\s]|$)",
    re.IGNORECASE,
)
_EXIT = re.compile(r"(?:exited with code|exit code|exit status)\s+(?!0\b)-?\d+", re.IGNORECASE)
_CONSEQUENCE = re.compile(r"error: (?:build failed|.*exited with code 1)\s*", re.IGNORECASE)
"""What the build says after an error that it has named."""
_PROGRESS = re.compile(
    rf"{_STAMP}(?:[✔✖⚠ℹ]|\[\d+/\d+\]|info:|trace:|warning:|Build completed|Some (?:required )?(?:builds|targets)"
    r"|- \S+$)"
)


def read_build_log(text: str, *, exit_code: int | None = None) -> list[Diagnostic]:
    """Read the messages of a build log.

    A message starts with its place and goes on over lines that are blank or indented. A build that was killed, that
    crashed, or that failed without an error of its own gives an error without a place.

    Args:
        text: What `lake build` or `lean` printed, both streams together.
        exit_code: How the process ended, if known.
    """
    found: list[Diagnostic] = []
    current: Diagnostic | None = None
    for line in text.splitlines():
        start = _placed(line) or (Diagnostic("error", line.strip()) if _breaks_down(line) else None)
        if start is not None:
            found.append(start)
            current = start
        elif current is not None and (not line.strip() or line[0] in " \t"):
            found[-1] = current = replace(current, message=f"{current.message}\n{line}".rstrip())
        elif current is not None and (_PROGRESS.match(line) or _SORRY.fullmatch(current.message.strip())):
            current = None
        elif current is not None:
            found[-1] = current = replace(current, message=f"{current.message}\n{line}")
    if any(said.line and said.severity == "error" for said in found):
        found = [said for said in found if said.line or not _CONSEQUENCE.fullmatch(said.message)]
    if exit_code and not any(said.severity == "error" for said in found):
        ending = f"was killed by signal {-exit_code}" if exit_code < 0 else f"ended with exit code {exit_code}"
        found.append(Diagnostic("error", f"the build {ending} and named no error"))
    return found


def _placed(line: str) -> Diagnostic | None:
    found = _LATE.match(line) or _EARLY.match(line)
    if found is None:
        return None
    word = found["severity"].lower()
    severity: Severity = "error" if word == "error" else "warning" if word == "warning" else "information"
    path = _LEADING_SEVERITY.sub("", found["path"]).strip().replace("\\", "/")
    line_number, column = (min(int(found[name][:9]), 1 << 30) for name in ("line", "column"))
    return Diagnostic(severity, found["message"], line_number, column, PurePosixPath(path).as_posix() if path else "")


def _breaks_down(line: str) -> bool:
    """Tell whether a line without a place says that the build did not come to its end."""
    if _BREAKDOWN.match(line) or _KILLED.match(line) or line.rstrip().endswith(": command not found"):
        return True
    return _EXIT.search(line) is not None


def check_compilation(scene: Scene, diagnostics: Iterable[LeanMessage]) -> None:
    """Report what Lean and the build said; only a placeholder's own warning is as it should be."""
    ending = scene.ending
    if ending is not None and ending.outcome != "complete":
        message = f"Lean did not come to its end ({ending.outcome}): {ending.message}"
        _report(scene, "", Diagnostic("error", message), "BP103", message)
    for said in diagnostics:
        path = said.path if isinstance(said, Diagnostic) else ""
        if said.severity == "error":
            rule = "BP101" if said.line else "BP103"
            speaker = "Lean" if said.line else "The build"
            _report(scene, path, said, rule, f"{speaker} says: {said.message.strip() or 'nothing'}")
        elif said.severity == "warning" and _SORRY.fullmatch(said.message.strip()):
            _check_sorry(scene, path, said)
        elif said.severity == "warning":
            _report(scene, path, said, "BP102", f"Lean warns: {said.message.strip()}")


def _place(scene: Scene, path: str) -> Place | None:
    """Give the file that a message is about: the one whose path ends the message's, or is ended by it."""
    if not path:
        return scene.places[0] if len(scene.places) == 1 else None
    parts = PurePosixPath(path).parts
    same: dict[int, Place] = {}
    for place in scene.places:
        own = PurePosixPath(place.path).parts
        shorter = min(len(own), len(parts))
        if shorter and own[-shorter:] == parts[-shorter:]:
            same.setdefault(shorter, place)
    return same[max(same)] if same else None


def _offset(place: Place, said: LeanMessage) -> int:
    starts = place.file.source.line_starts
    line = min(max(said.line, 1), len(starts))
    end = starts[line] - 1 if line < len(starts) else len(place.text)
    return min(starts[line - 1] + max(said.column, 0), end)


def _check_sorry(scene: Scene, path: str, said: LeanMessage) -> None:
    """Report the warning where the text shows no placeholder; with facts, these say it better."""
    place = _place(scene, path)
    if place is None or not said.line or scene.facts is not None:
        return
    node = place.node_at(_offset(place, said))
    if node is not None and (node.is_definition or node.body_kind == "complete"):
        message = f"Lean finds a `sorry` in {node.name!r}, whose text shows none; prove it or write the placeholder."
        scene.report("BP904", place, node.name_span, message)


def _report(scene: Scene, path: str, said: LeanMessage, rule: str, message: str) -> None:
    place = _place(scene, path)
    if place is not None:
        at = _offset(place, said) if said.line else 0
        end = min(at + 1, len(place.text)) if said.line else at
        scene.report(rule, place, Span(at, end), message)
        return
    where = Position(max(said.line, 1), said.column + 1)
    shown = path or (scene.places[0].path if scene.places else "")
    scene.findings.append(Finding(rule, RULES[rule].severity, message, shown, Span(0, 0), where, where))
