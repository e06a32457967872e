"""Lines in an order by rank, in memory that many lines do not fill."""

import heapq
import struct
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import groupby
from typing import IO, NamedTuple

HELD_BYTES = 64 << 20
_LINE_COST = 200
_MOST_RUNS = 64
_LENGTHS = struct.Struct("<III")


class Ranked(NamedTuple):
    """A line, what it is ordered by, and what it belongs to."""

    rank: bytes
    line: bytes
    theorem: str


class RankedLines:
    """Lines that are to be put in order; those that do not fit into memory wait in temporary files."""

    def __init__(self, *, held_bytes: int = HELD_BYTES) -> None:
        self._held_bytes = held_bytes
        self._held: list[Ranked] = []
        self._size = 0
        self._runs: list[IO[bytes]] = []
        self._open = ExitStack()

    def __enter__(self) -> "RankedLines":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def add(self, rank: bytes, line: bytes, theorem: str) -> None:
        """Add a line."""
        self._held.append(Ranked(rank, line, theorem))
        self._size += len(line) + len(theorem) + _LINE_COST
        if self._size > self._held_bytes:
            self._put_away()

    def in_order(self) -> Iterator[Ranked]:
        """Yield the lines by rank; those of one rank by what they say."""
        self._held.sort()
        yield from heapq.merge(*map(_read, self._runs), self._held)

    def one_of_each_rank(self) -> Iterator[Ranked]:
        """Yield the first line of each rank."""
        for _, lines in groupby(self.in_order(), key=lambda line: line.rank):
            yield next(lines)

    def _put_away(self) -> None:
        self._held.sort()
        run = self._open.enter_context(tempfile.TemporaryFile(prefix="ekiden-store-"))  # noqa: SIM115 - it stays open
        if len(self._runs) < _MOST_RUNS:
            _write(run, iter(self._held))
            self._runs.append(run)
        else:
            _write(run, heapq.merge(*map(_read, self._runs), self._held))
            for old in self._runs:
                old.close()
            self._runs = [run]
        self._held, self._size = [], 0


def _write(file: IO[bytes], lines: Iterator[Ranked]) -> None:
    for rank, line, theorem in lines:
        name = theorem.encode()
        file.write(_LENGTHS.pack(len(rank), len(line), len(name)) + rank + line + name)


def _read(file: IO[bytes]) -> Iterator[Ranked]:
    file.seek(0)
    while lengths := file.read(_LENGTHS.size):
        rank, line, name = (file.read(length) for length in _LENGTHS.unpack(lengths))
        yield Ranked(rank, line, name.decode())
