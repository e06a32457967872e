"""Settings of blueprints: which files they are, and what a project allows in them."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints


class BlueprintSettings(BaseModel):
    """The files of a blueprint, and what its rules allow beyond, or less than, the usual."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    files: tuple[str, ...] = Field(
        min_length=1,
        description="Patterns of the blueprint's files, from the project's folder on; `**` is any folders.",
    )
    source_folder: str = Field(
        description="The folder, from the project's on, that names of modules count from: `srcDir` in the lakefile."
    )
    assumptions: tuple[str, ...] = Field(
        description="Axioms of the project's own that it takes without proof; each is told in every report."
    )
    imports: tuple[str, ...] = Field(description="Modules that every file must import, in this order.")
    more_imports: tuple[str, ...] = Field(description="Modules that a file may import besides.")
    header_options: tuple[Annotated[str, StringConstraints(pattern=r"^\S+ \S+$")], ...] = Field(
        description="Options that every file sets before its first node, in this order, such as 'linter.all false'."
    )
    opens: tuple[str, ...] = Field(description="Namespaces that may be opened anywhere.")
    commands: tuple[str, ...] = Field(description="Keywords of further commands that may stand between nodes.")
    more_attributes: tuple[str, ...] = Field(description="Attributes that a node may have besides the usual ones.")
