"""Compaction: segments that nobody writes any more become parts, and small parts become larger ones."""

import itertools
import math
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ekiden_files import sync_folder
from ekiden_store.arrow import pa
from ekiden_store.errors import DamagedPartError, StoreError, one_line
from ekiden_store.layout import Finding, Layout
from ekiden_store.lines import segment_tables
from ekiden_store.parts import (
    ROW_GROUP_ROWS,
    Part,
    RowWriter,
    listed_parts,
    open_part,
    read_header,
    rows_dataset,
    writing_part,
)
from ekiden_store.repair import keep_aside, remove_empty_folders, tidy
from ekiden_store.segments import Segment, listed_segments, sealed, torn_bytes, whole_lines

PART_ROWS = 1_000_000
_MERGED_AT_ONCE = 8
_SEGMENTS_AT_ONCE = 256  # each is an open file


@dataclass(slots=True)
class Compaction:
    """What a compaction did.

    Attributes:
        is_busy: Whether another process changes the store's files now, so that nothing was done.
        is_complete: Whether all is done that there was to do; not so where time ran out, or the process ends.
        segments: How many segments became parts.
        rows: How many rows they held.
        parts: How many parts were written.
        merged: How many parts became larger ones.
        findings: What was wrong with files of the store.
    """

    is_busy: bool = False
    is_complete: bool = True
    segments: int = 0
    rows: int = 0
    parts: int = 0
    merged: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])


class _EndedError(Exception):
    """The process is about to end."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a compaction may go on.

    Attributes:
        waits: Whether it waits for an import or a check that changes the store's files now.
        seconds: After how long no further part is begun.
        is_ending: Whether it is to end at once; what it has not finished is left as it was.
    """

    waits: bool = True
    seconds: float = math.inf
    is_ending: Callable[[], bool] = lambda: False


def compact(layout: Layout, *, part_rows: int = PART_ROWS, pace: Pace | None = None) -> Compaction:
    """Make parts of the segments that nobody writes any more, and larger parts of small ones.

    It may be killed at any moment, and may run beside writers, readers and itself: of two at once one leaves.

    Args:
        layout: The store.
        part_rows: About how many rows a part is to hold.
        pace: How long it may go on; None: until all is done.

    Raises:
        StoreError: The store cannot be written; nothing is lost.
    """
    done, pace = Compaction(), pace or Pace()
    try:
        with layout.compacting() as is_ours:
            if not is_ours:
                return Compaction(is_busy=True)
            with layout.changing_parts(wait=pace.waits) as are_ours:
                if not are_ours:
                    return Compaction(is_busy=True)
                _Work(layout, part_rows, pace, done).run()
    except _EndedError:
        done.is_complete = False
    except OSError as error:
        raise StoreError(
            f"The store {str(layout.folder)!r} cannot be compacted ({error}). Nothing is lost; make room and try again."
        ) from error
    return done


class _Work:
    """One compaction, by the process that holds the store's locks."""

    def __init__(self, layout: Layout, part_rows: int, pace: Pace, done: Compaction) -> None:
        self._layout = layout
        self._part_rows = part_rows
        self._pace = pace
        self._until = time.monotonic() + pace.seconds
        self._done = done

    def run(self) -> None:
        tidy(self._layout, self._done.findings)
        waiting = iter(listed_segments(self._layout.wal))
        while self._has_time() and self._segments_to_part(waiting):
            pass
        while self._has_time() and (small := self._small_parts()):
            self._merge(small)
        remove_empty_folders(self._layout.wal)

    def _has_time(self) -> bool:
        self._require_time()
        if time.monotonic() < self._until:
            return True
        self._done.is_complete = False
        return False

    def _require_time(self) -> None:
        if self._pace.is_ending():
            raise _EndedError

    def _segments_to_part(self, waiting: Iterator[Segment]) -> bool:
        """Write one part of the next segments, up to so many rows, and delete them; False if none is left."""
        done = self._done
        with ExitStack() as held:
            usable = _usable(waiting, held)
            first = next(usable, None)
            if first is None:
                return False
            taken: list[tuple[Segment, BinaryIO, int]] = []
            with writing_part(self._layout.parts) as part:
                for segment, file in itertools.chain([first], usable):
                    taken.append((segment, file, self._add_segment(part, segment, file)))
                    if part.rows >= self._part_rows or len(taken) == _SEGMENTS_AT_ONCE:
                        break
                for segment, file, size in taken:
                    _require_sealed(segment, file, size)
            for segment, _, _ in taken:
                segment.path.unlink()
            done.parts += 1
            done.rows += part.rows
            done.segments += len(taken)
        return True

    def _add_segment(self, part: RowWriter, segment: Segment, file: BinaryIO) -> int:
        """Add the rows of a segment to a part, and return how many bytes it has."""
        size = os.fstat(file.fileno()).st_size
        findings = self._done.findings
        if torn := torn_bytes(file):
            findings.append(
                Finding("torn_tail", segment.name, f"{torn} bytes of a line that was never finished were cut")
            )

        def on_damage(_name: str, line: bytes) -> None:
            findings.append(keep_aside(self._layout, segment, line))

        for table in segment_tables(((segment.name, piece) for piece in whole_lines(file, size)), on_damage):
            self._require_time()
            part.write(table)
        part.contents.segments.add(segment.name)
        return size

    def _small_parts(self) -> list[Path]:
        """Return parts of about the same size, so many that it is time to merge them.

        Parts of one size are merged only when there are eight of them, so a row is copied but a few times in all.
        """
        sizes: dict[int, list[Path]] = defaultdict(list)
        for path in listed_parts(self._layout.parts):
            try:
                part = read_header(path)
            except DamagedPartError as error:
                self._done.findings.append(Finding("damaged_part", path.name, str(error)))
                continue
            if part.rows * _MERGED_AT_ONCE <= self._part_rows:
                same = sizes[int(math.log(max(part.rows, 1), _MERGED_AT_ONCE))]
                same.append(path)
                if len(same) == _MERGED_AT_ONCE:
                    return same
        return []

    def _merge(self, paths: list[Path]) -> None:
        with ExitStack() as opened, writing_part(self._layout.parts) as merged:
            for path in paths:
                part = open_part(path)
                opened.callback(part.close)
                for table in _tables(part):
                    self._require_time()
                    merged.write(table)
                merged.contents.add(part.contents)
                merged.contents.replaces.add(part.name)
        for path in paths:
            path.unlink()
        sync_folder(self._layout.parts)
        self._done.merged += len(paths)
        self._done.parts += 1


def _require_sealed(segment: Segment, file: BinaryIO, size: int) -> None:
    if os.fstat(file.fileno()).st_size != size:
        raise StoreError(
            f"The segment {segment.name!r} was written while it was compacted, though its lock was free: this file "
            "system does not carry locks (flock) from one machine to another. Nothing is lost. Compact where its "
            "writer runs, or when it has ended."
        )


def _usable(waiting: Iterator[Segment], held: ExitStack) -> Iterator[tuple[Segment, BinaryIO]]:
    """Yield the segments that nobody writes, each locked until the stack ends, and remove those without a row."""
    for segment in waiting:
        with ExitStack() as opened:
            file = opened.enter_context(sealed(segment))
            if file is None:
                continue
            if os.fstat(file.fileno()).st_size == 0:  # its writer may wait for us: then it begins another
                segment.path.unlink()
                continue
            held.push(opened.pop_all())
            yield segment, file


def _tables(part: Part) -> Iterator[Any]:
    batches = rows_dataset([part.fragment]).to_batches(
        batch_size=ROW_GROUP_ROWS, batch_readahead=1, fragment_readahead=1
    )
    while True:
        try:
            batch = next(batches, None)
        except (OSError, pa.ArrowException) as error:
            raise DamagedPartError(
                f"The part {part.name!r} is damaged: {one_line(error)} Check the store: that moves it aside."
            ) from error
        if batch is None:
            return
        yield pa.Table.from_batches([batch])
