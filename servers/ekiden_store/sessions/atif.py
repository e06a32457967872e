"""Attempts as trajectories of ATIF 1.8, and back.

Nothing is lost either way. What a row holds and ATIF has no word for goes under `extra.ekiden`; what ATIF holds and a
row has no column for goes into rows of its own (see `atif_turns`), and one at the head of the attempt.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import cast

from ekiden_store.columns import COLUMNS
from ekiden_store.errors import StoreError
from ekiden_store.sessions.atif_turns import MARK, Json, TurnContext, parsed, rows_of, turn_of, turns_of
from ekiden_store.sessions.rows import compact, count_at, dict_at, list_at, text_at
from ekiden_store.steps import Step

ATIF_VERSION = "ATIF-v1.8"
_HEAD = "trajectory"
_OURS = "ekiden"
_AGENT = re.compile(r"([A-Za-z][\w.-]*) (\d[\w.+-]*)(?: |$)")
_OWN = frozenset(
    {"row_id", "step", "kind", "attempt_id", "timestamp_ms", "tool", "tool_input", "tool_output", "outcome"}
)
_SHARED = tuple(column.name for column in COLUMNS if column.name not in _OWN)
_FLOATS = frozenset(column.name for column in COLUMNS if column.type == "float64")
_NAMES = frozenset(column.name for column in COLUMNS)
_DEFAULTS = {column.name: column.default for column in COLUMNS}
_ROOT_NAMES = frozenset(
    {
        *("schema_version", "session_id", "trajectory_id", "agent", "notes", "final_metrics"),
        *("continued_trajectory_ref", "extra"),
    }
)
_LARGEST_FILE = 1 << 30


def export_attempt(steps: Iterable[Step]) -> Json:
    """Return an attempt as a trajectory, checked against ATIF.

    Args:
        steps: The steps of the attempt, in any order; those of attempts below it (`ATTEMPT/NAME`) become the
            trajectories of its subagents. Strike out secrets before.

    Raises:
        StoreError: There are no steps, or they belong to several attempts.
    """
    rows: dict[str, list[Step]] = {}
    for step in steps:
        rows.setdefault(step.attempt_id, []).append(step)
    root = min(rows, key=len, default=None)
    if root is None:
        raise StoreError("There are no steps to export.")
    if others := [name for name in rows if name != root and not name.startswith(f"{root}/")]:
        raise StoreError(f"The steps belong to several attempts, such as {root!r} and {others[0]!r}; export one.")
    trajectory = _exported(root, root, rows)
    _require_valid(trajectory)
    return trajectory


def import_trajectory(
    trajectory: Mapping[str, object], *, theorem_name: str = "", run_id: str = "", file: str = ""
) -> list[Step]:
    """Return a trajectory as steps, with those of its subagents.

    Args:
        trajectory: The trajectory, as JSON has it.
        theorem_name: What was to be proved, if the trajectory does not say.
        run_id: The run it belongs to, if it does not say.
        file: The name of the file it comes from.

    Raises:
        StoreError: It is no trajectory of ATIF.
    """
    _require_valid(trajectory)
    named = text_at(trajectory, "trajectory_id") or text_at(trajectory, "session_id")
    content = json.dumps(trajectory, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
    attempt = named or hashlib.sha256(content).hexdigest()[:32]
    return _imported(dict(trajectory), attempt, theorem_name, run_id, file)


def read_trajectory(path: Path, *, theorem_name: str = "", run_id: str = "") -> list[Step]:
    """Return the trajectory of a file as steps; see `import_trajectory`.

    Raises:
        StoreError: It cannot be read, or is no trajectory of ATIF.
    """
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise StoreError(f"{str(path)!r} is larger than {_LARGEST_FILE} bytes.")
        value: object = json.loads(path.read_bytes())
    except OSError as error:
        raise StoreError(f"The trajectory {str(path)!r} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{str(path)!r} is no JSON: {error}.") from error
    if not isinstance(value, dict):
        raise StoreError(f"{str(path)!r} is no trajectory of ATIF: it holds no object.")
    return import_trajectory(cast("Json", value), theorem_name=theorem_name, run_id=run_id, file=path.name)


def _exported(attempt: str, name: str, every: Mapping[str, list[Step]]) -> Json:
    """Return an attempt and those below it; `name` is what it is called within the one above."""
    rows = sorted(every.get(attempt, []), key=lambda row: row.step)
    kept: Json = {}
    spoken = rows
    if rows and _is_head(rows[0]):
        told = parsed(rows[0].tool_output)
        kept, spoken = {name: value for name, value in told.items() if name in _ROOT_NAMES}, rows[1:]
    shared = _shared(rows)
    model = text_at(kept, "agent", "model_name") if "agent" in kept else _only_model(spoken)
    context = _context(attempt, shared, model)
    place = place_of_first = len(rows) - len(spoken)
    turns: list[Json] = []
    for number, turn_rows in enumerate(turns_of(spoken), 1):
        turn = turn_of(turn_rows, number, model)
        expected = _numbered(rows_of(turn, context), attempt, place)
        place += len(expected)
        if (untold := _told(turn_rows, expected, context)) is not None:
            turn["extra"] = {**dict_at(turn, "extra"), _OURS: untold}
        turns.append(turn)
    root = _root(name, rows, turns, model) | kept
    ours: Json = {"attempt": attempt, "columns": shared}
    if place_of_first:
        ours["head"] = _difference(rows[0], _head({}, context, attempt))
    root["extra"] = {**dict_at(root, "extra"), _OURS: ours}
    if below := _children(attempt, every):
        root["subagent_trajectories"] = [_exported(one, one.removeprefix(f"{attempt}/"), every) for one in below]
    return {key: value for key, value in root.items() if value is not None}


def _imported(trajectory: Json, attempt: str, theorem_name: str, run_id: str, file: str) -> list[Step]:
    trajectory = {key: value for key, value in trajectory.items() if value is not None}
    ours = _taken(trajectory)
    named = text_at(trajectory, "trajectory_id") or attempt
    attempt = text_at(ours, "attempt") if "attempt" in ours else attempt
    agent = dict_at(trajectory, "agent")
    source = f"{text_at(agent, 'name')} {text_at(agent, 'version')} {file}".strip()
    shared = dict_at(ours, "columns") if ours else {"origin": "import", "source": source}
    shared |= {
        name: value
        for name, value in (("theorem_name", theorem_name), ("run_id", run_id))
        if value and name not in shared
    }
    model = text_at(agent, "model_name")
    context = _context(attempt, shared, model)
    rows: list[Step] = []
    turns: list[Json] = []
    for turn in (dict(dict_at(one)) for one in list_at(trajectory, "steps")):
        told = _taken(turn)
        turns.append(turn)
        expected = _numbered(rows_of(turn, context), attempt, len(rows) + ("head" in ours))
        rows += _untold(told, expected, context)
    if "head" in ours:
        rows.insert(0, _with(_head({}, context, attempt), dict_at(ours, "head")))
    elif not ours and (kept := _kept_of(trajectory, _root(named, [context.blank], turns, _only_model(rows)))):
        rows = [_head(kept, context, attempt), *_numbered(rows, attempt, 1)]
    for one in list_at(trajectory, "subagent_trajectories"):
        rows += _imported(dict_at(one), f"{attempt}/{text_at(one, 'trajectory_id')}", theorem_name, run_id, file)
    return rows


def _root(name: str, rows: Sequence[Step], turns: Sequence[Json], model: str) -> Json:
    """Return a trajectory as its rows tell it."""
    told = next((found for row in rows if (found := _AGENT.match(row.source))), None)
    metrics = [dict_at(turn, "metrics") for turn in turns]
    names = {"total_prompt_tokens": "prompt_tokens", "total_completion_tokens": "completion_tokens"}
    names["total_cached_tokens"] = "cached_tokens"
    totals: Json = {}
    for total, one in names.items():
        counts = [count for each in metrics if (count := count_at(each, one)) is not None]
        if counts:
            totals[total] = sum(counts)
    costs = [cost for each in metrics if isinstance(cost := each.get("cost_usd"), int | float)]
    if costs:
        totals["total_cost_usd"] = math.fsum(costs)
    agent: Json = {"name": told.group(1) if told else _OURS, "version": told.group(2) if told else version("ekiden")}
    if model:
        agent["model_name"] = model
    totals["total_steps"] = len(turns)
    return {
        "schema_version": ATIF_VERSION,
        "trajectory_id": name,
        "agent": agent,
        "steps": list(turns),
        "final_metrics": totals,
    }


def _kept_of(trajectory: Json, root: Json) -> Json:
    """Return what a trajectory says otherwise than its rows would."""
    names = {*trajectory, *root} - {"steps", "subagent_trajectories"}
    return {name: trajectory.get(name) for name in sorted(names) if trajectory.get(name) != root.get(name)}


def _head(kept: Json, context: TurnContext, attempt: str) -> Step:
    return _numbered([context.row("message", 0, tool=_HEAD, tool_output=compact(kept))], attempt, 0)[0]


def _is_head(row: Step) -> bool:
    return row.kind == "message" and row.tool == _HEAD


def _children(attempt: str, every: Mapping[str, list[Step]]) -> list[str]:
    """Return the attempts that are below this one, and below none between."""
    below = sorted(name for name in every if name.startswith(f"{attempt}/"))
    return [name for name in below if not any(name.startswith(f"{other}/") for other in below)]


def _context(attempt: str, shared: Json, model: str) -> TurnContext:
    blank = Step(theorem_name="", kind="message", attempt_id=attempt, timestamp_ms=0)
    return TurnContext(_with(blank, shared), model)


def _shared(rows: Sequence[Step]) -> Json:
    """Return the columns in which all rows are alike, and not as they are by default."""
    if not rows:
        return {}
    alike = [name for name in _SHARED if len({_plain(getattr(row, name)) for row in rows}) == 1]
    return {name: _jsonable(getattr(rows[0], name)) for name in alike if getattr(rows[0], name) != _DEFAULTS[name]}


def _only_model(rows: Sequence[Step]) -> str:
    models = {row.model for row in rows if row.kind == "model_call"}
    return models.pop() if len(models) == 1 else ""


def _numbered(rows: Sequence[Step], attempt: str, first: int) -> list[Step]:
    return [_with(row, {"row_id": f"{MARK}:{attempt}:{at}", "step": at}) for at, row in enumerate(rows, first)]


def _told(rows: Sequence[Step], expected: Sequence[Step], context: TurnContext) -> Json | None:
    """Return what a turn does not tell of its rows; None if it tells all."""
    if len(rows) != len(expected):
        return {"whole": [_difference(row, context.blank) for row in rows]}
    differences = [_difference(row, one) for row, one in zip(rows, expected, strict=True)]
    return {"rows": differences} if any(differences) else None


def _untold(told: Json, expected: list[Step], context: TurnContext) -> list[Step]:
    if "whole" in told:
        return [_with(context.blank, dict_at(one)) for one in list_at(told, "whole")]
    differences = [dict_at(one) for one in list_at(told, "rows")]
    differences += [{}] * (len(expected) - len(differences))
    return [_with(row, one) for row, one in zip(expected, differences, strict=False)]


def _difference(row: Step, other: Step) -> Json:
    names = (column.name for column in COLUMNS)
    return {
        name: _jsonable(value) for name in names if _plain(value := getattr(row, name)) != _plain(getattr(other, name))
    }


def _with(row: Step, columns: Mapping[str, object]) -> Step:
    values: dict[str, object] = {name: getattr(row, name) for name in _NAMES}
    for name, value in columns.items():
        if name in _NAMES:
            is_spelt = name in _FLOATS and isinstance(value, str)
            values[name] = float(value) if is_spelt else tuple(value) if isinstance(value, list) else value  # pyright: ignore[reportArgumentType, reportUnknownArgumentType]  # a list is of texts
    return Step(**values)  # pyright: ignore[reportArgumentType]  # columns by their names


def _plain(value: object) -> object:
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


def _jsonable(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value


def _taken(holder: Json) -> Json:
    """Take what is ours out of `extra`."""
    extra = dict(dict_at(holder, "extra"))
    if _OURS not in extra:
        return {}
    ours = dict_at({"ours": extra.pop(_OURS)}, "ours")
    if extra:
        holder["extra"] = extra
    else:
        del holder["extra"]
    return ours


def _require_valid(trajectory: Mapping[str, object]) -> None:
    import atif
    from pydantic import ValidationError

    try:
        atif.Trajectory.model_validate(trajectory)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise StoreError(
            f"It is no trajectory of ATIF: {place}: {first['msg']} ({error.error_count()} errors)."
        ) from error
    told = trajectory.get("schema_version")
    if not isinstance(told, str) or not re.fullmatch(r"ATIF-v1\.\d+", told):
        raise StoreError(f"The trajectory is of {told!r}; versions 1.x of ATIF are read.")
