"""What a check finds: a rule, a place, a message, and the fix where it is certain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ekiden_blueprint.spans import Position, Span

Severity = Literal["error", "warning", "note"]
"""Only an error makes a check fail; a note says what could not be checked, or what is taken on trust."""


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that removes a finding: `replacement` takes the place of the text of `span`."""

    span: Span
    replacement: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach of one rule.

    Attributes:
        rule: The rule's stable identifier, such as `BP202`.
        severity: Whether this fails the check.
        message: What is wrong, with the value, and the way out.
        path: The file.
        span: Where in its text; empty at 0 in a file that is not part of the project.
        start: The position of the span's first character.
        end: The position after its last character.
        fix: A change that is sure to remove the finding, if there is one.
    """

    rule: str
    severity: Severity
    message: str
    path: str
    span: Span
    start: Position
    end: Position
    fix: Fix | None = None


def apply_fixes(text: str, findings: Iterable[Finding]) -> str:
    """Apply the fixes of one file's findings to its text; of two that overlap, only the first.

    Insertions at one place are all made, in the order of the findings.
    """
    fixes = [finding.fix for finding in findings if finding.fix is not None]
    parts: list[str] = []
    at = 0
    for fix in sorted(fixes, key=lambda fix: fix.span):
        if fix.span.start < at:
            continue
        parts += [text[at : fix.span.start], fix.replacement]
        at = fix.span.end
    return "".join([*parts, text[at:]])
