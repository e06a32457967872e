"""Settings of the judge."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

JudgeName = Literal["exact", "lean", "coq", "cross"]
DefaultPolicy = Literal["tracks", "strict"]


class JudgeSettings(BaseModel):
    """Which judge decides when the caller does not say, by which rules, and where it remembers verdicts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    default: JudgeName = Field(
        description="The judge: exact needs nothing; lean and coq need theirs installed; cross asks all three."
    )
    default_policy: DefaultPolicy = Field(
        description="Rules for a problem without a proof policy: those of the tracks (the three standard axioms, and "
        "their list of constants), or strict (no axiom at all, any constant)."
    )
    max_code_bytes: int = Field(ge=1, description="Bytes of code in UTF-8, for either verdict.")
    max_false_certificate_bytes: int = Field(ge=1, description="Bytes of code in UTF-8, for the verdict 'false'.")
    cache: bool = Field(description="Whether verdicts of Lean and Coq are kept for the next time.")
    cache_dir: str = Field(description="Folder for kept verdicts; empty: in the user's cache folder.")
    cache_megabytes: int = Field(ge=1, description="Size above which the verdicts used longest ago are dropped.")
    cache_days: int = Field(ge=1, description="Days after which a verdict that nobody asked for is dropped.")
