"""Which tables of a fixed collection satisfy a law, remembered as bits.

Batches share laws: with the bits of both laws at hand, looking up a pair costs microseconds.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ekiden_cayley.kernels import satisfied

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_cayley.stop import Stop
    from ekiden_magma import Law

Tables = NDArray[np.uint8]

REMEMBERED_LAWS = 16384
DIRECT_PRODUCTS = 20_000_000
LARGEST_GROUND = 400_000


class Signatures:
    """The truth of laws on the tables of some stacks, each of one order, in that order."""

    def __init__(self, stacks: Sequence[Tables]) -> None:
        self._stacks = tuple(stacks)
        self._known: OrderedDict[Law, bytes] = OrderedDict()
        self._lock = threading.Lock()  # guards `_known`, which many searches share

    @property
    def tables(self) -> int:
        """How many tables there are."""
        return sum(len(stack) for stack in self._stacks)

    def first_refuting(self, law1: Law, law2: Law, stop: Stop) -> Tables | None:
        """Return the first table that satisfies law 1 and breaks law 2.

        Raises:
            StoppedError: `stop` expired first.
        """
        holds1 = self._of(law1, stop)
        if not any(holds1):
            return None
        holds2 = self._of(law2, stop)
        number = int.from_bytes(holds1, "big") & ~int.from_bytes(holds2, "big")
        if not number:
            return None
        index = 8 * len(holds1) - number.bit_length()
        for stack in self._stacks:
            if index < len(stack):
                return stack[index]
            index -= len(stack)
        raise AssertionError("a bit beyond the last table")

    def _of(self, law: Law, stop: Stop) -> bytes:
        with self._lock:
            known = self._known.get(law)
            if known is not None:
                self._known.move_to_end(law)
                return known
        bits = np.concatenate([truths(law, stack, stop) for stack in self._stacks]) if self._stacks else np.zeros(0)
        packed = np.packbits(bits.astype(np.bool_)).tobytes()
        with self._lock:
            self._known[law] = packed
            if len(self._known) > REMEMBERED_LAWS:
                self._known.popitem(last=False)
        return packed


def truths(law: Law, tables: Tables, stop: Stop) -> NDArray[np.bool_]:
    """Tell which tables satisfy a law; a law with too many ground instances counts as failing.

    Raises:
        StoppedError: `stop` expired first. Small jobs are done without asking it.
    """
    if not is_affordable(law, tables.shape[1]):
        return np.zeros(len(tables), dtype=np.bool_)
    products = len(tables) * tables.shape[1] ** len(law.variables) * law.operations
    return satisfied(law, tables, stop=stop if products > DIRECT_PRODUCTS else None)


def is_affordable(law: Law, order: int) -> bool:
    """Tell whether checking a law on one table of an order takes at most a fraction of a second."""
    return order ** len(law.variables) <= LARGEST_GROUND
