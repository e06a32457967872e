"""Pages: as much as a model reads at once, and where to go on."""

import hashlib
from collections.abc import Callable, Iterable
from typing import TypeVar

from ekiden_store.errors import StoreError

PAGE_CHARS = 20_000
"""What a page holds at most, unless its first row alone is longer: some 5,000 to 8,000 tokens."""
_LONGEST_CURSOR = 2_000
_MARK = 6
_Row = TypeVar("_Row")


def fitting(rows: Iterable[_Row], size: Callable[[_Row], int]) -> list[_Row]:
    """Return the first of some rows, as many as a page holds; always one, if there is one."""
    taken: list[_Row] = []
    room = PAGE_CHARS
    for row in rows:
        room -= size(row)
        if taken and room < 0:
            break
        taken.append(row)
    return taken


def bound_cursor(place: str, *question: str) -> str:
    """Return a cursor for a place in the answer to a question; empty: there is nothing more."""
    return f"{_mark(question)}.{place}" if place else ""


def place_of(cursor: str, *question: str) -> str:
    """Return the place that a cursor tells; empty: the first page.

    Raises:
        StoreError: It is none, or that of another question.
    """
    if not cursor:
        return ""
    mark, dot, place = cursor.partition(".")
    if len(cursor) > _LONGEST_CURSOR or not dot or not place or len(mark) != _MARK:
        raise no_such_cursor(cursor)
    if mark != _mark(question):
        raise StoreError(
            f"The cursor {cursor[:80]!r} goes on with another question. "
            "Give the arguments of the call that it came from, or no cursor."
        )
    return place


def no_such_cursor(cursor: str) -> StoreError:
    """Return what is said of a cursor that is none."""
    return StoreError(f"There is no such cursor: {cursor[:80]!r}. Give the next_cursor of the page before.")


def _mark(question: tuple[str, ...]) -> str:
    return hashlib.sha256("\0".join(question).encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
