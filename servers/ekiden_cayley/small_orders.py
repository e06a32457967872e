"""All magmas of order 1, 2 and 3, one of each isomorphism class."""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ekiden_cayley.errors import CayleyError

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST_ORDER = 3


@lru_cache(maxsize=LARGEST_ORDER)
def all_magmas(order: int) -> NDArray[np.uint8]:
    """Return every magma of one order up to isomorphism: 1, 10 and 3,330 tables for orders 1, 2 and 3.

    Of each class the table whose cells, read row by row, come first. The transpose of a table is isomorphic to another.

    Returns:
        A read-only array of shape (m, order, order), in lexicographic order of the cells.

    Raises:
        CayleyError: The order is not 1, 2 or 3; order 4 has 178,981,952 magmas.
    """
    if not 1 <= order <= LARGEST_ORDER:
        raise CayleyError(f"All magmas are known for orders 1 to {LARGEST_ORDER}, not for {order!r}.")
    cells = order * order
    weights = np.power(order, np.arange(cells - 1, -1, -1))
    count: int = order**cells
    codes = np.arange(count)
    tables = (codes[:, None] // weights % order).astype(np.uint8).reshape(-1, order, order)
    is_first = np.ones(len(tables), dtype=np.bool_)
    for images in itertools.permutations(range(order)):
        renaming = np.array(images, dtype=np.uint8)
        inverse = np.argsort(renaming)
        renamed = renaming[tables[:, inverse][:, :, inverse]]
        is_first &= renamed.reshape(-1, cells).astype(np.int64) @ weights >= codes
    result = tables[is_first]
    result.setflags(write=False)
    return result
