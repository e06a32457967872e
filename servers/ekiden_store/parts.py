"""Parts: the Parquet files of a store. A part never changes; it says itself which segments and parts it holds."""

import json
import secrets
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from ekiden_files import writing_whole
from ekiden_store.arrow import ds, pa, pc, pq
from ekiden_store.checksums import has_sealed_footer, seal_footer
from ekiden_store.columns import SCHEMA_VERSION
from ekiden_store.errors import DamagedPartError, StoreVersionError, one_line
from ekiden_store.schema import STEP_SCHEMA

ROW_GROUP_ROWS = 16_384
_ROW_GROUP_BYTES = 64 << 20
_SORTED_BYTES = 256 << 20
_CHECKED = ds.ParquetFragmentScanOptions(pre_buffer=False, page_checksum_verification=True)
_FORMAT = ds.ParquetFileFormat(default_fragment_scan_options=_CHECKED)
_VERSION = "ekiden.schema_version"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a part holds, so that nothing is read twice.

    Attributes:
        segments: The segments that its rows were written to first.
        replaces: The parts that it was merged from.
        imports: The SHA-256 of the files that were imported.
    """

    segments: set[str] = field(default_factory=set[str])
    replaces: set[str] = field(default_factory=set[str])
    imports: set[str] = field(default_factory=set[str])

    def add(self, other: "Contents") -> None:
        """Add what another part holds."""
        self.segments.update(other.segments)
        self.replaces.update(other.replaces)
        self.imports.update(other.imports)


@dataclass(frozen=True, slots=True)
class Part:
    """A part that is open: it can be read even when it is deleted.

    Attributes:
        name: Its file name.
        contents: What it holds.
        fragment: Its rows, as a fragment of a pyarrow dataset.
        file: The open file.
        rows: How many rows it holds.
    """

    name: str
    contents: Contents
    fragment: Any
    file: Any
    rows: int

    def close(self) -> None:
        """Let go of the file."""
        self.file.close()


def open_part(path: Path) -> Part:
    """Open a part.

    Raises:
        FileNotFoundError: It is not there (any more).
        DamagedPartError: It is not a part, or not a whole one.
        StoreVersionError: A newer Ekiden wrote it.
    """
    file = pa.OSFile(str(path))
    try:
        is_sealed = has_sealed_footer(file.read_at, file.size())
        fragment = _FORMAT.make_fragment(file)
        found: dict[bytes, bytes] = fragment.metadata.metadata or {}
        version = json.loads(found.get(_VERSION.encode(), b"0"))
        contents = Contents(*(set(cast("list[str]", json.loads(found.get(key, b"[]")))) for key in _CONTENT_KEYS))
        rows: int = fragment.metadata.num_rows
        has_all = fragment.physical_schema.equals(STEP_SCHEMA)
    except (OSError, ValueError, TypeError, pa.ArrowException) as error:
        file.close()
        raise DamagedPartError(f"The part {path.name!r} cannot be read: {one_line(error)}") from error
    if version != 0 and not is_sealed:
        file.close()
        raise DamagedPartError(f"The part {path.name!r} cannot be read: its footer is not as it was written.")
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        file.close()
        raise StoreVersionError(
            f"The part {path.name!r} has schema version {version!r}; this Ekiden knows {SCHEMA_VERSION}. Upgrade it."
        )
    if version < 1 or not has_all:
        file.close()
        raise DamagedPartError(f"The part {path.name!r} has other columns than a store's; import it instead.")
    return Part(path.name, contents, fragment, file, rows)


class Header(NamedTuple):
    """What a part says of itself: what it holds, and how many rows."""

    contents: Contents
    rows: int


def read_header(path: Path) -> Header:
    """Return what a part says of itself; it is remembered, for parts never change.

    Raises:
        FileNotFoundError: It is not there (any more).
        DamagedPartError: It is not a part, or not a whole one.
        StoreVersionError: A newer Ekiden wrote it.
    """
    found = path.stat()
    return _header(path, found.st_ino, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=4_096)
def _header(path: Path, *_file: int) -> Header:
    part = open_part(path)
    part.close()
    return Header(part.contents, part.rows)


def read_through(path: Path) -> None:
    """Read all of a part, and compare each page with its checksum.

    Raises:
        DamagedPartError: It is not what was written.
        StoreVersionError: A newer Ekiden wrote it.
    """
    open_part(path).close()
    try:
        with pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False) as file:
            for _ in file.iter_batches(batch_size=ROW_GROUP_ROWS):
                pass
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DamagedPartError(f"The part {path.name!r} cannot be read: {one_line(error)}") from error


_CONTENT_KEYS = (b"ekiden.segments", b"ekiden.replaces", b"ekiden.imports")


def listed_parts(folder: Path) -> list[Path]:
    """Return the parts of a folder, none twice and none forgotten while others are merged.

    A listing may miss a file that appears and one that vanishes while it is made. A merge makes the new file first, so
    two listings that agree have missed nothing.
    """
    before, now = None, _part_names(folder)
    while now != before:
        before, now = now, _part_names(folder)
    return [folder / name for name in now]


def stored_contents(folder: Path) -> Contents:
    """Return what the sound parts of a folder hold.

    Raises:
        StoreVersionError: A newer Ekiden wrote one.
    """
    held = Contents()
    for path in listed_parts(folder):
        try:
            held.add(read_header(path).contents)
        except DamagedPartError:
            continue
    return held


def _part_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix == ".parquet" and path.name[0] != ".")


class RowWriter:
    """Writes tables of rows to a Parquet file, in row groups that fit into memory.

    As many rows as memory may hold are put in the order of their theorems, and those of a theorem stay in the order in
    which they came. So a theorem's rows lie in a few row groups, and the statistics of the others rule it out.

    Attributes:
        contents: What the file holds: to be filled in while it is written.
        rows: How many rows were written.
    """

    def __init__(self, parquet: Any) -> None:
        self.contents = Contents()
        self.rows = 0
        self._parquet = parquet
        self._waiting: list[Any] = []
        self._waiting_bytes = 0

    def write(self, table: Any) -> None:
        """Add the rows of a table, which has `STEP_SCHEMA`."""
        self.rows += table.num_rows
        for batch in table.to_batches(max_chunksize=ROW_GROUP_ROWS):
            self._waiting.append(batch)
            self._waiting_bytes += batch.nbytes
            if self._waiting_bytes >= _SORTED_BYTES:
                self._flush()

    def finish(self) -> None:
        """Write what is left, and what the file holds."""
        self._flush()
        lists = (self.contents.segments, self.contents.replaces, self.contents.imports)
        held = {key.decode(): json.dumps(sorted(names)) for key, names in zip(_CONTENT_KEYS, lists, strict=True)}
        self._parquet.add_key_value_metadata({_VERSION: str(SCHEMA_VERSION), **held})

    def _flush(self) -> None:
        if self._waiting:
            columns: list[Any] = pa.Table.from_batches(self._waiting, STEP_SCHEMA).columns
            self._waiting.clear()
            for place, column in enumerate(columns):  # each column is held twice only while it is put together
                columns[place] = column.combine_chunks()
            table = pa.Table.from_arrays(columns, schema=STEP_SCHEMA)
            order = pc.sort_indices(table, sort_keys=[("theorem_name", "ascending")])  # a stable sort
            at_once = min(ROW_GROUP_ROWS, max(1, table.num_rows * _ROW_GROUP_BYTES // self._waiting_bytes))
            for first in range(0, table.num_rows, at_once):
                self._parquet.write_table(table.take(order.slice(first, at_once)), row_group_size=at_once)
            self._waiting_bytes = 0


@contextmanager
def writing_rows(file: BinaryIO) -> Generator[RowWriter]:
    """Write rows to an open file as Parquet.

    Raises:
        OSError: It cannot be written.
    """
    parquet = pq.ParquetWriter(
        file,
        STEP_SCHEMA,
        compression="zstd",
        use_dictionary=[name for name in STEP_SCHEMA.names if name != "row_id"],
        column_encoding={"row_id": "DELTA_BYTE_ARRAY"},
        write_page_checksum=True,
    )
    try:
        writer = RowWriter(parquet)
        yield writer
        writer.finish()
        parquet.close()
    except BaseException:
        with suppress(OSError, ValueError, pa.ArrowException):
            parquet.close()
        parquet.is_open = False  # else it would try once more when it is collected
        raise


@contextmanager
def writing_part(folder: Path) -> Generator[RowWriter]:
    """Write a new part, which is there when all of it is, and survives a crash of the machine then.

    Raises:
        OSError: It cannot be written; nothing of it stays.
    """
    name = f"{time.time_ns() // 1_000_000}-{secrets.token_hex(6)}.parquet"
    with writing_whole(folder / name, sync=True) as file:
        with writing_rows(file) as writer:
            yield writer
        seal_footer(file)


def rows_dataset(fragments: Iterable[Any]) -> Any:
    """Return the rows of some fragments as one dataset."""
    return ds.FileSystemDataset(list(fragments), STEP_SCHEMA, _FORMAT)


def file_fragment(file: Any) -> Any:
    """Return the rows of an open Parquet file as a fragment."""
    return _FORMAT.make_fragment(file)
