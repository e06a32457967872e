"""Compaction: segments that nobody writes any more become parts, and small parts become larger ones."""

import itertools
import math
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ekiden_files import sync_folder
from ekiden_store.arrow import pa
from ekiden_store.errors import DamagedPartError, StoreError, one_line
from ekiden_store.layout import Finding, Layout
from ekiden_store.lines import segment_tables
from ekiden_store.parts import ROW_GROUP_ROWS, Part, RowWriter, listed_parts, open_part, rows_dataset, writing_part
from ekiden_store.repair import keep_aside, remove_empty_folders, tidy
from ekiden_store.segments import Segment, listed_segments, sealed, torn_bytes

PART_ROWS = 1_000_000
_MERGED_AT_ONCE = 8
_SEGMENTS_AT_ONCE = 256  # each is an open file


@dataclass(slots=True)
class Compaction:
    """What a compaction did.

    Attributes:
        is_busy: Whether another process compacts the store now, so that nothing was done.
        segments: How many segments became parts.
        rows: How many rows they held.
        parts: How many parts were written.
        merged: How many parts became larger ones.
        findings: What was wrong with files of the store.
    """

    is_busy: bool = False
    segments: int = 0
    rows: int = 0
    parts: int = 0
    merged: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])


def compact(layout: Layout, *, part_rows: int = PART_ROWS) -> Compaction:
    """Make parts of the segments that nobody writes any more, and larger parts of small ones.

    It may be killed at any moment, and may run beside writers, readers and itself: of two at once one leaves.

    Args:
        layout: The store.
        part_rows: About how many rows a part is to hold.

    Raises:
        StoreError: The store cannot be written; nothing is lost.
    """
    done = Compaction()
    try:
        with layout.compacting() as is_ours:
            if not is_ours:
                return Compaction(is_busy=True)
            with layout.changing_parts(wait=True):
                _compact(layout, part_rows, done)
    except OSError as error:
        raise StoreError(
            f"The store {str(layout.folder)!r} cannot be compacted ({error}). Nothing is lost; make room and try again."
        ) from error
    return done


def _compact(layout: Layout, part_rows: int, done: Compaction) -> None:
    tidy(layout, done.findings)
    waiting = iter(listed_segments(layout.wal))
    while _segments_to_part(layout, waiting, part_rows, done):
        pass
    while small := _small_parts(layout, part_rows, done):
        _merge(layout, small, done)
    remove_empty_folders(layout.wal)


def _segments_to_part(layout: Layout, waiting: Iterator[Segment], part_rows: int, done: Compaction) -> bool:
    """Write one part of the next segments, up to `part_rows` rows, and delete them; False if none is left."""
    with ExitStack() as held:
        usable = _usable(waiting, held)
        first = next(usable, None)
        if first is None:
            return False
        taken: list[Segment] = []
        with writing_part(layout.parts) as part:
            for segment, file in itertools.chain([first], usable):
                _add_segment(layout, part, segment, file, done.findings)
                taken.append(segment)
                if part.rows >= part_rows or len(taken) == _SEGMENTS_AT_ONCE:
                    break
        for segment in taken:
            segment.path.unlink()
        done.parts += 1
        done.rows += part.rows
        done.segments += len(taken)
    return True


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


def _add_segment(layout: Layout, part: RowWriter, segment: Segment, file: BinaryIO, findings: list[Finding]) -> None:
    size = os.fstat(file.fileno()).st_size
    if torn := torn_bytes(file):
        findings.append(Finding("torn_tail", segment.name, f"{torn} bytes of a line that was never finished were cut"))

    def on_damage(line: bytes) -> None:
        findings.append(keep_aside(layout, segment, line))

    for table in segment_tables(file, size, on_damage):
        part.write(table)
    part.contents.segments.add(segment.name)


def _small_parts(layout: Layout, part_rows: int, done: Compaction) -> list[Path]:
    """Return parts of about the same size, so many that it is time to merge them.

    Parts of one size are merged only when there are eight of them, so a row is copied but a few times in all.
    """
    sizes: dict[int, list[Path]] = defaultdict(list)
    for path in listed_parts(layout.parts):
        part = _opened(path, done)
        if part is None:
            continue
        part.close()
        if part.rows * _MERGED_AT_ONCE <= part_rows:
            same = sizes[int(math.log(max(part.rows, 1), _MERGED_AT_ONCE))]
            same.append(path)
            if len(same) == _MERGED_AT_ONCE:
                return same
    return []


def _opened(path: Path, done: Compaction) -> Part | None:
    try:
        return open_part(path)
    except DamagedPartError as error:
        done.findings.append(Finding("damaged_part", path.name, str(error)))
        return None


def _merge(layout: Layout, paths: list[Path], done: Compaction) -> None:
    with ExitStack() as opened, writing_part(layout.parts) as merged:
        for path in paths:
            part = open_part(path)
            opened.callback(part.close)
            for table in _tables(part):
                merged.write(table)
            merged.contents.add(part.contents)
            merged.contents.replaces.add(part.name)
    for path in paths:
        path.unlink()
    sync_folder(layout.parts)
    done.merged += len(paths)
    done.parts += 1


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
