"""The other side of the benchmarks: the same searches as plain Python loops, written as one would by hand."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from ekiden_magma import Law, Term, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Rows = list[list[int]]


def holds(law: Law) -> Callable[[Rows], bool]:
    """Return a function that evaluates a law on a table for all assignments until one fails."""
    names = ", ".join(law.variables)
    both_sides = f"{_expression(law.left)} == {_expression(law.right)}"
    equal = eval(f"lambda t, {names}: {both_sides}")
    return lambda rows: all(
        equal(rows, *values) for values in itertools.product(range(len(rows)), repeat=len(law.variables))
    )


def _expression(term: Term) -> str:
    if isinstance(term, Variable):
        return term.name
    return f"t[{_expression(term.left)}][{_expression(term.right)}]"


def all_tables(order: int) -> Iterable[Rows]:
    for cells in itertools.product(range(order), repeat=order * order):
        yield [list(cells[i * order : (i + 1) * order]) for i in range(order)]


def first_refuting(law1: Law, law2: Law, tables: Iterable[Rows]) -> Rows | None:
    holds1, holds2 = holds(law1), holds(law2)
    return next((rows for rows in tables if holds1(rows) and not holds2(rows)), None)
