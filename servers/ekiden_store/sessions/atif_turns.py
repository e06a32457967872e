"""Turns of ATIF as rows, and rows as turns of ATIF.

A turn is one object of a trajectory's `steps`. What ATIF says in its own words becomes a column. What it can say and a
row cannot is kept as JSON in a row of its own: a `message` whose `tool` is `atif`, before the rows of its turn.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import cast

from ekiden_store.columns import INTEGER_RANGES, Kind
from ekiden_store.sessions.rows import compact, content_text, count_at, dict_at, list_at, milliseconds, text_at
from ekiden_store.steps import Step

Json = dict[str, object]
MARK = "atif"
_BY_MODEL = frozenset({"assistant", "reasoning"})
_COUNTS = "cached_tokens"
_NANO = 10**9
_NAMES = frozenset(
    {
        *("source", "timestamp", "model_name", "reasoning_effort", "message", "reasoning_content", "tool_calls"),
        *("observation", "metrics", "extra", "llm_call_count", "is_copied_context"),
    }
)


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What the rows of a trajectory have in common.

    Attributes:
        blank: A row with the columns that all share.
        model: The model of turns that name none.
    """

    blank: Step
    model: str = ""

    def row(self, kind: Kind, at_ms: int, **columns: object) -> Step:
        """Return a row."""
        return replace(self.blank, kind=kind, timestamp_ms=at_ms, **columns)  # pyright: ignore[reportArgumentType]  # columns by their names


def turns_of(rows: Sequence[Step]) -> list[list[Step]]:
    """Split rows into turns: one answer of a model with what it called, or one message to it."""
    turns: list[list[Step]] = []
    for row in rows:
        last = turns[-1] if turns else []
        if last and _belongs(row, last):
            last.append(row)
        else:
            turns.append([row])
    return turns


def _belongs(row: Step, turn: list[Step]) -> bool:
    """Tell whether a row goes on with a turn."""
    if _is_mark(row):
        return False
    if len(turn) == 1 and _is_mark(turn[0]):
        return True
    before = turn[-1]
    if row.kind == "tool_call":
        return before.kind in {"tool_call", "model_call"} or _is_said(before)
    return _is_said(row) and (before.kind == "model_call" or _is_said(before))


def turn_of(rows: Sequence[Step], number: int, model: str) -> Json:
    """Return rows as a turn of ATIF, in its own words alone.

    Args:
        rows: The rows of one turn.
        number: The place of the turn, from 1.
        model: The model of turns that name none.
    """
    kept: Json = {}
    if _is_mark(rows[0]):
        kept = parsed(rows[0].tool_output)
        rows = rows[1:]
    turn: Json = {"step_id": number, "source": "agent"}
    if rows and rows[0].timestamp_ms:
        turn["timestamp"] = _timestamp(rows[0].timestamp_ms)
    if len(rows) == 1 and rows[0].kind == "message" and not _is_said(rows[0]):
        turn |= {"source": "user" if rows[0].tool == "user" else "system", "message": rows[0].tool_input}
    elif len(rows) == 1 and rows[0].kind == "verdict":
        turn |= {"source": "system", "message": rows[0].verdict}
    else:
        ids = [str(one) for one in list_at(kept, "call_ids")]
        turn |= _answer(rows, ids, number, model)
    for name, value in kept.items():
        if name in _NAMES:
            turn[name] = value
    return {name: value for name, value in turn.items() if value is not None}


def rows_of(turn: Mapping[str, object], context: TurnContext) -> list[Step]:
    """Return a turn of ATIF as rows; `turn_of` gives the same turn again."""
    turn = {name: value for name, value in turn.items() if value is not None}
    number = count_at(turn, "step_id") or 0
    rows = _spoken_rows(turn, context)
    ids = [text_at(call, "tool_call_id") for call in list_at(turn, "tool_calls")]
    kept: Json = {} if ids == _call_ids(number, len(ids)) else {"call_ids": ids}
    again = turn_of([_mark(kept, context), *rows] if kept else rows, number, context.model)
    kept |= {name: turn.get(name) for name in (*turn, *again) if turn.get(name) != again.get(name)}
    is_plain = rows[0].kind == "model_call" or turn.get("source") != "agent"
    return rows if is_plain and not kept else [_mark(kept, context), *rows]


def parsed(text: str) -> Json:
    """Return the object that a text holds as JSON; empty if it holds none."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("Json", value) if isinstance(value, dict) else {}


def _mark(kept: Json, context: TurnContext) -> Step:
    return context.row("message", 0, tool=MARK, tool_output=compact(dict(sorted(kept.items()))))


def _is_mark(row: Step) -> bool:
    return row.kind == "message" and row.tool == MARK


def _is_said(row: Step) -> bool:
    return row.kind == "message" and row.tool in _BY_MODEL


def _answer(rows: Sequence[Step], ids: list[str], number: int, model: str) -> Json:
    """Return what an agent did in a turn."""
    calls = [row for row in rows if row.kind in {"tool_call", "tactic", "search_node"}]
    ids = ids if len(ids) == len(calls) else _call_ids(number, len(calls))
    said = {who: [row.tool_output for row in rows if row.kind == "message" and row.tool == who] for who in _BY_MODEL}
    turn: Json = {"message": "\n\n".join(said["assistant"])}
    if said["reasoning"]:
        turn["reasoning_content"] = "\n\n".join(said["reasoning"])
    asked = next((row for row in rows if row.kind == "model_call"), None)
    if asked is not None:
        turn["model_name"] = asked.model if asked.model != model else None
        turn["metrics"] = _metrics(asked) or None
    elif not said["reasoning"]:
        turn["llm_call_count"] = 0
    if calls:
        turn["tool_calls"] = [
            {"tool_call_id": one, "function_name": _function(row), "arguments": _arguments(row)}
            for one, row in zip(ids, calls, strict=True)
        ]
    results = [
        {"source_call_id": one, "content": output}
        for one, row in zip(ids, calls, strict=True)
        if (output := row.tool_output if row.kind == "tool_call" else row.state_pp)
    ]
    if results:
        turn["observation"] = {"results": results}
    return turn


def _function(row: Step) -> str:
    return row.tool if row.kind == "tool_call" else row.kind


def _arguments(row: Step) -> Json:
    if row.kind != "tool_call":
        state = {"state": row.state_before} if row.state_before is not None else {}
        return {"tactic": row.tactic_applied, **state}
    if not row.tool_input:
        return {}
    value = parsed(row.tool_input)
    return value if value or row.tool_input.strip() == "{}" else {"input": row.tool_input}


def _given(arguments: Json) -> str:
    text = arguments.get("input")
    if len(arguments) == 1 and isinstance(text, str) and text and not parsed(text) and text.strip() != "{}":
        return text  # what a tool was given that takes no JSON
    return compact(arguments) if arguments else ""


def _metrics(row: Step) -> Json:
    more = parsed(row.tool_output)
    metrics: Json = {
        "prompt_tokens": row.tokens_in,
        "completion_tokens": row.tokens_out,
        _COUNTS: count_at(more, _COUNTS),
        "cost_usd": None if row.cost_nanodollars is None else row.cost_nanodollars / _NANO,
        "extra": {name: value for name, value in more.items() if name != _COUNTS} or None,
    }
    return {name: value for name, value in metrics.items() if value is not None}


def _spoken_rows(turn: Mapping[str, object], context: TurnContext) -> list[Step]:
    """Return the rows for what ATIF says in its own words."""
    at_ms = milliseconds(turn.get("timestamp"), 0)
    text = content_text(turn.get("message"))
    if turn.get("source") != "agent":
        return [context.row("message", at_ms, tool=text_at(turn, "source"), tool_input=text)]
    rows: list[Step] = []
    if turn.get("llm_call_count") != 0:
        rows.append(_model_row(turn, at_ms, context))
    if reasoning := text_at(turn, "reasoning_content"):
        rows.append(context.row("message", at_ms, tool="reasoning", tool_output=reasoning))
    calls = list_at(turn, "tool_calls")
    if text or not (rows or calls):
        rows.append(context.row("message", at_ms, tool="assistant", tool_output=text))
    outputs = {text_at(one, "source_call_id"): one for one in list_at(turn, "observation", "results")}
    for call in calls:
        output = content_text(dict_at(outputs.get(text_at(call, "tool_call_id"))).get("content"))
        given = _given(dict_at(call, "arguments"))
        rows.append(
            context.row("tool_call", at_ms, tool=text_at(call, "function_name"), tool_input=given, tool_output=output)
        )
    return rows


def _model_row(turn: Mapping[str, object], at_ms: int, context: TurnContext) -> Step:
    metrics = dict_at(turn, "metrics")
    cost = metrics.get("cost_usd")
    nano = round(Decimal(str(cost)) * _NANO) if isinstance(cost, int | float) and abs(cost) < 1e9 else None
    more = {name: value for name, value in ((_COUNTS, metrics.get(_COUNTS)),) if value is not None}
    more |= dict_at(metrics, "extra")
    return context.row(
        "model_call",
        at_ms,
        model=text_at(turn, "model_name") or context.model,
        tokens_in=count_at(metrics, "prompt_tokens"),
        tokens_out=count_at(metrics, "completion_tokens"),
        cost_nanodollars=nano if nano is not None and nano in INTEGER_RANGES["int64"] else None,
        tool_output=compact(more) if more else "",
    )


def _call_ids(number: int, calls: int) -> list[str]:
    return [f"call_{number}_{place}" for place in range(1, calls + 1)]


def _timestamp(at_ms: int) -> str | None:
    try:
        at = datetime.fromtimestamp(at_ms // 1000, UTC).replace(microsecond=at_ms % 1000 * 1000)
    except (ValueError, OverflowError, OSError):
        return None  # later than the year 9999
    return at.isoformat(timespec="milliseconds" if at_ms % 1000 else "seconds").replace("+00:00", "Z")
