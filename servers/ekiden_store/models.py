"""What goes into and comes out of the tools of the store."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Self, cast

from pydantic import BaseModel, Field

from ekiden_store.columns import COLUMNS
from ekiden_store.errors import InvalidStepError
from ekiden_store.redaction.redactor import Redactor
from ekiden_store.serving.pages import PAGE_CHARS
from ekiden_store.steps import Step, step_line

if TYPE_CHECKING:
    from ekiden_store.data_sets.exports_manifest import Manifest
    from ekiden_store.embeddings.fill import FillReport
    from ekiden_store.queries.stats import LabelCounts, Stats

MAX_STEPS = 500
MAX_TEXT = 2_000
MOST_IDS = 20
MOST_VERDICTS = 20
_SHORTER = (MAX_TEXT, 300, 60)
"""How long the texts of a row may be: where they are many, less."""
_LONGEST_ROW = PAGE_CHARS // 2
_MOST_TEXTS = 20
_LONGEST_NAME = 500
_SHORT = ("theorem_name", "row_id", "run_id", "attempt_id", "failure_kind", "verdict", "tool", "model", "source")
_NAMES = tuple(column.name for column in COLUMNS)
_DEFAULTS = {column.name: column.default for column in COLUMNS}
_ALWAYS = frozenset({"row_id", "theorem_name", "kind", "attempt_id"})

Counts = dict[str, int]
Row = dict[str, Any]


class Appended(BaseModel):
    """What is stored."""

    row_ids: Annotated[list[str], Field(description=f"Above {MOST_IDS}: first, last.")]

    @classmethod
    def of_ids(cls, ids: Sequence[str]) -> Self:
        """Show the ids of stored rows."""
        return cls(row_ids=[*ids] if len(ids) <= MOST_IDS else [ids[0], ids[-1]])


class StepPage(BaseModel):
    """A page of rows."""

    steps: Annotated[list[Row], Field(description="Rows.")]
    next_cursor: Annotated[str, Field(description="'': no more.")]


class TreePage(BaseModel):
    """A page of lines."""

    lines: Annotated[list[str], Field(description="Children further in.")]
    next_cursor: Annotated[str, Field(description="'': no more.")]


class StoreStats(BaseModel):
    """Counts."""

    rows: Annotated[int, Field(description="All.")]
    kinds: Annotated[Counts, Field(description="By kind.")]
    verdicts: Annotated[Counts, Field(description="By verdict.")]
    labels: Annotated[Counts, Field(description="States by label.")]
    depths: Annotated[dict[str, Counts], Field(description="By depth, 20.")]
    largest: Annotated[dict[str, Counts], Field(description="By theorem.")]
    attempted: Annotated[int, Field(description="Theorems.")]
    proved: Annotated[int, Field(description="Theorems.")]
    gave_up: Annotated[int, Field(description="By sorry only.")]
    states: Annotated[int, Field(description="Texts.")]
    candidates: Annotated[float, Field(description="Average.")]

    @classmethod
    def of_stats(cls, stats: "Stats", redactor: Redactor) -> Self:
        """Show what a store holds."""
        return cls(
            rows=stats.rows,
            kinds=stats.kinds,
            verdicts={redactor.redact(name): rows for name, rows in _most(stats.verdicts)},
            labels=_labels(stats.labels),
            depths={str(depth): _labels(labels) for depth, labels in list(stats.depths.items())[:20]},
            largest={redactor.redact(name): _labels(labels) for name, labels in stats.largest.items()},
            attempted=stats.proved.attempted,
            proved=stats.proved.proved,
            gave_up=stats.proved.gave_up,
            states=stats.unique_states,
            candidates=round(stats.candidates.average, 2),
        )


class DataSet(BaseModel):
    """A data set."""

    folder: Annotated[str, Field(description="In the store.")]
    lines: Annotated[Counts, Field(description="By file.")]
    sha256: Annotated[dict[str, str], Field(description="By file.")]
    unusable: Annotated[Counts, Field(description="By reason.")]
    remarks: Annotated[list[str], Field(description="Unexpected.")]

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
            remarks=list(manifest.remarks),
        )


class Embedded(BaseModel):
    """What was done."""

    encoded: Annotated[int, Field(description="New.")]
    known: Annotated[int, Field(description="Had one.")]
    refused: Annotated[Counts, Field(description="None, by reason.")]
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
    for name in _SHORT:
        value = row.get(name)
        if isinstance(value, str) and len(value) > _LONGEST_NAME:
            raise InvalidStepError(f"{name!r} has {len(value)} characters; at most {_LONGEST_NAME} fit there.")
    said = {name: value for name, value in row.items() if value is not None}  # null: nothing was said
    values: dict[str, Any] = {"origin": "agent", **said}
    return Step(**values)


def steps_of(rows: Sequence[Row]) -> list[Step]:
    """Return rows that an agent gives as steps.

    Raises:
        InvalidStepError: One does not fit; it is named by its place, from 0.
    """
    steps: list[Step] = []
    for place, row in enumerate(rows):
        try:
            step = step_of(row)
            step_line(step, row_id=step.row_id, now_ms=0, producer="")
        except InvalidStepError as error:
            raise InvalidStepError(f"steps[{place}]: {error} Nothing was stored.") from error
        steps.append(step)
    return steps


def row_of(step: Step) -> Row:
    """Return a step as an agent sees it: without what is at its default, and with long texts cut."""
    values = {name: getattr(step, name) for name in _NAMES}
    row = {name: value for name, value in values.items() if name in _ALWAYS or value != _DEFAULTS[name]}
    cut: Row = {}
    for most in _SHORTER:
        cut = {name: _cut(value, most) for name, value in row.items()}
        if size_of(cut) <= _LONGEST_ROW:
            break
    return cut


def size_of(row: Row) -> int:
    """Return how many characters an agent reads for a row."""
    return len(json.dumps(row, ensure_ascii=False))


def _cut(value: Any, most: int) -> Any:
    if isinstance(value, tuple | list):
        texts = cast("Sequence[str]", value)
        more = [f"… ({len(texts)} texts)"] if len(texts) > _MOST_TEXTS else []
        return [_cut(text, most) for text in texts[:_MOST_TEXTS]] + more
    if isinstance(value, str) and len(value) > most:
        return f"{value[:most]}… ({len(value)} characters)"
    return value


def _most(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_VERDICTS]


def _labels(labels: "LabelCounts") -> Counts:
    return {"positive": labels.positive, "negative": labels.negative, "unknown": labels.unknown}
