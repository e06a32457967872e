"""Rows of a store, theorem by theorem: all rows of one theorem together, in memory that many rows do not fill."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any, BinaryIO, cast

import numpy as np

from ekiden_store.arrow import pa, pc
from ekiden_store.errors import StoreError, one_line
from ekiden_store.queries.sampling_hashes import text_numbers
from ekiden_store.snapshot import Snapshot

GROUP_ROWS = 50_000
MOST_GROUPS = 256
_ORDER = ("theorem_name", "run_id", "attempt_id", "step", "row_id")


def rows_by_theorem(
    snapshot: Snapshot, *, columns: Sequence[str], where: Any = None, group_rows: int = GROUP_ROWS
) -> Iterator[Any]:
    """Yield tables, each with all rows of some theorems; a theorem's attempts lie together, each in its order.

    The rows go through temporary files, unless they are few. Which order they have in the store makes no difference.

    Args:
        snapshot: The store.
        columns: Which columns; those that say where a row belongs are added.
        where: Which rows: a pyarrow expression; None: all.
        group_rows: About how many rows a table holds; a theorem with more of them makes a larger one.

    Raises:
        StoreError: The rows cannot be read, or there is no room for the temporary files.
    """
    wanted = list(dict.fromkeys((*columns, *_ORDER)))
    groups = min(MOST_GROUPS, -(-snapshot.count(where) // group_rows))
    reader = snapshot.scan(columns=wanted, filter=where)
    if groups <= 1:
        table = pa.Table.from_batches(list(reader), reader.schema)
        if table.num_rows:
            yield _in_order(table)
        return
    try:
        with ExitStack() as opened:
            files = [_temporary_file(opened) for _ in range(groups)]
            _spill(reader, files)
            for file in files:
                file.seek(0)
                with pa.ipc.open_stream(file) as stream:
                    table = stream.read_all()
                file.close()
                if table.num_rows:
                    yield _in_order(table)
    except OSError as error:
        raise StoreError(
            f"{tempfile.gettempdir()!r} has no room for rows to be put in order: {one_line(error)}"
        ) from error


def _temporary_file(opened: ExitStack) -> BinaryIO:
    """Open a file that has no name, so that a killed process leaves none behind."""
    return cast("BinaryIO", opened.enter_context(tempfile.TemporaryFile(prefix="ekiden-store-")))


def _spill(reader: Any, files: Sequence[BinaryIO]) -> None:
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with ExitStack() as opened:
        writers = [opened.enter_context(pa.ipc.new_stream(file, reader.schema, options=options)) for file in files]
        for batch in reader:
            table = pa.Table.from_batches([batch])
            places = text_numbers(table.column("theorem_name")) % np.uint64(len(files))
            order = np.argsort(places, kind="stable")
            table, places = table.take(order), places[order]
            found, starts = np.unique(places, return_index=True)
            ends = [*starts.tolist(), len(places)][1:]
            for group, start, end in zip(found.tolist(), starts.tolist(), ends, strict=True):
                writers[group].write_table(table.slice(start, end - start))


def _in_order(table: Any) -> Any:
    return table.take(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in _ORDER]))
