"""Structured families of magmas that are tried on every pair, in bulk.

They reach orders that model finding does not, such as linear magmas over Z11 or over vectors of F3. The families are
those from which the library is chosen, in smaller samples; they are made once, when first needed.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ekiden_cayley.candidates import Candidates, structured_families

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 1
SCALE = 0.4
TABLES_PER_PIECE = 2000


class Families:
    """The families in pieces of one order, kept once they are made."""

    def __init__(self, seed: int = SEED, scale: float = SCALE) -> None:
        self._pieces: list[Candidates] = []
        self._source = structured_families(seed, scale)
        self._complete = False
        self._lock = threading.Lock()  # guards the making of pieces; searches share them

    def __iter__(self) -> Iterator[Candidates]:
        place = 0
        while (piece := self._piece(place)) is not None:
            yield piece
            place += 1

    def _piece(self, place: int) -> Candidates | None:
        with self._lock:
            while place >= len(self._pieces) and not self._complete:
                family = next(self._source, None)
                if family is None:
                    self._complete = True
                else:
                    self._pieces.extend(_cut(family))
            return self._pieces[place] if place < len(self._pieces) else None


def _cut(family: Candidates) -> Iterator[Candidates]:
    for start in range(0, len(family.tables), TABLES_PER_PIECE):
        end = start + TABLES_PER_PIECE
        yield Candidates(family.method, family.tables[start:end], family.parameters[start:end])
