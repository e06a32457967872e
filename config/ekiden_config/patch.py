"""Settings of the patch server: which files an agent may edit, and what of them."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class PatchFileSettings(BaseModel):
    """A file that may be edited."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str = Field(min_length=1, description="The file, from the workspace on.")
    node: str = Field(default="", description="Lean name of the one node that may be edited in it; empty: all of it.")


class PatchSettings(BaseModel):
    """What the patch server lets an agent edit; the variables `APPLY_PATCH_*` say the same and are stronger."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    workspace: str = Field(description="Folder that holds all files that may be edited; empty: the current one.")
    role: Literal["", "blueprinter", "refiner", "worker"] = Field(
        description="Role of the agent; a worker needs a node in each Lean file."
    )
    files: tuple[PatchFileSettings, ...] = Field(
        description="Files that may be edited; empty: every file of the workspace."
    )
    helper_keywords: tuple[str, ...] = Field(description="What helper nodes before a node may declare.")
    helper_modifiers: tuple[str, ...] = Field(description="Modifiers that helpers may have.")
    helper_attributes: tuple[str, ...] = Field(description="Attributes that helpers may have.")
    helper_commands: tuple[str, ...] = Field(
        description="Further commands allowed before a node, such as 'open', though they change what later text means."
    )
    bare_helpers: bool = Field(description="Whether helpers may lack the blueprint attribute.")
