"""Which vectors there are and where: 24 bytes a vector in memory."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Places: TypeAlias = NDArray[np.int64]
DIGEST_BYTES = 32
_ROW_BITS = 32


class VectorIndex:
    """Places of vectors by the SHA-256 of their texts; of it the first 128 bits are kept, in order."""

    def __init__(self) -> None:
        empty = np.empty(0, np.uint64)
        self._arrays = (
            empty,
            empty,
            np.empty(0, np.int64),
        )  # swapped as one: a reader in another thread sees all or none

    def __len__(self) -> int:
        return len(self._arrays[2])

    def find(self, digests: Sequence[bytes]) -> Places:
        """Return where the vectors of texts are; -1 where there is none."""
        all_first, all_second, all_places = self._arrays
        first, second = _halves(digests)
        places = np.full(len(digests), -1, np.int64)
        start = np.searchsorted(all_first, first, "left")
        end = np.searchsorted(all_first, first, "right")
        for at in np.flatnonzero(end > start):
            same = np.flatnonzero(all_second[start[at] : end[at]] == second[at])
            if len(same):
                places[at] = all_places[start[at] + same[0]]
        return places

    def add(self, digests: Sequence[bytes], part: int) -> None:
        """Add the rows of a part, in their order; what is there already stays where it is."""
        all_first, all_second, all_places = self._arrays
        rows = np.arange(len(digests), dtype=np.int64)
        fresh = self.find(digests) < 0
        first, second = (half[fresh] for half in _halves(digests))
        places = (np.int64(part) << _ROW_BITS) + rows[fresh]
        order = np.argsort(first, kind="stable")
        at = np.searchsorted(all_first, first[order], "right")
        self._arrays = (
            np.insert(all_first, at, first[order]),
            np.insert(all_second, at, second[order]),
            np.insert(all_places, at, places[order]),
        )


def part_of(place: int) -> int:
    """Return the number of the part that a place is in."""
    return place >> _ROW_BITS


def row_of(place: int) -> int:
    """Return the row that a place is at in its part."""
    return place & ((1 << _ROW_BITS) - 1)


def _halves(digests: Sequence[bytes]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    words = np.frombuffer(b"".join(digests), dtype=">u8").reshape(-1, DIGEST_BYTES // 8)
    return words[:, 0].astype(np.uint64), words[:, 1].astype(np.uint64)
