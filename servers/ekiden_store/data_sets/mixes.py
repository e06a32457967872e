"""Mixes: what a data set for training is made of, said as data in TOML or JSON."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ekiden_store.data_sets.mixes_template import Template
from ekiden_store.errors import StoreError
from ekiden_store.queries.row_filter import RowFilter

DedupeKey = Literal["theorem", "state", "tactic"]
_SEED_AT_MOST = 2**63 - 1


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(
        pattern=r"^[a-z0-9][a-z0-9_.-]{0,59}$",
        description="What the source is called in each line and in the manifest.",
    )
    dedupe: tuple[DedupeKey, ...] = Field(
        default=("theorem", "state", "tactic"),
        description="Of examples that are alike in all of these only one is taken; empty: all are.",
    )
    subsample: int | None = Field(
        default=None,
        ge=0,
        description="Take so many at random, after doubles are gone, for training and validation together; left out: "
        "all.",
    )
    upsample: int = Field(
        default=1, ge=1, le=1000, description="Repeat each so often for training; in validation each is there once."
    )


class StoreSource(_Part):
    """Tactics of attempts in the store, each with the state before it."""

    kind: Literal["store"] = "store"
    rows: RowFilter = Field(
        description="Which rows; if their labels are not told, those that are labelled positive, or with `on_proofs` "
        "those of any label."
    )
    finishing: bool = Field(default=True, description="Whether tactics that left no goal are taken.")
    on_proofs: bool = Field(
        default=False, description="Whether only tactics that lie on a completed proof are taken, whatever their label."
    )
    verdicts: tuple[str, ...] = Field(
        default=(), description="Only attempts that were judged so, as 'accepted'; empty: all."
    )

    @model_validator(mode="before")
    @classmethod
    def _tell_labels(cls, given: object) -> object:
        if not isinstance(given, dict):
            return given
        told = cast("dict[str, Any]", given)
        rows = told.get("rows", {})
        if isinstance(rows, dict) and "labels" not in rows:
            labels = () if told.get("on_proofs") else ("positive",)
            return told | {"rows": {**cast("dict[str, Any]", rows), "labels": labels}}
        return told


class FileSource(_Part):
    """Lines of a JSON Lines file, each with `theorem`, `state` (before the tactic), `tactic` and perhaps `depth`."""

    kind: Literal["file"]
    path: Path = Field(description="The file; a relative path starts from the mix's folder.")


class ContrastSource(_Part):
    """Pairs of tactics in the same state: one on a proof, the other not."""

    kind: Literal["contrast"]
    rows: RowFilter = Field(default=RowFilter(), description="Which rows, by their positive side.")
    failed: bool = Field(default=False, description="Whether tactics that failed count as negative too.")
    on_proofs: bool = Field(
        default=True, description="Whether the positive side must lie on a completed proof; else its label is believed."
    )
    conflicts: bool = Field(
        default=False, description="Whether pairs are taken whose negative side is positive elsewhere."
    )
    verdicts: tuple[str, ...] = Field(
        default=(), description="Only attempts that were judged so, as 'accepted'; empty: all."
    )
    with_states: bool = Field(
        default=False,
        description="Whether only pairs with two different unfinished states after the tactics are taken.",
    )


Source = Annotated[StoreSource | FileSource | ContrastSource, Field(discriminator="kind")]


class Validation(BaseModel):
    """What is kept for validation: whole theorems, so that nothing of them is trained on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fraction: float = Field(default=0.0, ge=0, lt=1, description="About which share of the theorems, chosen at random.")
    theorems: tuple[str, ...] = Field(default=(), description="Theorems that are kept for validation in any case.")
    files: tuple[Path, ...] = Field(default=(), description="Files with names of more such theorems.")


class LeftOut(BaseModel):
    """Theorems that no source may give an example of: those of a benchmark."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    theorems: tuple[str, ...] = Field(default=(), description="Their names.")
    files: tuple[Path, ...] = Field(default=(), description="Files with names of more.")


class Mix(BaseModel):
    """What a data set is made of.

    Names of theorems are the same for `validation` and `left_out` if they differ in nothing but spaces around them and
    in how letters are composed (Unicode's form NFC); capital and small letters differ, as in Lean.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: Literal[1] = 1
    seed: int = Field(ge=0, le=_SEED_AT_MOST, description="Another seed makes another data set of the same kind.")
    sources: tuple[Source, ...] = Field(min_length=1, description="What it is made of.")
    validation: Validation = Validation()
    left_out: LeftOut = LeftOut()
    dedupe: bool = Field(
        default=True,
        description="Whether what a source above has given is not taken again, by theorem, state and tactic; a source "
        "with an empty `dedupe` takes all.",
    )
    max_characters: int | None = Field(
        default=None, ge=1, description="Leave out what is longer, the state and its tactics together; left out: none."
    )
    template: Template | None = Field(
        default=None, description="How examples are put into words; left out: as they are."
    )

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read for it."""
        sources = (source.path for source in self.sources if isinstance(source, FileSource))
        return (*sources, *self.validation.files, *self.left_out.files)

    @model_validator(mode="after")
    def _is_of_one_kind(self) -> Self:
        names = [source.name for source in self.sources]
        if doubled := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two sources are called {doubled[0]!r}")
        if len({source.kind == "contrast" for source in self.sources}) > 1:
            raise ValueError("pairs that contrast and single tactics cannot be mixed; make two data sets")
        return self


def read_mix(path: Path) -> Mix:
    """Read a mix from a TOML file, or from a JSON file if its name ends so. Relative paths start from its folder.

    Raises:
        StoreError: It cannot be read, or is no mix.
    """
    try:
        text = path.read_text("utf-8")
        found: object = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise StoreError(f"The mix {str(path)!r} cannot be read: {error}.") from error
    if not isinstance(found, dict):
        raise StoreError(f"The mix {str(path)!r} is no table of settings.")
    return parse_mix(cast("dict[str, Any]", found), folder=path.parent)


def parse_mix(settings: Mapping[str, Any], *, folder: Path) -> Mix:
    """Return a mix from what a file said.

    Args:
        settings: What it said; a source that does not say its kind is one of the store.
        folder: Where relative paths start.

    Raises:
        StoreError: It is no mix.
    """
    settings = dict(settings)
    if isinstance(sources := settings.get("sources"), list):
        settings["sources"] = [
            {"kind": "store", **cast("dict[str, Any]", source)} if isinstance(source, dict) else source
            for source in cast("list[object]", sources)
        ]
    try:
        mix = Mix.model_validate(settings)
    except ValidationError as error:
        told = error.errors(include_url=False)[0]
        place = ".".join(map(str, told["loc"]))
        raise StoreError(f"The mix cannot be used: {f'{place}: ' if place else ''}{told['msg']}.") from error
    placed = tuple(
        source.model_copy(update={"path": folder / source.path}) if isinstance(source, FileSource) else source
        for source in mix.sources
    )
    validation, left_out = (
        names.model_copy(update={"files": tuple(folder / file for file in names.files)})
        for names in (mix.validation, mix.left_out)
    )
    return mix.model_copy(update={"sources": placed, "validation": validation, "left_out": left_out})
