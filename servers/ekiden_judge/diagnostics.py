"""What a checker says about places of an answer's own text, in sizes that fit into a verdict."""

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

MAX_NAMES = 40
MAX_NAME = 200
MAX_DIAGNOSTICS = 12
MAX_DIAGNOSTIC_MESSAGE = 1_000
"""Axioms, declarations and diagnostics that a verdict holds, and the characters of each; the rest is counted."""

Severity = Literal["error", "warning", "information"]


class Diagnostic(BaseModel):
    """One message of a checker about a place of the answer's own text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    line: Annotated[int, Field(ge=1, description="Line of the code, from 1.")]
    column: Annotated[int, Field(ge=1, description="Column of the line in characters, from 1.")]
    severity: Annotated[Severity, Field(description="Only errors refuse an answer.")]
    message: Annotated[str, Field(description="What the checker says; ends in '...' where cut.")]
    kind: Annotated[str, Field(description="The checker's own name for this kind of message; '' if it has none.")] = ""


class Bounded(NamedTuple):
    """Lists cut to what a verdict holds, and how many entries were left out."""

    axioms: tuple[str, ...]
    declarations: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    left_out: int


def bounded(axioms: Sequence[str], declarations: Sequence[str], diagnostics: Sequence[Diagnostic]) -> Bounded:
    """Cut lists to what a verdict holds; errors come before other diagnostics, each in the order given."""
    by_severity = sorted(diagnostics, key=lambda diagnostic: diagnostic.severity != "error")
    kept = Bounded(
        tuple(cut(name, MAX_NAME) for name in axioms[:MAX_NAMES]),
        tuple(cut(name, MAX_NAME) for name in declarations[:MAX_NAMES]),
        tuple(_shortened(diagnostic) for diagnostic in by_severity[:MAX_DIAGNOSTICS]),
        0,
    )
    given = len(axioms) + len(declarations) + len(diagnostics)
    return kept._replace(left_out=given - len(kept.axioms) - len(kept.declarations) - len(kept.diagnostics))


def cut(text: str, most: int) -> str:
    """Return a text of at most so many characters; it ends in '...' where cut."""
    return text if len(text) <= most else text[: most - 3] + "..."


def _shortened(diagnostic: Diagnostic) -> Diagnostic:
    if len(diagnostic.message) <= MAX_DIAGNOSTIC_MESSAGE and len(diagnostic.kind) <= MAX_NAME:
        return diagnostic
    message, kind = cut(diagnostic.message, MAX_DIAGNOSTIC_MESSAGE), cut(diagnostic.kind, MAX_NAME)
    return diagnostic.model_copy(update={"message": message, "kind": kind})
