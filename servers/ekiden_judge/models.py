"""What goes into and comes out of the judge's tools."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field

from ekiden_judge.verdict import Status, Verdict

MAX_BATCH = 50
MAX_BATCH_MESSAGE = 400


class BatchEntry(BaseModel):
    """One answer of a batch, with the question it answers."""

    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, Field(min_length=1, max_length=200, description="What the answer is called in the result.")]
    law1: Annotated[str, Field(description="The premise, such as 'x = x ◇ (y ◇ x)'.")]
    law2: Annotated[str, Field(description="The conclusion, written like the premise.")]
    verdict: Annotated[str, Field(description="'true' or 'false'.")]
    code: Annotated[str, Field(description="The whole Lean source file that proves the verdict.")]


class BatchVerdict(BaseModel):
    """The verdict on one answer of a batch; judge_answer tells more."""

    id: Annotated[str, Field(description="What the answer is called, as given.")]
    status: Annotated[Status, Field(description="As of judge_answer: only 'accepted' counts.")]
    error_code: Annotated[str, Field(description="The reason as a code, as of judge_answer.")]
    message: Annotated[
        str, Field(description=f"The reason in words; ends in '...' where cut at {MAX_BATCH_MESSAGE} characters.")
    ]

    @classmethod
    def of_entry(cls, entry: BatchEntry, verdict: Verdict) -> Self:
        """Name a verdict after its entry, with a message short enough for a list."""
        message = verdict.message
        if len(message) > MAX_BATCH_MESSAGE:
            message = message[: MAX_BATCH_MESSAGE - 3] + "..."
        return cls(id=entry.id, status=verdict.status, error_code=verdict.error_code, message=message)


class BatchVerdicts(BaseModel):
    """The verdicts on a batch, whole and in the order of the call."""

    items: Annotated[list[BatchVerdict], Field(description="One verdict for each answer.")]
    total: Annotated[int, Field(description="How many answers were judged: all of the call.")]
    accepted: Annotated[int, Field(description="How many were accepted.")]
    undecided: Annotated[int, Field(description="How many cannot be decided without Lean.")]

    @classmethod
    def of_items(cls, items: list[BatchVerdict]) -> Self:
        """Count the verdicts."""
        return cls(
            items=items,
            total=len(items),
            accepted=sum(item.status == "accepted" for item in items),
            undecided=sum(item.status == "undecided" for item in items),
        )
