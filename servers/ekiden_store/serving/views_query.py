"""Rows of a store, a page at a time."""

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ekiden_store.arrow import pc
from ekiden_store.columns import Kind, Label
from ekiden_store.queries.row_filter import RowFilter, both
from ekiden_store.serving.pages import no_such_cursor
from ekiden_store.serving.views import read_steps
from ekiden_store.steps import Step

if TYPE_CHECKING:
    from ekiden_store.snapshot import Snapshot

_KEY = ("timestamp_ms", "step", "row_id")
_LONGEST_NUMBER = 20


def row_filter(theorem: str, run: str, attempt: str = "", kind: Kind | None = None, label: Label | None = None) -> Any:
    """Return an expression for the rows that all say so; None: all rows."""
    return RowFilter(
        theorems=(theorem,) if theorem else (),
        runs=(run,) if run else (),
        attempts=(attempt,) if attempt else (),
        kinds=(kind,) if kind else (),
        labels=(label,) if label else (),
    ).expression()


def newest_steps(snapshot: "Snapshot", where: Any, *, limit: int, cursor: str) -> tuple[list[Step], str]:
    """Return the newest steps, and where to go on; memory holds no more than those.

    Args:
        snapshot: The store.
        where: Which rows: a pyarrow expression; None: all.
        limit: At most how many.
        cursor: Where the page before ended; empty: the first page.

    Raises:
        StoreError: The cursor is none.
    """
    if cursor:
        where = both(where, _before(cursor))
    keys = heapq.nlargest(limit + 1, _keys(snapshot, where, limit + 1))
    if not keys:
        return [], ""
    wanted = both(where, pc.field("row_id").isin([key[2] for key in keys[:limit]]))
    found = {step.row_id: step for step in read_steps(snapshot.narrowed(wanted), wanted)}
    page = [found[key[2]] for key in keys[:limit]]
    return page, cursor_after(page[-1]) if len(keys) > limit else ""


def cursor_after(step: Step) -> str:
    """Return where a page begins that goes on behind a row."""
    return f"{step.timestamp_ms},{step.step},{step.row_id}"


def _keys(snapshot: "Snapshot", where: Any, most: int) -> Iterator[tuple[int, int, str]]:
    """Yield the keys of the rows that may be among so many newest."""
    for rows in snapshot.scan(columns=_KEY, filter=where):
        batch = rows.take(pc.select_k_unstable(rows, most, sort_keys=[(name, "descending") for name in _KEY]))
        yield from zip(*(batch.column(name).to_pylist() for name in _KEY), strict=True)


def _before(cursor: str) -> Any:
    time, _, rest = cursor.partition(",")
    step, _, row_id = rest.partition(",")
    are_numbers = all(text.isdecimal() and len(text) <= _LONGEST_NUMBER for text in (time, step))
    if not are_numbers or not row_id or max(int(time), int(step)) >= 2**63:
        raise no_such_cursor(cursor)
    when, at = pc.field("timestamp_ms"), pc.field("step")
    same = when == int(time)
    return (when < int(time)) | (same & (at < int(step))) | (same & (at == int(step)) & (pc.field("row_id") < row_id))
