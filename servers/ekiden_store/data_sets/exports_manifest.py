"""What a data set says of itself: what it was made of, and the hashes of what it holds."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MANIFEST = "manifest.json"
TRAIN = "train.jsonl"
VALIDATION = "validation.jsonl"


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceEntry(_Entry):
    """What became of one source."""

    name: str
    rows: int = Field(description="How many rows or lines the source asked for.")
    unusable: dict[str, int] = Field(description="How many of them became nothing, by reason.")
    examples: int = Field(description="How many examples or pairs they became.")
    left_out: dict[str, int] = Field(description="How many of those were left out, by reason, before doubles were.")
    doubles: int = Field(description="How many of the rest were left out as doubles.")
    chosen: int = Field(description="How many were taken, none of them counted twice.")
    sha256_sum: str = Field(description="The SHA-256 of each example before redaction, added up modulo 2^256.")
    file_sha256: str | None = Field(description="The hash of the file that they were read from.")


class FileEntry(_Entry):
    """One file of the data set."""

    name: Literal["train.jsonl", "validation.jsonl"]
    lines: int
    theorems: int
    bytes: int
    sha256: str
    sources: dict[str, int] = Field(description="Lines by source, repeated ones included.")


class Manifest(_Entry):
    """What a data set was made of, and what it holds. It tells of no time and no place."""

    format: Literal["ekiden data set"] = "ekiden data set"
    version: Literal[1] = 1
    ekiden: str = Field(description="The version of Ekiden that made it.")
    mix: dict[str, Any]
    lists: dict[str, str] = Field(description="The hashes of the files with names of theorems.")
    template_sha256: str | None = Field(description="The hash of the mix's template.")
    sources: tuple[SourceEntry, ...]
    files: tuple[FileEntry, ...]
    shared_states: int = Field(description="How many states of the validation file are also trained on.")
    redacted: dict[str, int] = Field(description="How many secrets were struck out, by kind.")
    remarks: tuple[str, ...] = Field(description="What is not as one might expect.")
