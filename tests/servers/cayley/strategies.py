"""Random laws and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import strategies as st

from ekiden_magma import CayleyTable, Law, Product, Term, Variable

if TYPE_CHECKING:
    from numpy.typing import NDArray


def terms(max_leaves: int, names: str) -> st.SearchStrategy[Term]:
    leaves: st.SearchStrategy[Term] = st.sampled_from(names).map(Variable)
    return st.recursive(leaves, lambda inner: st.builds(Product, inner, inner), max_leaves=max_leaves)


def laws(max_leaves: int = 6, names: str = "xyzwuv") -> st.SearchStrategy[Law]:
    return st.builds(Law, terms(max_leaves, names), terms(max_leaves, names))


@st.composite
def stacks_of_tables(draw: st.DrawFn, max_order: int = 4, max_size: int = 12) -> NDArray[np.uint8]:
    """Tables of one order: some random, some linear, so that laws hold often enough."""
    order = draw(st.integers(1, max_order))
    element = st.integers(0, order - 1)
    tables: list[NDArray[np.uint8]] = []
    for _ in range(draw(st.integers(0, max_size))):
        if draw(st.booleans()):
            a, b, c = draw(element), draw(element), draw(element)
            x, y = np.indices((order, order))
            tables.append(((a * x + b * y + c) % order).astype(np.uint8))
        else:
            cells = draw(st.lists(element, min_size=order * order, max_size=order * order))
            tables.append(np.array(cells, dtype=np.uint8).reshape(order, order))
    return np.array(tables, dtype=np.uint8).reshape(-1, order, order)


def as_magmas(tables: NDArray[np.uint8]) -> list[CayleyTable]:
    return [CayleyTable.from_flat(table.ravel().tolist()) for table in tables]
