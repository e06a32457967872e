"""Numbers for texts that are the same in every process: what is chosen by them does not depend on the order of rows."""

import hashlib
from typing import Any

import numpy as np

from ekiden_store.arrow import pc
from ekiden_store.queries.sampling_spilled import LeastRows, Numbers

__all__ = ["Distinct", "Least", "Numbers", "attempt_numbers", "mixed", "text_digest", "text_number", "text_numbers"]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def text_number(*texts: str) -> int:
    """Return a number below 2⁶⁴ for one or several texts."""
    return int.from_bytes(text_digest(*texts)[:8], "little")


def text_digest(*texts: str) -> bytes:
    """Return 16 bytes for one or several texts; which text ends where makes a difference."""
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        data = text.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()


def text_numbers(column: Any) -> Numbers:
    """Return a number for each text of a table's column; nothing at all counts as an empty text."""
    encoded = pc.fill_null(column, "").combine_chunks().dictionary_encode()
    texts: list[str] = encoded.dictionary.to_pylist()
    digests = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    numbers = np.frombuffer(digests, dtype="<u8").astype(np.uint64)
    return numbers[encoded.indices.to_numpy(zero_copy_only=False)]


def mixed(left: Numbers, right: Numbers) -> Numbers:
    """Return one number for each pair of numbers; the order within the pair makes a difference."""
    value = (left * _ODD) ^ right
    value = (value ^ (value >> np.uint64(30))) * _FIRST
    value = (value ^ (value >> np.uint64(27))) * _SECOND
    return value ^ (value >> np.uint64(31))


def attempt_numbers(rows: Any) -> Numbers:
    """Return a number for the attempt of each row of a table with `run_id`, `attempt_id` and `theorem_name`."""
    run, attempt, theorem = (text_numbers(rows.column(name)) for name in ("run_id", "attempt_id", "theorem_name"))
    return mixed(mixed(run, attempt), theorem)


class Distinct:
    """Counts different numbers that are spread evenly, as those of texts are; memory holds some millions of them."""

    def __init__(self) -> None:
        self._rows = LeastRows(width=1, same=1)

    def add(self, numbers: Numbers) -> None:
        """Count some more."""
        self._rows.add(numbers)

    def shared_with(self, other: "Distinct") -> int:
        """Return how many numbers another one has seen too."""
        pairs = zip(self._rows.pieces(), other._rows.pieces(), strict=True)
        return sum(len(np.intersect1d(mine, yours, assume_unique=True)) for mine, yours in pairs)

    def __len__(self) -> int:
        return len(self._rows)


class Least:
    """Keeps the least of the values that come with each key; keys are spread evenly, as the numbers of texts are."""

    def __init__(self) -> None:
        self._rows = LeastRows(width=2, same=1)

    def add(self, keys: Numbers, values: Numbers) -> None:
        """Add some keys, each with a value."""
        self._rows.add(keys, values)

    def values(self) -> Numbers:
        """Return the least value of each key, in order; memory holds them all."""
        values = np.concatenate([rows[:, 1] for rows in self._rows.pieces()])
        values.sort()
        return values
