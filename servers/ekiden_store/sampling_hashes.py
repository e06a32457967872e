"""Numbers for texts that are the same in every process: what is chosen by them does not depend on the order of rows."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ekiden_store.arrow import pc

Numbers = npt.NDArray[np.uint64]
_ODD = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_BUCKET_BITS = 4
_BUCKETS = 1 << _BUCKET_BITS
_MOST_WAITING = 1 << 20


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
    """Counts different numbers; it holds 8 bytes for each, and some that it has seen twice."""

    def __init__(self) -> None:
        self._known: list[Numbers] = [_none()] * _BUCKETS
        self._new: list[Numbers] = []
        self._waiting = 0

    def add(self, numbers: Numbers) -> None:
        """Count some more."""
        self._new.append(np.unique(numbers))
        self._waiting += len(self._new[-1])
        if self._waiting > max(_MOST_WAITING, sum(map(len, self._known)) // 4):
            self._merge()

    def shared_with(self, other: "Distinct") -> int:
        """Return how many numbers another one has seen too."""
        self._merge()
        other._merge()
        pairs = zip(self._known, other._known, strict=True)
        return sum(len(np.intersect1d(mine, yours, assume_unique=True)) for mine, yours in pairs)

    def __len__(self) -> int:
        self._merge()
        return sum(map(len, self._known))

    def _merge(self) -> None:
        if self._new:
            new = np.concatenate(self._new)
            self._new, self._waiting = [], 0
            for bucket, chosen in _bucketed(new):
                self._known[bucket] = np.unique(np.concatenate([self._known[bucket], new[chosen]]))


class Least:
    """Keeps the least of the values that come with each key; it holds 16 bytes for each key."""

    def __init__(self) -> None:
        self._keys: list[Numbers] = [_none()] * _BUCKETS
        self._values: list[Numbers] = [_none()] * _BUCKETS
        self._new: list[tuple[Numbers, Numbers]] = []
        self._waiting = 0

    def add(self, keys: Numbers, values: Numbers) -> None:
        """Add some keys, each with a value."""
        self._new.append((keys, values))
        self._waiting += len(keys)
        if self._waiting > max(_MOST_WAITING, sum(map(len, self._keys)) // 4):
            self._merge()

    def values(self) -> Numbers:
        """Return the least value of each key, in order."""
        self._merge()
        values = np.concatenate(self._values)
        values.sort()
        return values

    def _merge(self) -> None:
        if not self._new:
            return
        keys, values = (np.concatenate(column) for column in zip(*self._new, strict=True))
        self._new, self._waiting = [], 0
        for bucket, chosen in _bucketed(keys):
            all_keys = np.concatenate([self._keys[bucket], keys[chosen]])
            all_values = np.concatenate([self._values[bucket], values[chosen]])
            order = np.lexsort((all_values, all_keys))
            all_keys, all_values = all_keys[order], all_values[order]
            is_first = np.ones(len(all_keys), dtype=np.bool_)
            is_first[1:] = all_keys[1:] != all_keys[:-1]
            self._keys[bucket], self._values[bucket] = all_keys[is_first], all_values[is_first]


def _none() -> Numbers:
    return np.empty(0, dtype=np.uint64)


def _bucketed(numbers: Numbers) -> Iterator[tuple[int, npt.NDArray[np.bool_]]]:
    """Yield which numbers belong together: what is put in order a bucket at a time takes little memory besides."""
    places = numbers >> np.uint64(64 - _BUCKET_BITS)
    for bucket in range(_BUCKETS):
        chosen = places == np.uint64(bucket)
        if chosen.any():
            yield bucket, chosen
