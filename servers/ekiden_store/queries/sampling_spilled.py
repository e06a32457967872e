"""Rows of numbers without doubles, in memory that many rows do not fill."""

import os
import tempfile
import weakref
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from ekiden_store.errors import StoreError, one_line

Numbers = npt.NDArray[np.uint64]
_MOST_WAITING = 1 << 18
_PIECE_BITS = 8
_PIECES = 1 << _PIECE_BITS


class _Run(NamedTuple):
    """Rows in order that were put away together: where they lie in the file, and where each piece of them begins."""

    place: int
    starts: list[int]


class LeastRows:
    """Keeps, of rows of numbers that begin with the same ones, the least.

    What memory is not to hold waits in a temporary file, and is read back a piece at a time: the first number of a row,
    which must be spread evenly as hashes are, tells which piece it belongs to.
    """

    def __init__(self, *, width: int, same: int, most_waiting: int = _MOST_WAITING) -> None:
        """Begin with no row.

        Args:
            width: How many numbers a row has.
            same: In how many of its first numbers a row must differ from those that are kept.
            most_waiting: How many rows memory may hold.
        """
        self._width = width
        self._same = same
        self._most_waiting = most_waiting
        self._waiting: list[Numbers] = []
        self._held = 0
        self._file: BinaryIO | None = None
        self._runs: list[_Run] = []

    def add(self, *columns: Numbers) -> None:
        """Add rows, given as their columns.

        Raises:
            StoreError: There is no room for the temporary file.
        """
        rows = self._least(np.stack(columns, axis=1))
        self._waiting.append(rows)
        self._held += len(rows)
        if self._held > self._most_waiting:
            self._gather()
            if self._held > self._most_waiting // 2:
                self._put_away()

    def pieces(self) -> Iterator[Numbers]:
        """Yield the rows that are kept, in order, some at a time; those that begin with the same number come together.

        Two that are told apart by one number alone yield as many pieces, and each number in the same one.
        """
        self._gather()
        waiting = self._waiting[0] if self._waiting else np.empty((0, self._width), dtype=np.uint64)
        starts = _starts(waiting)
        for piece in range(_PIECES):
            parts = [waiting[starts[piece] : starts[piece + 1]]]
            parts += [self._read(run, piece) for run in self._runs]
            yield self._least(np.concatenate(parts)) if self._runs else parts[0]

    def __len__(self) -> int:
        return sum(map(len, self.pieces()))

    def _least(self, rows: Numbers) -> Numbers:
        rows = rows[np.lexsort(rows.T[::-1])] if self._width > 1 else np.sort(rows, axis=0)
        is_first = np.ones(len(rows), dtype=np.bool_)
        is_first[1:] = (rows[1:, : self._same] != rows[:-1, : self._same]).any(axis=1)
        return rows[is_first]

    def _gather(self) -> None:
        if len(self._waiting) > 1:
            rows = np.concatenate(self._waiting)
            self._waiting.clear()
            self._waiting.append(self._least(rows))
        self._held = sum(map(len, self._waiting))

    def _put_away(self) -> None:
        rows = self._waiting.pop()
        self._held = 0
        try:
            if self._file is None:
                self._file = cast("BinaryIO", tempfile.TemporaryFile(prefix="ekiden-store-"))  # noqa: SIM115 - as below
                weakref.finalize(self, self._file.close)
            place = self._file.seek(0, os.SEEK_END)
            self._file.write(rows.tobytes())
            self._file.flush()
        except OSError as error:
            raise StoreError(
                f"{tempfile.gettempdir()!r} has no room for what is to be told apart: {one_line(error)}"
            ) from error
        self._runs.append(_Run(place, _starts(rows)))

    def _read(self, run: _Run, piece: int) -> Numbers:
        assert self._file is not None
        width = self._width * 8
        first, last = run.starts[piece], run.starts[piece + 1]
        data = os.pread(self._file.fileno(), (last - first) * width, run.place + first * width)
        return np.frombuffer(data, dtype=np.uint64).reshape(-1, self._width)


def _starts(rows: Numbers) -> list[int]:
    """Return where each piece of rows in order begins, and where the last one ends."""
    begins = np.arange(_PIECES, dtype=np.uint64) << np.uint64(64 - _PIECE_BITS)
    return [*np.searchsorted(rows[:, 0], begins).tolist(), len(rows)]
