"""Numbers for texts that are the same in every process: what is chosen by them does not depend on the order of rows."""

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from ekiden_store.arrow import pc

Numbers = npt.NDArray[np.uint64]
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
    """Counts different numbers; it holds 8 bytes for each, and some that it has seen twice."""

    def __init__(self) -> None:
        self._known: Numbers = np.empty(0, dtype=np.uint64)
        self._new: list[Numbers] = []
        self._waiting = 0

    def add(self, numbers: Numbers) -> None:
        """Count some more."""
        numbers = np.unique(numbers)
        self._new.append(numbers)
        self._waiting += len(numbers)
        if self._waiting > max(1 << 20, len(self._known) // 2):
            self.numbers()

    def numbers(self) -> Numbers:
        """Return all that were seen, in order."""
        if self._new:
            self._known = np.unique(np.concatenate([self._known, *self._new]))
            self._new, self._waiting = [], 0
        return self._known

    def __len__(self) -> int:
        return len(self.numbers())
