"""Snapshots: what a store held at one moment, for as long as somebody reads it."""

import errno
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

from ekiden_store.arrow import ds, pa, pc
from ekiden_store.errors import DamagedPartError, StoreError, one_line
from ekiden_store.layout import Finding, Layout
from ekiden_store.lines import segment_tables
from ekiden_store.parts import Contents, Part, file_fragment, listed_parts, open_part, rows_dataset, writing_rows
from ekiden_store.schema import STEP_SCHEMA
from ekiden_store.segments import Segment, listed_segments, whole_lines

_ATTEMPTS = 1_000
_MOST_OPEN = 256  # segments; a process may often open 1,024 files
IN_MEMORY_BYTES = 64 << 20
_BATCH_ROWS = 32_768
_GROUPS_AT_ONCE = 4
_READING = {"batch_readahead": 4, "fragment_readahead": 1}


@dataclass(frozen=True, slots=True)
class _OpenSegment:
    name: str
    file: BinaryIO
    start: int
    size: int


class Snapshot:
    """What the store held when `Store.snapshot` was called. Compaction does not disturb it; close it when done.

    Attributes:
        findings: What is wrong with the store's files; such a file's rows are not there.
    """

    def __init__(self, parts: list[Part], segments: list[_OpenSegment], findings: list[Finding], open_: ExitStack):
        self.findings = findings
        self._parts = parts
        self._segments = segments
        self._open = open_
        self._dataset: Any | None = None
        self._recent: Any | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files."""
        self._dataset = self._recent = None
        self._open.close()

    def dataset(self) -> Any:
        """Return all rows as a pyarrow dataset, which lasts as long as the snapshot is open.

        Rows that are not compacted yet are read now: into memory if they are few, else into a temporary file.

        Raises:
            StoreError: There is no room for that file.
        """
        if self._dataset is None:
            self._dataset = self._joined([part.fragment for part in self._parts])
        return self._dataset

    def narrowed(self, where: Any) -> "Snapshot":
        """Return a snapshot with all the rows that a filter lets through and few others, open as long as this one.

        It is found out from the columns that the filter names alone, so that what lies in few places is read quickly.

        Args:
            where: Which rows: a pyarrow expression.

        Raises:
            StoreError: The filter cannot be used.
            DamagedPartError: A part is damaged.
        """
        with _filter_told():
            groups = [group for part in self._parts for group in part.fragment.split_by_row_group(where)]
            scanner = rows_dataset(groups).scanner(columns=["__fragment_index"], filter=where, **_READING)
        found: set[int] = set()
        with _damage_told():
            for batch in scanner.to_batches():
                found.update(batch.column(0).unique().to_pylist())
        narrow = Snapshot([], [], self.findings, ExitStack())
        narrow._dataset = self._joined([groups[place] for place in sorted(found)])
        return narrow

    def _joined(self, fragments: list[Any]) -> Any:
        """Return the rows of some fragments and those that are in no part yet."""
        datasets = [rows_dataset(fragments)] if fragments else []
        if self._segments or not datasets:
            if self._recent is None:
                self._recent = self._read_recent()
            datasets.append(self._recent)
        return datasets[0] if len(datasets) == 1 else ds.dataset(datasets)

    def scan(
        self,
        *,
        columns: Sequence[str] | None = None,
        filter: Any = None,
        batch_rows: int = _BATCH_ROWS,
    ) -> Any:
        """Return rows as a `pyarrow.RecordBatchReader`, which reads on as batches are taken from it.

        Args:
            columns: Which columns; None: all.
            filter: Which rows: a pyarrow expression, as `pyarrow.compute.field("label") == "positive"`; None: all.
            batch_rows: At most how many rows a batch holds.

        Raises:
            StoreError: There is no such column, or the filter cannot be used.
            DamagedPartError: A part is damaged; this may be found only while batches are taken.
        """
        schema = self._scanner(columns, filter, batch_rows).projected_schema
        return pa.RecordBatchReader.from_batches(schema, _read(self._batches(columns, filter, batch_rows)))

    def _batches(self, columns: Sequence[str] | None, filter_: Any, batch_rows: int) -> Iterator[Any]:
        """Yield rows, some row groups at a time: else pyarrow reads up to a GiB ahead of who takes them."""
        reading = {"columns": None if columns is None else list(columns), "filter": filter_, "batch_size": batch_rows}
        for fragment in self.dataset().get_fragments():
            if isinstance(fragment, ds.ParquetFileFragment):
                groups = fragment.split_by_row_group(filter_)
                for first in range(0, len(groups), _GROUPS_AT_ONCE):
                    yield from rows_dataset(groups[first : first + _GROUPS_AT_ONCE]).to_batches(**reading, **_READING)
            else:
                yield from fragment.to_batches(schema=STEP_SCHEMA, **reading)

    def count(self, filter: Any = None) -> int:
        """Return how many rows there are, or how many the filter lets through.

        Raises:
            StoreError: There is no such column.
            DamagedPartError: A part is damaged.
        """
        every = pc.field("kind").is_valid()  # with no filter, pyarrow counts all of a file that only a part is read of
        scanner = self._scanner(None, every if filter is None else filter, _BATCH_ROWS)
        with _damage_told():
            return scanner.count_rows()

    def _scanner(self, columns: Sequence[str] | None, filter_: Any, batch_rows: int) -> Any:
        if unknown := [name for name in columns or () if name not in STEP_SCHEMA.names]:
            raise StoreError(f"There is no column {unknown[0]!r}. The columns are {', '.join(STEP_SCHEMA.names)}.")
        with _filter_told():
            return self.dataset().scanner(
                columns=None if columns is None else list(columns), filter=filter_, batch_size=batch_rows, **_READING
            )

    def _read_recent(self) -> Any:
        """Return the rows that are in no part yet."""
        tables: list[Any] = []
        held = 0
        recent = self._recent_tables()
        for table in recent:
            tables.append(table)
            held += table.nbytes
            if held > IN_MEMORY_BYTES:
                return self._spilled(tables, recent)
        return ds.dataset(pa.concat_tables([STEP_SCHEMA.empty_table(), *tables]))

    def _spilled(self, tables: list[Any], recent: Iterator[Any]) -> Any:
        try:
            with tempfile.NamedTemporaryFile(prefix="ekiden-store-", suffix=".parquet") as file:
                with writing_rows(cast("BinaryIO", file)) as writer:
                    while tables:
                        writer.write(tables.pop(0))
                    for table in recent:
                        writer.write(table)
                file.flush()
                reopened = pa.OSFile(file.name)
        except OSError as error:
            raise StoreError(
                f"{len(self._segments)} segments are not compacted, and {tempfile.gettempdir()!r} has no room "
                f"for them: {one_line(error)} Compact the store first."
            ) from error
        self._open.callback(reopened.close)
        return rows_dataset([file_fragment(reopened)])

    def _recent_tables(self) -> Iterator[Any]:
        pieces = (
            (segment.name, piece)
            for segment in self._segments
            for piece in whole_lines(segment.file, segment.size, start=segment.start)
        )
        return segment_tables(pieces, self._note)

    def _note(self, segment: str, line: bytes) -> None:
        self.findings.append(Finding("damaged_line", segment, f"{len(line)} bytes hold no row"))


def _read(reader: Any) -> Iterator[Any]:
    with _damage_told():
        yield from reader


@contextmanager
def _filter_told() -> Generator[None]:
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = str(error).partition(" in theorem_name")[0]  # pyarrow lists the whole schema after it
        raise StoreError(
            f"The filter cannot be used: {reason}. The columns are {', '.join(STEP_SCHEMA.names)}."
        ) from error


@contextmanager
def _damage_told() -> Generator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise DamagedPartError(f"A part is damaged: {one_line(error)} Check the store: that moves it aside.") from error


def take_snapshot(layout: Layout) -> Snapshot:
    """Open all that a store holds now; try again whenever a compaction takes a file away before it is open.

    Raises:
        StoreError: The store cannot be read, or files vanish all the time.
    """
    for _ in range(_ATTEMPTS):
        with ExitStack() as opened:
            try:
                parts, segments, findings = _opened(layout, opened)
            except FileNotFoundError as error:
                if layout.wal.is_dir() and layout.parts.is_dir():
                    continue
                raise StoreError(f"The store {str(layout.folder)!r} cannot be read: {one_line(error)}") from error
            except OSError as error:
                if error.errno == errno.ESTALE:  # another machine took the file away
                    continue
                way_out = " Compact it." if error.errno in {errno.EMFILE, errno.ENOSPC} else ""
                raise StoreError(
                    f"The store {str(layout.folder)!r} cannot be read: {one_line(error)}{way_out}"
                ) from error
            return Snapshot(parts, segments, findings, opened.pop_all())
    raise StoreError(f"Files of {str(layout.folder)!r} vanished {_ATTEMPTS} times while they were opened.")


def _opened(layout: Layout, opened: ExitStack) -> tuple[list[Part], list[_OpenSegment], list[Finding]]:
    """Open the files of a store.

    The segments are listed first: a segment that is gone by then is in a part that is there by then.
    """
    listed = listed_segments(layout.wal)
    parts: list[Part] = []
    findings: list[Finding] = []
    held = Contents()
    for path in listed_parts(layout.parts):
        try:
            part = open_part(path)
        except DamagedPartError as error:
            findings.append(Finding("damaged_part", path.name, str(error)))
            continue
        opened.callback(part.close)
        held.add(part.contents)
        parts.append(part)
    segments = list(_open_segments([segment for segment in listed if segment.name not in held.segments], opened))
    return (
        [part for part in parts if part.name not in held.replaces],
        [segment for segment in segments if segment.size],
        findings,
    )


def _open_segments(segments: list[Segment], opened: ExitStack) -> Iterator[_OpenSegment]:
    """Open segments; of many, copy all but the first into one file: a process may open but so many."""
    for segment in segments[:_MOST_OPEN]:
        file = segment.path.open("rb", buffering=0)
        opened.callback(file.close)
        yield _OpenSegment(segment.name, file, 0, os.fstat(file.fileno()).st_size)
    if len(segments) > _MOST_OPEN:
        copies = cast("BinaryIO", tempfile.TemporaryFile(prefix="ekiden-store-"))  # noqa: SIM115  # closed by `opened`
        opened.callback(copies.close)
        for segment in segments[_MOST_OPEN:]:
            with segment.path.open("rb") as file:
                start = copies.tell()
                shutil.copyfileobj(file, copies)
            yield _OpenSegment(segment.name, copies, start, copies.tell() - start)
        copies.flush()
