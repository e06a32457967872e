"""Settings of the judge."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

JudgeName = Literal["exact", "lean", "coq", "cross"]


class JudgeSettings(BaseModel):
    """Which judge decides when the caller does not say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    default: JudgeName = Field(
        description="The judge: exact needs nothing; lean and coq need theirs installed; cross asks all three."
    )
