"""One step of an attempt, and the line of a write-ahead file that holds it."""

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from pydantic import ConfigDict, TypeAdapter

from ekiden_store.columns import COLUMNS, INTEGER_RANGES, Column, ColumnType, Kind, Label, Origin, Outcome
from ekiden_store.errors import InvalidStepError

MAX_LINE_BYTES = 64 << 20
_NAMES = tuple(column.name for column in COLUMNS)
_VALUES = operator.attrgetter(*_NAMES)
_TIME = next(column for column in COLUMNS if column.name == "timestamp_ms")
_SHOWN = 80
_EXACT = 2**53
_ROW = TypeAdapter(dict[str, object], config=ConfigDict(ser_json_inf_nan="constants"))  # thrice as fast as json


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One row: a node of a search, a tactic, a call of a tool or a model, a message or a verdict.

    Attributes:
        theorem_name: What was to be proved.
        kind: What the row tells of.
        state_id: The number of the state in its attempt.
        state_pp: The proof state after the tactic, its goals joined by a blank line; empty for a finished proof.
        tactic_applied: The tactic that led to the state; empty for the root.
        parent_state_id: The state that the tactic was applied to; None for the root.
        label: Whether the state lies on a proof.
        depth_from_root: How many tactics led here.
        remaining_depth: How many tactics were still needed on the labelled path; -1: not known.
        llm_log_prob: The log-probability that the model gave the tactic.
        ebm_score: What the value model gave the state, higher is better; see `scored`.
        is_proof_complete: Whether no goal is left.
        timestamp_ms: When it happened, in milliseconds since 1970; None: when it is appended.
        q_value: The mean value of the search below the state.
        visits: How often the search came to the state.
        row_id: Unique for ever; empty: the writer gives one. A row whose id the store already has is not stored again.
        run_id: The run.
        attempt_id: The attempt; states are numbered and steps ordered within it.
        step: The order within the attempt.
        iteration: The iteration of expert iteration.
        state_before: The proof state that the tactic was applied to.
        state_after: The proof state after it; None: there is none, or it is not known.
        outcome: Whether the tactic, tool or model did what it was asked.
        failure_kind: Why not.
        lean_messages: What Lean said.
        verdict: What the judge said.
        tool: The tool that was called.
        tool_input: What it was given.
        tool_output: What it answered.
        model: The model that was asked.
        prompt_sha256: The hash of what it was asked.
        settings_sha256: The hash of the settings of the run.
        temperature: The temperature that was asked for.
        tokens_in: Tokens that the model read.
        tokens_out: Tokens that it wrote.
        cost_nanodollars: What it cost, in 10⁻⁹ US dollars.
        duration_ms: How long it took.
        scored: Whether `ebm_score` is a score: 0.0 alone does not tell.
        origin: Where the row comes from.
        source: The file or session that it was imported from.
        producer: What made the row: Ekiden's version and component.
    """

    theorem_name: str
    kind: Kind
    state_id: int = 0
    state_pp: str = ""
    tactic_applied: str = ""
    parent_state_id: int | None = None
    label: Label = "unknown"
    depth_from_root: int = 0
    remaining_depth: int = -1
    llm_log_prob: float = 0.0
    ebm_score: float = 0.0
    is_proof_complete: bool = False
    timestamp_ms: int | None = None
    q_value: float = 0.0
    visits: int = 0
    row_id: str = ""
    run_id: str = ""
    attempt_id: str = ""
    step: int = 0
    iteration: int | None = None
    state_before: str | None = None
    state_after: str | None = None
    outcome: Outcome = ""
    failure_kind: str = ""
    lean_messages: Sequence[str] = ()
    verdict: str = ""
    tool: str = ""
    tool_input: str = ""
    tool_output: str = ""
    model: str = ""
    prompt_sha256: str = ""
    settings_sha256: str = ""
    temperature: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_nanodollars: int | None = None
    duration_ms: int | None = None
    scored: bool = False
    origin: Origin = "search"
    source: str = ""
    producer: str = ""


def step_line(step: Step, *, row_id: str, now_ms: int, producer: str) -> bytes:
    r"""Return a step as one line of JSON that ends in a line end; what is at its default is left out.

    Half of a surrogate pair, which no file can hold, becomes U+FFFD.

    Args:
        step: The step.
        row_id: Its id.
        now_ms: When it happened, if it does not say.
        producer: What made it, if it does not say.

    Raises:
        InvalidStepError: A value does not fit its column.
    """
    row: dict[str, object] = {}
    for column, value in zip(COLUMNS, _VALUES(step), strict=True):
        if value is column.default or (value == column.default and not _is_minus_zero(value)):
            continue
        if value is not None or column is not _TIME:
            row[column.name] = _fitting(column, value)
    if step.timestamp_ms is None:
        row["timestamp_ms"] = now_ms
    row["row_id"] = row_id
    if producer and not step.producer:
        row["producer"] = producer
    if not _is_text(row_id):
        raise InvalidStepError(f"The id {row_id!r} holds half of a surrogate pair, so no file can hold it.")
    line = _json(row) + b"\n"
    if len(line) > MAX_LINE_BYTES:
        raise InvalidStepError(
            f"A step of {step.theorem_name[:_SHOWN]!r} takes {len(line)} bytes; at most {MAX_LINE_BYTES} fit. "
            "Shorten its texts."
        )
    return line


def _json(row: dict[str, object]) -> bytes:
    try:
        return _ROW.dump_json(row)
    except ValueError:
        return _ROW.dump_json({name: _without_lone_surrogates(value) for name, value in row.items()})


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_lone_surrogates(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_without_lone_surrogates(item) for item in cast("list[object]", value)]
    return value


def _fitting(column: Column, value: object) -> object:
    if _FITS[column.type](value) and (not column.choices or value in column.choices):
        return list(cast("Sequence[str]", value)) if column.type == "texts" else value
    wanted = f"one of {', '.join(map(repr, column.choices))}" if column.choices else _WANTED[column.type]
    raise InvalidStepError(f"The column {column.name!r} holds {wanted}, not {_shown(value)}.")


def _is_minus_zero(value: object) -> bool:
    return isinstance(value, float) and math.copysign(1, value) < 0


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(item, str) for item in cast("Sequence[object]", value))


def _is_number(value: object) -> bool:
    return isinstance(value, float) or (type(value) is int and abs(value) < _EXACT)


def _is_whole_in(span: range) -> Callable[[object], bool]:
    return lambda value: type(value) is int and value in span


_FITS: dict[ColumnType, Callable[[object], bool]] = {
    "text": lambda value: isinstance(value, str),
    "texts": _is_list_of_texts,
    "bool": lambda value: isinstance(value, bool),
    "float64": _is_number,
    **{name: _is_whole_in(span) for name, span in INTEGER_RANGES.items()},
}

_WANTED = {
    "text": "a text",
    "texts": "a list of texts",
    "bool": "True or False",
    "float64": "a number",
    **{name: f"a whole number from {span.start} to {span.stop - 1}" for name, span in INTEGER_RANGES.items()},
}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
