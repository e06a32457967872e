"""Settings of the countermodel search."""

from pydantic import BaseModel, ConfigDict, Field


class CayleySettings(BaseModel):
    """How long and how far the countermodel search goes when the caller does not say."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    time_limit_s: float = Field(gt=0, le=86_400, description="Seconds one search may take.")
    max_order: int = Field(ge=2, le=64, description="Largest table that the SAT search tries.")
    seed: int = Field(ge=0, description="Seed of every randomised choice; equal seeds give equal answers.")
