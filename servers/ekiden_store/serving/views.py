"""A store as the settings describe it, and what people and programs are shown of it."""

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ekiden_store.columns import COLUMNS, LAST_STEP, STATE_KINDS
from ekiden_store.errors import StoreError
from ekiden_store.redaction.redactor import Redactor
from ekiden_store.serving.pages import bound_cursor, fitting, no_such_cursor, place_of
from ekiden_store.steps import Step
from ekiden_store.store import Store

if TYPE_CHECKING:
    from ekiden_config import StoreSettings
    from ekiden_store.snapshot import Snapshot

MOST_ROWS = 100_000
PAGE_LINES = 100
_LONGEST_LINE = 400
_LONGEST_PLACE = 10
_DEEPEST = 60
_NAMES = tuple(column.name for column in COLUMNS)
_TEXTS = frozenset(column.name for column in COLUMNS if column.type == "texts")


def open_store(settings: "StoreSettings", *, create: bool) -> Store:
    """Open the store of some settings.

    Args:
        settings: Where it is.
        create: Whether to make it if it is not there.

    Raises:
        StoreError: It is not there, or cannot be used.
    """
    folder = Path(settings.folder).expanduser()
    if not create and not folder.is_dir():
        raise StoreError(f"There is no trajectory store in {str(folder)!r} yet; it is made when something is stored.")
    return Store(folder, create=create)


def redactor_of(settings: "StoreSettings") -> Redactor:
    """Return what strikes out secrets, the values of the variables that some settings name among them."""
    return Redactor.for_environment(settings.redact)


def attempt_steps(
    snapshot: "Snapshot", attempt_id: str, *, run_id: str | None = None, most_rows: int = MOST_ROWS
) -> list[Step]:
    """Return all steps of an attempt and of those below it, in order.

    Args:
        snapshot: The store.
        attempt_id: The attempt.
        run_id: The run; None: any.
        most_rows: How many steps may be read.

    Raises:
        StoreError: There is no such attempt, it is too long, or several runs have one of that name.
    """
    from ekiden_store.arrow import pc

    name = pc.field("attempt_id")
    where: Any = (name == attempt_id) | pc.starts_with(name, pattern=f"{attempt_id}/")
    if run_id is not None:
        where = where & (pc.field("run_id") == run_id)
    snapshot = snapshot.narrowed(where)
    found = snapshot.count(where)
    if not found:
        raise StoreError(f"The store has no attempt {attempt_id!r}{f' of the run {run_id!r}' if run_id else ''}.")
    if found > most_rows:
        raise StoreError(f"The attempt {attempt_id!r} has {found} steps; at most {most_rows} are read.")
    steps = sorted(read_steps(snapshot, where), key=lambda step: (step.attempt_id, step.step))
    runs = sorted({step.run_id for step in steps})
    if len(runs) > 1:
        raise StoreError(f"Several runs have an attempt {attempt_id!r}: {', '.join(map(repr, runs[:5]))}. Name one.")
    return steps


def read_steps(snapshot: "Snapshot", where: Any = None) -> Iterator[Step]:
    """Yield the rows that a filter lets through as steps."""
    for batch in snapshot.scan(filter=where, batch_rows=1_000):
        yield from steps_of(batch)


def steps_of(rows: Any) -> Iterator[Step]:
    """Yield the rows of a table or a batch, which has all columns, as steps."""
    for row in rows.to_pylist():
        values: dict[str, Any] = {name: tuple(row[name]) if name in _TEXTS else row[name] for name in _NAMES}
        yield Step(**values)


def line_of_step(step: Step) -> str:
    """Return a step on one line."""
    what = {
        "tool_call": f"{step.tool}({_flat(step.tool_input)}) -> {_flat(step.tool_output)}",
        "model_call": f"{step.model or 'a model'}: {step.tokens_in or 0} tokens in, {step.tokens_out or 0} out",
        "message": f"{step.tool}: {_flat(step.tool_output or step.tool_input)}",
        "verdict": f"{step.verdict} {_flat(' '.join(step.lean_messages))}".rstrip(),
    }.get(
        step.kind
    ) or f"{_flat(step.tactic_applied) or '(root)'} => {_flat(step.state_pp) or 'no goals'} [{step.label}]"
    failed = f" failed{f': {step.failure_kind}' if step.failure_kind else ''}" if step.outcome == "failed" else ""
    return f"{place_of_step(step)} {step.kind} {what}{failed}"


def place_of_step(step: Step) -> str:
    """Return where a step stands in its attempt, as it is shown."""
    return "end" if step.step == LAST_STEP else str(step.step)


def tree_page(
    snapshot: "Snapshot", redactor: Redactor, *, theorem: str, run_id: str, attempt_id: str, cursor: str
) -> tuple[list[str], str]:
    """Return lines that show attempts, without secrets, and where to go on.

    Args:
        snapshot: The store.
        redactor: Strikes out secrets.
        theorem: Whose attempts; empty: all rows of the attempt are shown, not only states and tactics.
        run_id: Only of this run; empty: any.
        attempt_id: Only this; empty: all.
        cursor: Where the page before ended; empty: the first page.

    Raises:
        StoreError: There is nothing such, or the cursor is none.
    """
    if not theorem and not attempt_id:
        raise StoreError("Name a theorem, an attempt, or both.")
    place = place_of(cursor, theorem, run_id, attempt_id) or "0"
    if not place.isdecimal() or len(place) > _LONGEST_PLACE:
        raise no_such_cursor(cursor)
    first = int(place)
    if theorem:
        every = _tree_lines(snapshot, theorem, run_id, attempt_id)
    else:
        every = map(line_of_step, attempt_steps(snapshot, attempt_id, run_id=run_id or None))
    lines = list(islice(every, first, first + PAGE_LINES + 1))
    shown = fitting((_cut(redactor.redact(line)) for line in lines[:PAGE_LINES]), len)
    following = str(first + len(shown)) if len(lines) > len(shown) else ""
    return shown, bound_cursor(following, theorem, run_id, attempt_id)


class ShownAttempt(NamedTuple):
    """An attempt as it is shown.

    Attributes:
        attempt_id: The attempt.
        run_id: Its run.
        is_proved: Whether it completed a proof.
        nodes: How many states its tree has; 0: it holds calls, messages and verdicts alone.
        lines: A line for each node of its tree, or for each of its rows; secrets included.
    """

    attempt_id: str
    run_id: str
    is_proved: bool
    nodes: int
    lines: Iterable[str]

    @property
    def head(self) -> str:
        """What it is, on one line."""
        proved = "proved" if self.is_proved else "not proved"
        return f"{self.attempt_id or '(no attempt id)'} of {self.run_id or '(no run id)'}: {proved}"


def shown_attempts(snapshot: "Snapshot", theorem: str, *, run_id: str = "", attempt_id: str = "") -> list[ShownAttempt]:
    """Return the attempts at a theorem: their trees of states and tactics, or if none has any, their rows in order.

    Args:
        snapshot: The store.
        theorem: Its name.
        run_id: Only of this run; empty: any.
        attempt_id: Only this; empty: all.

    Raises:
        StoreError: There are too many rows.
    """
    from ekiden_store.queries.trees import read_trees, tree_lines

    trees = read_trees(snapshot, theorem=theorem, attempt_id=attempt_id or None, run_id=run_id or None)
    if trees:
        judged = _judged_attempts(snapshot, theorem)
        return [
            ShownAttempt(attempt, run, tree.is_proved or (run, attempt) in judged, len(tree.nodes), tree_lines(tree))
            for tree in trees
            for run, attempt, _ in (tree.key,)
        ]
    grouped = groupby(_rows_of(snapshot, theorem, run_id, attempt_id), key=lambda step: (step.run_id, step.attempt_id))
    return [
        ShownAttempt(attempt, run, any(map(_completes, steps)), 0, [line_of_step(step) for step in steps])
        for (run, attempt), steps in ((key, list(group)) for key, group in grouped)
    ]


def _judged_attempts(snapshot: "Snapshot", theorem: str) -> set[tuple[str, str]]:
    """Return the run and the id of the attempts at a theorem whose proof is completed by no state, as by a verdict."""
    from ekiden_store.arrow import pc

    where = (pc.field("theorem_name") == theorem) & ~pc.field("kind").isin(list(STATE_KINDS))
    where = where & pc.field("is_proof_complete") & (pc.field("outcome") != "failed")
    found = snapshot.narrowed(where).scan(columns=["run_id", "attempt_id"], filter=where)
    return {(row["run_id"], row["attempt_id"]) for batch in found for row in batch.to_pylist()}


def _completes(step: Step) -> bool:
    return step.is_proof_complete and step.outcome != "failed"


def _rows_of(snapshot: "Snapshot", theorem: str, run_id: str, attempt_id: str) -> list[Step]:
    """Return all rows of the attempts at a theorem, in order."""
    from ekiden_store.queries.row_filter import RowFilter

    runs = (run_id,) if run_id else ()
    attempts = (attempt_id,) if attempt_id else ()
    where = RowFilter(theorems=(theorem,), runs=runs, attempts=attempts).expression()
    snapshot = snapshot.narrowed(where)
    found = snapshot.count(where)
    if found > MOST_ROWS:
        raise StoreError(
            f"The attempts at {theorem!r} have {found} rows; at most {MOST_ROWS} are read. Name an attempt."
        )
    return sorted(read_steps(snapshot, where), key=lambda step: (step.run_id, step.attempt_id, step.step))


def _tree_lines(snapshot: "Snapshot", theorem: str, run_id: str, attempt_id: str) -> Iterator[str]:
    found = shown_attempts(snapshot, theorem, run_id=run_id, attempt_id=attempt_id)
    if not found:
        raise StoreError(f"The store has no such attempt at {theorem!r}.")
    for attempt in found:
        yield attempt.head
        yield from (f"  {line}" for line in attempt.lines)


def _cut(line: str) -> str:
    content = line.lstrip(" ")
    depth = len(line) - len(content)
    if depth > _DEEPEST:
        line = f"{' ' * _DEEPEST}({depth // 2} deep) {content}"
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"


def _flat(text: str) -> str:
    return " ".join(text.split())
