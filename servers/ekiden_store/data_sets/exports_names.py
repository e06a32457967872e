"""Which theorems are trained on, kept for validation, or left out; and what a data set holds already."""

import hashlib
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ekiden_store.data_sets.mixes import Mix, Source
from ekiden_store.errors import StoreError, one_line
from ekiden_store.queries.sampling_hashes import text_number
from ekiden_store.queries.selection import read_names


def same_name(theorem: str) -> str:
    """Return how a theorem is called wherever names are compared: no spaces around it, letters composed."""
    return unicodedata.normalize("NFC", theorem.strip())


class Names:
    """The theorems that a mix speaks of.

    Attributes:
        lists: The hashes of the files that were read, by their names.
    """

    def __init__(self, mix: Mix) -> None:
        """Read the lists of a mix.

        Raises:
            StoreError: A list cannot be read, or a theorem is to be kept for validation and left out.
        """
        self.lists: dict[str, str] = {}
        self._seed = str(mix.seed)
        self._fraction = mix.validation.fraction
        self._kept = self._read(mix.validation.theorems, mix.validation.files)
        self._left_out = self._read(mix.left_out.theorems, mix.left_out.files)
        self._not_met = set(self._kept)
        if both := self._kept & self._left_out:
            raise StoreError(f"The theorem {min(both)!r} is to be kept for validation and to be left out.")

    @property
    def keeps_some(self) -> bool:
        """Whether there is to be something for validation."""
        return bool(self._fraction or self._kept)

    @property
    def not_met(self) -> list[str]:
        """Theorems that were to be kept for validation, and of which there was no example."""
        return sorted(self._not_met)

    def is_left_out(self, theorem: str, source: Source) -> bool:
        """Tell whether nothing of a theorem is wanted.

        Raises:
            StoreError: It has no name, so nobody can tell.
        """
        if not theorem.strip() and (self.keeps_some or self._left_out):
            raise StoreError(
                f"An example of the source {source.name!r} names no theorem, so nobody knows whether it may be trained "
                "on. Name its theorem, or keep nothing for validation and leave nothing out."
            )
        return bool(self._left_out) and same_name(theorem) in self._left_out

    def is_kept(self, theorem: str) -> bool:
        """Tell whether a theorem is for validation."""
        if not self.keeps_some:
            return False
        name = same_name(theorem)
        if name in self._kept:
            self._not_met.discard(name)
            return True
        return text_number("split", self._seed, name) < self._fraction * 2**64

    def _read(self, theorems: Iterable[str], files: Iterable[Path]) -> set[str]:
        found = set(map(same_name, theorems))
        for file in files:
            found.update(map(same_name, read_names(file)))
            try:
                self.lists[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
            except OSError as error:
                raise StoreError(f"{str(file)!r} cannot be read: {one_line(error)}") from error
        return found


class Given:
    """What the sources above have given; it holds 8 bytes for each example."""

    def __init__(self) -> None:
        self._known = array("Q")
        self._new = array("Q")

    def add(self, record: dict[str, Any]) -> None:
        """Remember an example; it counts for the next source."""
        self._new.append(_number(record))

    def has(self, record: dict[str, Any]) -> bool:
        """Tell whether a source above has given an example, by theorem, state and tactics."""
        if not self._known:
            return False
        number = _number(record)
        place = bisect_left(self._known, number)
        return place < len(self._known) and self._known[place] == number

    def close_source(self) -> None:
        """Begin with the next source."""
        numbers = np.unique(np.concatenate([np.frombuffer(each, dtype=np.uint64) for each in (self._known, self._new)]))
        self._known, self._new = array("Q", numbers.tobytes()), array("Q")


def _number(record: dict[str, Any]) -> int:
    tactics = [record["tactic"]] if "tactic" in record else [record["positive"], record["negative"]]
    return text_number(record["theorem"], record["state"], *tactics)
