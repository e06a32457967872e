"""What goes into and comes out of the counterexample server's tools.

Every character of the schemas is read by a model each time a host lists the tools: descriptions are short here, and the
classes' own docstrings are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field

from ekiden_magma import CayleyTable, MagmaError
from ekiden_magma.natural import ResidueModel

if TYPE_CHECKING:
    from ekiden_cayley.outcome import Outcome

MAX_PAIRS = 50
MAX_LAWS = 200
MAX_LIST = 5000
MAX_OPERATIONS = 4

Rows = list[list[int]]


def _without_docstring(schema: dict[str, Any]) -> None:
    schema.pop("description", None)


class _Model(BaseModel):
    """A model whose schema does not repeat its docstring."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_without_docstring)


class _Result(_Model):
    """A result: its schema does not forbid fields that a later version may add."""

    model_config = ConfigDict(extra="ignore", json_schema_extra=_without_docstring)


class LawPair(_Model):
    """Two laws; the question is whether the first implies the second."""

    law1: Annotated[str, Field(description="The premise.")]
    law2: Annotated[str, Field(description="The conclusion.")]


class Finding(_Result):
    """What is known about one pair of laws after a search."""

    refuted: Annotated[bool, Field(description="A checked model refutes it.")]
    table: Annotated[Rows, Field(description="table[i][j] = i ◇ j.")]
    rules: Annotated[Rows, Field(description="Rules of an infinite one.")]
    assignment: Annotated[dict[str, int], Field(description="Where law 2 fails.")]
    note: Annotated[str, Field(description="Method, or what to do next.")]

    @classmethod
    def of_outcome(cls, outcome: Outcome) -> Self:
        """Describe the outcome of a search."""
        return cls.model_validate(_described(outcome))


class RefutationReport(Finding):
    """The result of searching a counterexample to one implication."""

    rules: Annotated[
        Rows,
        Field(
            description="Else m*m rules [a, b, c] of an infinite one on 0, 1, ...: "
            "x ◇ y = max(0, a*x + b*y + c) by rules[x % m * m + y % m]."
        ),
    ]
    sides: Annotated[list[int], Field(description="Law 2's sides there.")]
    no_model_up_to: Annotated[int, Field(description="Proved: no table up to this order.")]
    seconds: Annotated[float, Field(description="Time worked.")]
    code: Annotated[str, Field(description="The Lean answer.")]

    @classmethod
    def of_search(cls, outcome: Outcome, *, include_lean: bool) -> Self:
        """Describe the outcome of a search for one pair; with the Lean answer, or why there is none."""
        report = cls.of_outcome(outcome)
        if include_lean and outcome.refutation is not None:
            from ekiden_magma.lean import lean_answer

            try:
                report.code = lean_answer(outcome.refutation)
            except MagmaError as error:
                report.note += f" There is no Lean answer: {error}"
        return report


def _described(outcome: Outcome) -> dict[str, object]:
    refutation = outcome.refutation
    description: dict[str, object] = {
        "refuted": refutation is not None,
        "table": [],
        "rules": [],
        "assignment": refutation.assignment if refutation else {},
        "sides": list(refutation.model.evaluate(refutation.law2, refutation.assignment)) if refutation else [],
        "no_model_up_to": outcome.no_model_up_to,
        "seconds": round(outcome.seconds, 6),
        "note": outcome.note,
        "code": "",
    }
    match refutation.model if refutation else None:
        case CayleyTable(rows=rows):
            description["table"] = rows
        case ResidueModel(rules=rules):
            description["rules"] = rules
        case None:
            pass
    return description


class BatchReport(_Result):
    """The results of a batch, whole and in the order of the call."""

    items: Annotated[list[Finding], Field(description="In order.")]
    total: Annotated[int, Field(description="Pairs.")]


class LawOnTable(_Result):
    """Whether one law holds on a table."""

    law: Annotated[str, Field(description="The law.")]
    holds: Annotated[bool, Field(description="For all values.")]
    assignment: Annotated[dict[str, int], Field(description="Where it fails.")]


class TableReport(_Result):
    """Which laws hold on a table."""

    items: Annotated[list[LawOnTable], Field(description="In order.")]
    total: Annotated[int, Field(description="Laws.")]


class LawsOfTable(_Result):
    """One page of the laws that a table satisfies."""

    items: Annotated[list[str], Field(description="Laws that hold.")]
    total: Annotated[int, Field(description="On all pages.")]
    next_cursor: Annotated[str, Field(description="For the next page; empty at the end.")]
