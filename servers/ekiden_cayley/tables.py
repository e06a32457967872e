"""Which laws hold on one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ekiden_cayley.errors import CayleyError, StoppedError
from ekiden_cayley.kernels import satisfied_many
from ekiden_cayley.search import failing_assignment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_cayley.stop import Stop
    from ekiden_magma import Assignment, CayleyTable, Law

MAX_PRODUCTS = 10_000_000_000


def laws_that_hold(table: CayleyTable, laws: Sequence[Law], stop: Stop) -> list[Law]:
    """Return those of some laws that a table satisfies, in their order.

    Raises:
        CayleyError: The table is too large for one of the laws.
        StoppedError: `stop` expired first.
    """
    return [law for law, holds in zip(laws, _truths(table, laws, stop), strict=True) if holds]


def failures(table: CayleyTable, laws: Sequence[Law], stop: Stop) -> list[Assignment | None]:
    """Return for each law None if the table satisfies it, else values under which it fails.

    Raises:
        CayleyError: The table is too large for one of the laws.
        StoppedError: `stop` expired first.
    """
    return [
        None if holds else failing_assignment(table, law)
        for law, holds in zip(laws, _truths(table, laws, stop), strict=True)
    ]


def _truths(table: CayleyTable, laws: Sequence[Law], stop: Stop) -> list[bool]:
    for law in laws:
        products = table.order ** len(law.variables) * max(law.operations, 1)
        if products > MAX_PRODUCTS:
            raise CayleyError(
                f"Checking {str(law)!r} on a table of order {table.order} takes {products} products; "
                f"at most {MAX_PRODUCTS} are computed. Use a smaller table or a law with fewer variables."
            )
    try:
        return satisfied_many(laws, np.array([table.rows], dtype=np.uint8), stop=stop)[:, 0].tolist()
    except StoppedError as error:
        raise StoppedError("The time ran out before all laws were checked; ask about fewer laws.") from error
