"""What Lean says of a file, as data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast, get_args

if TYPE_CHECKING:
    from collections.abc import Iterable

Severity = Literal["error", "warning", "information"]
_SEVERITIES = frozenset(get_args(Severity))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message about a place of a file: lines count from 1, columns from 0 and in code points."""

    line: int
    column: int
    end_line: int | None
    end_column: int | None
    severity: Severity
    message: str
    kind: str


def read_diagnostics(lines: Iterable[str]) -> list[Diagnostic]:
    """Return the messages among the lines that `lean --json` prints; lines that are none are passed over."""
    return [message for line in lines if (message := read_diagnostic(line)) is not None]


def read_diagnostic(line: str) -> Diagnostic | None:
    """Return the message that a line holds, or `None` when it holds none."""
    if not line.startswith("{"):
        return None
    try:
        record: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return _diagnostic(cast("dict[str, object]", record))


def _diagnostic(record: dict[str, object]) -> Diagnostic | None:
    severity, message, kind = record.get("severity"), record.get("data"), record.get("kind")
    start, end = _position(record.get("pos")), _position(record.get("endPos"))
    if severity not in _SEVERITIES or not isinstance(message, str) or start is None:
        return None
    return Diagnostic(
        line=start[0],
        column=start[1],
        end_line=end[0] if end else None,
        end_column=end[1] if end else None,
        severity=cast("Severity", severity),
        message=message,
        # Lean calls a message without a kind "[anonymous]"
        kind=kind if isinstance(kind, str) and kind != "[anonymous]" else "",
    )


def _position(value: object) -> tuple[int, int] | None:
    if not isinstance(value, dict):
        return None
    position = cast("dict[str, object]", value)
    line, column = position.get("line"), position.get("column")
    return (line, column) if type(line) is int and type(column) is int else None
