"""Samples of rows: the same for the same seed, whatever order or file the rows lie in."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ekiden_store.arrow import pa, pc
from ekiden_store.errors import StoreError
from ekiden_store.queries.row_filter import both
from ekiden_store.queries.sampling_hashes import Numbers, mixed, text_number, text_numbers
from ekiden_store.queries.sampling_spilled import LeastRows
from ekiden_store.snapshot import Snapshot

Stratum = Literal["label", "depth", "theorem", "kind", "origin", "run"]
STRATA: dict[Stratum, str] = {
    "label": "label",
    "depth": "depth_from_root",
    "theorem": "theorem_name",
    "kind": "kind",
    "origin": "origin",
    "run": "run_id",
}
MOST_ROWS = 1_000_000


def sample(snapshot: Snapshot, rows: int, *, seed: int, where: Any = None, columns: Sequence[str] | None = None) -> Any:
    """Return some rows at random, as a table in a random order.

    Args:
        snapshot: The store.
        rows: How many; all there are, if they are fewer.
        seed: Another seed chooses other rows.
        where: Which rows to choose among: a pyarrow expression; None: all.
        columns: Which columns; None: all.

    Raises:
        StoreError: That many rows are too many, or they cannot be read.
    """
    return _chosen(snapshot, None, rows, seed=seed, where=where, columns=columns)


def stratify(
    snapshot: Snapshot,
    by: Stratum,
    each: int,
    *,
    seed: int,
    where: Any = None,
    columns: Sequence[str] | None = None,
) -> Any:
    """Return as many rows at random for each label, depth or theorem, as a table in a random order.

    Args:
        snapshot: The store.
        by: What the rows are to be spread over.
        each: How many rows for each; all there are, if they are fewer.
        seed: Another seed chooses other rows.
        where: Which rows to choose among: a pyarrow expression; None: all.
        columns: Which columns; None: all.

    Raises:
        StoreError: That many rows are too many, or they cannot be read.
    """
    if by not in STRATA:
        raise StoreError(f"Rows cannot be spread over {by!r}; over {', '.join(map(repr, STRATA))} they can.")
    return _chosen(snapshot, STRATA[by], each, seed=seed, where=where, columns=columns)


def dedupe(
    snapshot: Snapshot,
    key: Sequence[str] = ("theorem_name", "state_pp", "tactic_applied"),
    *,
    where: Any = None,
    columns: Sequence[str] | None = None,
) -> Iterator[Any]:
    """Yield tables of rows of which no two have the same key. Of those that have it, the same one is kept always.

    It holds a byte for each row, and the numbers of some millions of keys.

    Args:
        snapshot: The store.
        key: The columns in which rows must differ.
        where: Which rows: a pyarrow expression; None: all.
        columns: Which columns to return; None: all.

    Raises:
        StoreError: There is no such column, or the rows cannot be read.
    """
    if not key:
        raise StoreError("Rows need a column to differ in. Name one at least.")
    kept = _first_of_each_key(snapshot, key, where)
    first = 0
    for batch in snapshot.scan(columns=columns, filter=where):
        table = pa.Table.from_batches([batch]).filter(pa.array(kept[first : first + batch.num_rows]))
        first += batch.num_rows
        if table.num_rows:
            yield table


def _first_of_each_key(snapshot: Snapshot, key: Sequence[str], where: Any) -> npt.NDArray[np.bool_]:
    """Tell of each row, in the order in which they are read, whether it stays: for each key the one with the least id.

    Ids are compared by their numbers, so which one is the least is chance, but always the same.
    """
    least = LeastRows(width=3, same=1)
    rows = 0
    for batch in snapshot.scan(columns=list(dict.fromkeys((*key, "row_id"))), filter=where):
        table = pa.Table.from_batches([batch])
        found = np.zeros(table.num_rows, dtype=np.uint64)
        for name in key:
            found = mixed(found, text_numbers(_as_text(table.column(name))))
        places = np.arange(rows, rows + table.num_rows, dtype=np.uint64)
        least.add(found, text_numbers(table.column("row_id")), places)
        rows += table.num_rows
    kept = np.zeros(rows, dtype=np.bool_)
    for piece in least.pieces():
        kept[piece[:, 2]] = True
    return kept


def _chosen(
    snapshot: Snapshot, stratum: str | None, each: int, *, seed: int, where: Any, columns: Sequence[str] | None
) -> Any:
    if each < 0:
        raise StoreError(f"{each} rows cannot be chosen; say how many are wanted.")
    held = _with_least_ranks(snapshot, stratum, each, seed, where)
    if held.num_rows > MOST_ROWS:
        raise StoreError(f"{held.num_rows} rows are more than memory is to hold; choose at most {MOST_ROWS}.")
    wanted = None if columns is None else list(dict.fromkeys((*columns, "row_id")))
    among = pc.field("row_id").isin(held.column("row_id").combine_chunks())
    chosen = both(where, among)
    reader = snapshot.narrowed(chosen).scan(columns=wanted, filter=chosen)
    table = pa.Table.from_batches(list(reader), reader.schema)
    ranks = _ranks(table, seed)
    table = table.take(np.argsort(ranks, kind="stable"))
    return table if columns is None else table.select(list(columns))


def _with_least_ranks(snapshot: Snapshot, stratum: str | None, each: int, seed: int, where: Any) -> Any:
    names = ["row_id"] if stratum is None else list(dict.fromkeys(("row_id", stratum)))
    held: list[Any] = []
    waiting = 0
    for batch in snapshot.scan(columns=names, filter=where):
        table = pa.Table.from_batches([batch])
        strata = pa.nulls(table.num_rows, pa.string()) if stratum is None else _as_text(table.column(stratum))
        columns = {"row_id": table.column("row_id"), "stratum": strata, "rank": pa.array(_ranks(table, seed))}
        held.append(pa.table(columns))
        waiting += table.num_rows
        if waiting > held[0].num_rows:
            held, waiting = [_pruned(pa.concat_tables(held), each)], 0
            if held[0].num_rows > MOST_ROWS:
                break
    empty = pa.table(
        {"row_id": pa.array([], pa.string()), "stratum": pa.array([], pa.string()), "rank": pa.array([], pa.uint64())}
    )
    return _pruned(pa.concat_tables([empty, *held]), each)


def _pruned(table: Any, each: int) -> Any:
    """Return the rows with the least ranks of each stratum."""
    table = table.sort_by([("stratum", "ascending"), ("rank", "ascending")])
    strata = text_numbers(table.column("stratum"))
    starts = np.flatnonzero(np.r_[True, strata[1:] != strata[:-1]]) if len(strata) else np.empty(0, dtype=np.int64)
    lengths = np.diff(np.r_[starts, len(strata)])
    places = np.arange(len(strata)) - np.repeat(starts, lengths)
    return table.filter(pa.array(places < each))


def _ranks(table: Any, seed: int) -> Numbers:
    start = np.full(table.num_rows, text_number("sample", str(seed)), dtype=np.uint64)
    return mixed(start, text_numbers(table.column("row_id")))


def _as_text(column: Any) -> Any:
    if pa.types.is_list(column.type):
        return pa.chunked_array([pa.array(map(str, column.to_pylist()), pa.string())])
    return column.cast(pa.string())
