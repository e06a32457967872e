"""What became of each theorem in each scene: an iteration, run and model. Memory grows with these, not with rows."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ekiden_store.arrow import pa, pc
from ekiden_store.queries.sampling_hashes import Numbers

PROVED, GAVE_UP, ACCEPTED, ASKED = 1, 2, 4, 8
NO_LENGTH = 2**32
"""The length of a proof of which no row tells how many tactics it takes."""
_SCENE_COLUMNS = ("iteration", "run_id", "model")
_BUCKET_BITS = 4
_MOST_WAITING = 1 << 20

Indices = npt.NDArray[np.int64]


class Scene(NamedTuple):
    """Where rows belong."""

    iteration: int | None
    run: str
    model: str


class Scenes:
    """Numbers scenes in the order in which they are met."""

    def __init__(self) -> None:
        self._numbers: dict[Scene, int] = {}

    def __iter__(self) -> Iterator[Scene]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def numbered(self, table: Any) -> Indices:
        """Return the number of the scene of each row."""
        combined = np.zeros(table.num_rows, dtype=np.int64)
        values: list[list[Any]] = []
        for name in _SCENE_COLUMNS:
            encoded = pc.dictionary_encode(table.column(name).combine_chunks(), null_encoding="encode")
            values.append(encoded.dictionary.to_pylist())
            combined = combined * len(values[-1]) + encoded.indices.to_numpy()
        found, places = np.unique(combined, return_inverse=True)
        numbers: list[int] = []
        for number in found.tolist():
            rest, model = divmod(number, len(values[2]))
            iteration, run = divmod(rest, len(values[1]))
            scene = Scene(values[0][iteration], values[1][run], values[2][model])
            numbers.append(self._numbers.setdefault(scene, len(self._numbers)))
        return np.array(numbers, dtype=np.int64)[places]


@dataclass(slots=True)
class Rows:
    """What is known of theorems: parallel arrays, of which a theorem may have several places.

    Attributes:
        theorems: The number of the theorem.
        groups: The number of the scene, or of what scenes are gathered into.
        flags: `PROVED`, `GAVE_UP`, `ACCEPTED` and `ASKED`.
        shortest: The tactics of its shortest proof; `NO_LENGTH`: there is none, or none is told.
        deepest: How deep its search went; -1: there was none.
        costs: What was spent on it, in 10⁻⁹ US dollars.
    """

    theorems: Numbers
    groups: Indices
    flags: npt.NDArray[np.uint8]
    shortest: Indices
    deepest: Indices
    costs: Indices

    def reduced(self) -> "Rows":
        """Return one place for each theorem in each group."""
        order = np.lexsort((self.groups, self.theorems))
        theorems, groups = self.theorems[order], self.groups[order]
        starts = np.flatnonzero(
            np.r_[True, (theorems[1:] != theorems[:-1]) | (groups[1:] != groups[:-1])][: len(order)]
        )
        if not len(starts):
            return self
        return Rows(
            theorems[starts],
            groups[starts],
            np.bitwise_or.reduceat(self.flags[order], starts),
            np.minimum.reduceat(self.shortest[order], starts),
            np.maximum.reduceat(self.deepest[order], starts),
            np.add.reduceat(self.costs[order], starts),
        )

    def has(self, flag: int) -> npt.NDArray[np.bool_]:
        """Return where a flag is set."""
        return (self.flags & np.uint8(flag)) != 0

    def at(self, chosen: Any) -> "Rows":
        """Return some of the places."""
        return Rows(
            self.theorems[chosen],
            self.groups[chosen],
            self.flags[chosen],
            self.shortest[chosen],
            self.deepest[chosen],
            self.costs[chosen],
        )

    def __len__(self) -> int:
        return len(self.theorems)


def joined(rows: list[Rows]) -> Rows:
    """Return the places of several, one after the other."""
    return Rows(
        np.concatenate([each.theorems for each in rows]),
        np.concatenate([each.groups for each in rows]),
        np.concatenate([each.flags for each in rows]),
        np.concatenate([each.shortest for each in rows]),
        np.concatenate([each.deepest for each in rows]),
        np.concatenate([each.costs for each in rows]),
    )


@dataclass(slots=True)
class Theorems:
    """Gathers what is known of theorems, 41 bytes for each theorem in each scene; a theorem is in one bucket."""

    _known: dict[int, Rows] = field(default_factory=dict[int, Rows])
    _new: list[Rows] = field(default_factory=list[Rows])
    _waiting: int = 0

    def add(self, rows: Rows) -> None:
        """Add some more."""
        self._new.append(rows.reduced())
        self._waiting += len(self._new[-1])
        if self._waiting > max(_MOST_WAITING, sum(map(len, self._known.values())) // 4):
            self._merge()

    def buckets(self) -> Iterator[Rows]:
        """Yield all that is known, reduced; all of a theorem comes at once."""
        self._merge()
        yield from self._known.values()

    def _merge(self) -> None:
        if not self._new:
            return
        new = joined(self._new)
        self._new, self._waiting = [], 0
        places = new.theorems >> np.uint64(64 - _BUCKET_BITS)
        for bucket in np.unique(places).tolist():
            more = new.at(places == np.uint64(bucket))
            known = self._known.get(bucket)
            self._known[bucket] = (more if known is None else joined([known, more])).reduced()


def is_among(numbers: Numbers, sought: Numbers) -> npt.NDArray[np.bool_]:
    """Return which numbers are among others, which are in order."""
    if not len(sought):
        return np.zeros(len(numbers), dtype=np.bool_)
    places = np.minimum(np.searchsorted(sought, numbers), len(sought) - 1)
    return sought[places] == numbers


def texts_array(texts: list[str]) -> Any:
    """Return texts as a column."""
    return pa.chunked_array([pa.array(texts, pa.string())])
