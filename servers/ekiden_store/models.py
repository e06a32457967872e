"""What goes into and comes out of the tools of the store."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, Field

from ekiden_store.columns import COLUMNS
from ekiden_store.errors import InvalidStepError
from ekiden_store.redaction import Redactor
from ekiden_store.steps import Step

if TYPE_CHECKING:
    from ekiden_store.embeddings_fill import FillReport
    from ekiden_store.exports_manifest import Manifest
    from ekiden_store.stats import LabelCounts, Stats

MAX_STEPS = 500
MAX_TEXT = 2_000
_NAMES = tuple(column.name for column in COLUMNS)
_DEFAULTS = {column.name: column.default for column in COLUMNS}
_ALWAYS = frozenset({"row_id", "theorem_name", "kind", "attempt_id"})

Counts = dict[str, int]
Row = dict[str, Any]


class Appended(BaseModel):
    """Steps that are stored."""

    row_ids: Annotated[list[str], Field(description="In the order given.")]


class StepPage(BaseModel):
    """Some steps, the newest first."""

    steps: Annotated[list[Row], Field(description="What they say.")]
    next_cursor: Annotated[str, Field(description="'': no more.")]


class TreePage(BaseModel):
    """A part of what was attempted."""

    lines: Annotated[list[str], Field(description="Children are further in.")]
    next_cursor: Annotated[str, Field(description="'': no more.")]


class StoreStats(BaseModel):
    """What the store holds."""

    rows: Annotated[int, Field(description="All.")]
    kinds: Annotated[Counts, Field(description="Rows by kind.")]
    verdicts: Annotated[Counts, Field(description="Rows by verdict.")]
    labels: Annotated[Counts, Field(description="States by label.")]
    depths: Annotated[dict[str, Counts], Field(description="By depth, 20.")]
    largest: Annotated[dict[str, Counts], Field(description="By theorem.")]
    attempted: Annotated[int, Field(description="Theorems.")]
    proved: Annotated[int, Field(description="Theorems.")]
    states: Annotated[int, Field(description="Texts.")]
    candidates: Annotated[float, Field(description="Average.")]

    @classmethod
    def of_stats(cls, stats: "Stats", redactor: Redactor) -> Self:
        """Show what a store holds."""
        return cls(
            rows=stats.rows,
            kinds=stats.kinds,
            verdicts={redactor.redact(name): rows for name, rows in stats.verdicts.items()},
            labels=_labels(stats.labels),
            depths={str(depth): _labels(labels) for depth, labels in list(stats.depths.items())[:20]},
            largest={redactor.redact(name): _labels(labels) for name, labels in stats.largest.items()},
            attempted=stats.proved.attempted,
            proved=stats.proved.proved,
            states=stats.unique_states,
            candidates=round(stats.candidates.average, 2),
        )


class DataSet(BaseModel):
    """A data set that was made."""

    folder: Annotated[str, Field(description="In the store's folder.")]
    lines: Annotated[Counts, Field(description="By file.")]
    sha256: Annotated[dict[str, str], Field(description="By file.")]
    unusable: Annotated[Counts, Field(description="Rows, by reason.")]

    @classmethod
    def of_manifest(cls, folder: str, manifest: "Manifest") -> Self:
        """Show what was made."""
        unusable: Counter[str] = Counter()
        for source in manifest.sources:
            unusable.update(source.unusable)
        return cls(
            folder=folder,
            lines={file.name: file.lines for file in manifest.files},
            sha256={file.name: file.sha256 for file in manifest.files},
            unusable=dict(unusable),
        )


class Embedded(BaseModel):
    """What became of states without a vector."""

    encoded: Annotated[int, Field(description="New vectors.")]
    known: Annotated[int, Field(description="Had one.")]
    refused: Annotated[Counts, Field(description="Got none, by reason.")]
    is_complete: Annotated[bool, Field(description="Else call again.")]

    @classmethod
    def of_report(cls, report: "FillReport", *, is_complete: bool) -> Self:
        """Show what became of them."""
        return cls(encoded=report.encoded, known=report.known, refused=dict(report.refused), is_complete=is_complete)


def step_of(row: Mapping[str, object]) -> Step:
    """Return a row that an agent gives as a step.

    Raises:
        InvalidStepError: It has a column that there is not, or lacks one that must be there.
    """
    if unknown := sorted(set(row) - set(_NAMES)):
        raise InvalidStepError(f"There is no column {unknown[0]!r}. The columns are {', '.join(_NAMES)}.")
    for name in ("theorem_name", "kind"):
        if not row.get(name):
            raise InvalidStepError(f"A step needs {name!r}.")
    values: dict[str, Any] = {"origin": "agent", **row}
    return Step(**values)


def row_of(step: Step) -> Row:
    """Return a step as an agent sees it: without what is at its default, and with long texts cut."""
    values = {name: getattr(step, name) for name in _NAMES}
    row = {name: value for name, value in values.items() if name in _ALWAYS or value != _DEFAULTS[name]}
    return {name: _cut(value) for name, value in row.items()}


def _cut(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_cut(each) for each in value]  # pyright: ignore[reportUnknownVariableType]  # of texts
    if isinstance(value, str) and len(value) > MAX_TEXT:
        return f"{value[:MAX_TEXT]}… ({len(value)} characters)"
    return value


def _labels(labels: "LabelCounts") -> Counts:
    return {"positive": labels.positive, "negative": labels.negative, "unknown": labels.unknown}
