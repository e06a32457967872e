"""What goes into and comes out of the judge's tools."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from ekiden_judge.diagnostics import cut
from ekiden_judge.explain import Explanation, explain
from ekiden_judge.verdict import Claim, Verdict

MAX_BATCH = 50
MAX_BATCH_MESSAGE = 400
MAX_SHOWN_DIAGNOSTICS = 6
MAX_SHOWN_DIAGNOSTIC = 500


class BatchEntry(BaseModel):
    """An answer and its question."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(min_length=1, max_length=200, description="Its name in the result.")]
    law1: Annotated[str, Field(description="The premise.")]
    law2: Annotated[str, Field(description="The conclusion.")]
    verdict: Annotated[str, Field(description="'true' or 'false'.")]
    code: Annotated[str, Field(description="The whole Lean file.")]


class AnswerVerdict(BaseModel):
    """The verdict on one answer."""

    status: Annotated[str, Field(description="Only 'accepted' counts.")]
    error_code: Annotated[str, Field(description="The reason as a code.")]
    message: Annotated[str, Field(description="The reason.")]
    checker: Annotated[str, Field(description="'': the text decided.")]
    certificate: Annotated[str, Field(description="What was recognised in it.")]
    axioms: Annotated[list[str], Field(description="Known to be used.")]
    diagnostics: Annotated[list[str], Field(description="'line:column severity: text', from 1.")]
    left_out: Annotated[int, Field(description="How many of these are not listed.")]
    seconds: Annotated[float, Field(description="Wall time.")]

    @classmethod
    def of_verdict(cls, verdict: Verdict) -> Self:
        """Show a verdict, with its diagnostics as lines."""
        shown = verdict.diagnostics[:MAX_SHOWN_DIAGNOSTICS]
        lines = [cut(f"{d.line}:{d.column} {d.severity}: {d.message}", MAX_SHOWN_DIAGNOSTIC) for d in shown]
        return cls(
            status=verdict.status,
            error_code=verdict.error_code,
            message=verdict.message,
            checker=verdict.checker or "",
            certificate=verdict.certificate or "",
            axioms=list(verdict.axioms),
            diagnostics=lines,
            left_out=verdict.left_out + len(verdict.diagnostics) - len(shown),
            seconds=verdict.seconds,
        )


class BatchVerdict(BaseModel):
    """One verdict."""

    id: Annotated[str, Field(description="As given.")]
    status: Annotated[str, Field(description="As in judge_answer.")]
    error_code: Annotated[str, Field(description="As in judge_answer.")]
    message: Annotated[str, Field(description="The reason; '...' where cut.")]

    @classmethod
    def of_entry(cls, entry: BatchEntry, verdict: Verdict) -> Self:
        """Name a verdict after its entry, with a message short enough for a list."""
        message = cut(verdict.message, MAX_BATCH_MESSAGE)
        return cls(id=entry.id, status=verdict.status, error_code=verdict.error_code, message=message)


class BatchVerdicts(BaseModel):
    """The verdicts, in the order given."""

    items: Annotated[list[BatchVerdict], Field(description="One for each.")]
    total: Annotated[int, Field(description="Answers judged: all.")]
    accepted: Annotated[int, Field(description="How many count.")]
    undecided: Annotated[int, Field(description="How many are undecided.")]

    @classmethod
    def of_items(cls, items: list[BatchVerdict]) -> Self:
        """Count the verdicts."""
        return cls(
            items=items,
            total=len(items),
            accepted=sum(item.status == "accepted" for item in items),
            undecided=sum(item.status == "undecided" for item in items),
        )


class ExplainedVerdict(BaseModel):
    """A verdict explained."""

    status: Annotated[str, Field(description="As in judge_answer.")]
    check: Annotated[str, Field(description="The check that decided.")]
    message: Annotated[str, Field(description="The reason.")]
    place: Annotated[str, Field(description="Line and column from 1, the line, a caret.")]
    help: Annotated[list[str], Field(description="What would help.")]

    @classmethod
    def of_verdict(cls, verdict: Verdict, code: str) -> Self:
        """Explain a verdict on a code."""
        found: Explanation = explain(verdict, code)
        return cls(
            status=verdict.status,
            check=found.check,
            message=found.message,
            place=found.place,
            help=list(found.help),
        )


class PrintedCertificate(BaseModel):
    """A certificate as a source file."""

    verdict: Annotated[Claim, Field(description="What it shows.")]
    code: Annotated[str, Field(description="The whole file.")]
    checked: Annotated[bool, Field(description="False: too large to check here.")]
