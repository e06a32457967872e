"""Merging the parts of an embedding cache: each filling leaves some, and who opens the cache reads of all of them."""

import itertools
import math
import secrets
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ekiden_files import writing_whole
from ekiden_store.arrow import pa, pq
from ekiden_store.errors import StoreError

MERGED_AT_ONCE = 8
PART_BYTES = 256 << 20
_GROUP_BYTES = 1 << 20  # what is read for one vector


def merge_parts(folder: Path) -> int:
    """Merge small parts of the cache in a folder into larger ones, and return how many were merged.

    Parts of one size are merged only when there are eight of them, so a vector is copied but a few times in all. Killed
    at any moment it leaves a vector twice at worst, which is one. Of two that merge one leaves. Parts that cannot be
    read are left alone: who opens the cache sets them aside.

    Raises:
        StoreError: The folder cannot be written; nothing is lost.
    """
    merged = 0
    try:
        with FileLock(folder / ".merge.lock", timeout=0):
            while small := _small_parts(folder):
                _merge(folder, small)
                merged += len(small)
    except Timeout:
        return 0
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"The embeddings in {str(folder)!r} cannot be merged: {error}. Nothing is lost.") from error
    return merged


def part_name() -> str:
    """Return a name for a new part; later ones sort behind earlier ones."""
    return f"{time.time_ns():020}-{secrets.token_hex(6)}.parquet"


def group_rows(width: int) -> int:
    """Return how many vectors of a length go into one row group."""
    return max(16, _GROUP_BYTES // (4 * width))


def _small_parts(folder: Path) -> list[Path]:
    sizes: dict[tuple[object, int], list[Path]] = defaultdict(list)
    for path in sorted(folder.glob("[!.]*.parquet")):
        size = path.stat().st_size
        if size * MERGED_AT_ONCE > PART_BYTES:
            continue
        try:
            with pq.ParquetFile(path) as file:
                schema, rows = file.schema_arrow, file.metadata.num_rows
        except (pa.ArrowException, OSError):
            continue
        kind = (schema.serialize().to_pybytes(), int(math.log(max(rows, 1), MERGED_AT_ONCE)))
        sizes[kind].append(path)
        if len(sizes[kind]) == MERGED_AT_ONCE:
            return sizes[kind]
    return []


def _merge(folder: Path, paths: list[Path]) -> None:
    with ExitStack() as opened:
        files = [opened.enter_context(pq.ParquetFile(path)) for path in paths]
        schema = files[0].schema_arrow
        group = group_rows(schema.field("embedding").type.list_size)
        whole = opened.enter_context(writing_whole(folder / part_name(), sync=True))
        writer = opened.enter_context(pq.ParquetWriter(whole, schema, compression="none", use_dictionary=False))
        waiting: list[Any] = []
        for batch in itertools.chain.from_iterable(file.iter_batches(batch_size=group) for file in files):
            waiting.append(batch)
            if sum(each.num_rows for each in waiting) >= group:
                table = pa.Table.from_batches(waiting, schema)
                writer.write_table(table.slice(0, group), row_group_size=group)
                waiting = table.slice(group).to_batches()
        writer.write_table(pa.Table.from_batches(waiting, schema), row_group_size=group)
    for path in paths:
        path.unlink(missing_ok=True)
