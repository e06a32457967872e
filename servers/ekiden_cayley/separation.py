"""Which ordered pairs of laws a collection of magmas separates.

A magma separates (law 1, law 2) when it satisfies law 1 and not law 2. Relations are rows of packed bits; as bytes,
bit j of a row is `row[j >> 3] >> (j & 7) & 1`.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_cayley.kernels import Truths

Words = NDArray[np.uint64]


def packed_words(truths: Truths) -> Words:
    """Pack the last axis of an array of truth values into 64-bit words, the first value in the lowest bit."""
    bits = np.packbits(truths, axis=-1, bitorder="little")
    missing = -bits.shape[-1] % 8
    padded = np.pad(bits, [(0, 0)] * (bits.ndim - 1) + [(0, missing)])
    return np.ascontiguousarray(padded).view(np.uint64)


def unpacked(words: Words, length: int) -> Truths:
    """Undo `packed_words`."""
    return np.unpackbits(words.view(np.uint8), axis=-1, count=length, bitorder="little").astype(np.bool_)


class OpenPair(NamedTuple):
    """An ordered pair of laws, by number, that no magma so far separates."""

    law1: int
    law2: int


class Separation:
    """The pairs of laws that the magmas added so far separate.

    Attributes:
        laws: The number of laws.
        pairs: How many ordered pairs are separated.
    """

    def __init__(self, laws: int) -> None:
        self.laws = laws
        self.pairs = 0
        self._full = packed_words(np.ones(laws, dtype=np.bool_))
        self._separated = np.zeros((laws, len(self._full)), dtype=np.uint64)

    def gain(self, satisfied: Words) -> int:
        """Count the pairs that a magma with these satisfied laws would newly separate."""
        new = ~self._separated[self._rows(satisfied)] & (self._full & ~satisfied)
        return int(np.bitwise_count(new).sum())

    def add(self, satisfied: Words) -> int:
        """Add a magma with these satisfied laws; return how many pairs it newly separates."""
        gained = self.gain(satisfied)
        if gained:
            self._separated[self._rows(satisfied)] |= self._full & ~satisfied
            self.pairs += gained
        return gained

    def separates(self, pair: OpenPair) -> bool:
        """Tell whether a magma so far satisfies the first law and not the second."""
        return bool(self._separated[pair.law1].view(np.uint8)[pair.law2 >> 3] >> (pair.law2 & 7) & 1)

    def critical_pairs(self, cost: Sequence[int]) -> list[OpenPair]:
        """Return open pairs such that, if no magma separates any of them, no magma separates any open pair.

        The open pairs are a preorder on the laws. Its classes are joined by a cycle each, and neighbouring classes by
        one pair of representatives, the laws of least cost.
        """
        open_rows = unpacked(self._full & ~self._separated, self.laws)
        _, class_of = np.unique(open_rows, axis=0, return_inverse=True)
        members: dict[int, list[int]] = {}
        for law in sorted(range(self.laws), key=lambda law: (cost[law], law)):
            members.setdefault(int(class_of.reshape(-1)[law]), []).append(law)
        cycles = [
            OpenPair(law1, law2)
            for group in members.values()
            if len(group) > 1
            for law1, law2 in zip(group, [*group[1:], group[0]], strict=True)
        ]
        representatives = sorted(group[0] for group in members.values())
        below = open_rows[np.ix_(representatives, representatives)].astype(np.float32)
        np.fill_diagonal(below, 0)
        neighbours = (below > 0) & ~(below @ below > 0)
        edges = [OpenPair(representatives[i], representatives[j]) for i, j in np.argwhere(neighbours).tolist()]
        return sorted(cycles + edges, key=lambda pair: (cost[pair.law1], pair))

    def _rows(self, satisfied: Words) -> NDArray[np.intp]:
        return np.flatnonzero(unpacked(satisfied, self.laws))


def most_separating_first(
    separation: Separation, magmas: Sequence[Words], limit: int, least_gain: int = 1
) -> list[int]:
    """Choose magmas greedily by how many pairs each newly separates, and add them.

    A gain only shrinks as magmas are added, so a magma is measured again only when it comes to the top of the heap.

    Returns:
        The numbers of the chosen magmas, in the order of the choice.
    """
    heap = [(-gain, number) for number, magma in enumerate(magmas) if (gain := separation.gain(magma)) >= least_gain]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and len(chosen) < limit:
        _, number = heap[0]
        gain = separation.gain(magmas[number])
        following = heap[1:3]
        if gain < least_gain:
            heapq.heappop(heap)
        elif all((-gain, number) <= other for other in following):
            heapq.heappop(heap)
            separation.add(magmas[number])
            chosen.append(number)
        else:
            heapq.heapreplace(heap, (-gain, number))
    return chosen
