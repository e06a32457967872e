"""What is looked for outside Ekiden, and what was found of it."""

import re
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["python", "program", "model", "jobs", "isolation"]
State = Literal["ok", "old", "missing", "broken"]


class Wanted(BaseModel):
    """One thing outside Ekiden that it can use."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    purpose: str
    how_to_get: str
    required: bool = False
    minimum: str | None = None


class Finding(BaseModel):
    """What was found of one thing."""

    kind: Kind = Field(description="What sort of thing it is.")
    name: str = Field(description="What it is called.")
    state: State = Field(description="Whether it is there and new enough; 'broken' when it does not even tell.")
    required: bool = Field(description="Whether Ekiden cannot do without it.")
    version: str | None = Field(description="The version found, when it tells one; of isolation the kind in force.")
    minimum: str | None = Field(description="The oldest version expected, when it matters.")
    purpose: str = Field(description="What Ekiden uses it for.")
    how_to_get: str = Field(description="Where it comes from, or what is wrong with it.")

    @property
    def prevents_work(self) -> bool:
        """Tell whether something required is not as it must be."""
        return self.required and self.state != "ok"


def finding_of(kind: Kind, item: Wanted, version: str | None, *, state: State | None = None) -> Finding:
    """Return what was found of a thing; its state is told by the version where none is given."""
    if state is None:
        too_old = item.minimum and version and _numbers(version) < _numbers(item.minimum)
        state = "old" if too_old else "ok"
    return Finding(
        kind=kind,
        name=item.name,
        state=state,
        required=item.required,
        version=version,
        minimum=item.minimum,
        purpose=item.purpose,
        how_to_get=item.how_to_get,
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))
