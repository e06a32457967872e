"""Trajectory files of others: of expert iteration, with 12 or 14 columns, and of other stores."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ekiden_store.arrow import pa, pc, pq
from ekiden_store.columns import COLUMNS, REFERENCE_COLUMNS, SCHEMA_VERSION, Origin, StatePpIs
from ekiden_store.errors import StoreError, StoreVersionError, one_line
from ekiden_store.foreign import foreign_rows, require_own_values
from ekiden_store.layout import Layout
from ekiden_store.parts import stored_contents, writing_part
from ekiden_store.queries.sampling_hashes import Distinct, text_numbers
from ekiden_store.row_ids import known_ids
from ekiden_store.schema import conformed
from ekiden_store.snapshot import take_snapshot

_BATCH_ROWS = 16_384
_REQUIRED = tuple(column.name for column in REFERENCE_COLUMNS[:12])  # older files lack the last two
_LABELS = next(column.choices for column in REFERENCE_COLUMNS if column.name == "label")
_NAMES = tuple(column.name for column in COLUMNS)
_NOT_SCORED = (0.0, -1e6)  # what a search stores for a state that it gave no score


@dataclass(frozen=True, slots=True)
class Import:
    """What was imported.

    Attributes:
        rows: How many rows the store has gained.
        known: How many rows it had already.
        sha256: The hash of the file.
    """

    rows: int
    known: int
    sha256: str


def import_parquet(
    layout: Layout,
    path: Path,
    *,
    state_pp_is: StatePpIs = "after",
    origin: Origin = "import",
    run_id: str | None = None,
) -> Import:
    """Add the rows of a trajectory file to a store, all or none of them. A file is not added twice.

    Rows of another store keep their ids, and all that they say; those that this store has are left out.

    Args:
        layout: The store.
        path: The file.
        state_pp_is: Whether `state_pp` is the state after the tactic, as the search writes it, or the state before it,
            as known proofs are written, or mixed: see `_holds_before`. The file does not tell.
        origin: Where the rows come from, if they do not say.
        run_id: The run that they belong to, if they do not say; None: the name of the file. Their attempts are named by
            the run, the theorem and the hash of the file: another file of the run numbers its states anew.

    Raises:
        StoreVersionError: A newer Ekiden wrote the file.
        StoreError: It is not a trajectory file, or the store cannot be written.
    """
    try:
        with layout.changing_parts(wait=True), layout.giving_ids():
            with path.open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            with pq.ParquetFile(path, pre_buffer=False, page_checksum_verification=True) as source:
                is_ours = _is_ours(source, path)
                if sha256 in stored_contents(layout.parts).imports:
                    return Import(rows=0, known=source.metadata.num_rows, sha256=sha256)
                if is_ours:
                    rows = _own_rows(source, layout)
                else:
                    marks = _Marks(state_pp_is, origin, run_id or path.stem, sha256[:24], path.name)
                    rows = _marked_rows(source, marks)
                with writing_part(layout.parts) as part:
                    for table in rows:
                        part.write(table)
                    part.contents.imports.add(sha256)
                return Import(rows=part.rows, known=source.metadata.num_rows - part.rows, sha256=sha256)
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise StoreError(f"{str(path)!r} cannot be imported: {one_line(error)}") from error


def _is_ours(source: Any, path: Path) -> bool:
    names: Counter[str] = Counter(source.schema_arrow.names)
    missing = [name for name in _REQUIRED if name not in names]
    if missing:
        way_out = (
            " It may be a cache of embeddings: `ekiden store embed --from` takes it." if "embedding" in names else ""
        )
        raise StoreError(f"{str(path)!r} is not a trajectory file: it lacks {', '.join(map(repr, missing))}.{way_out}")
    if twice := [name for name in _NAMES if names[name] > 1]:
        raise StoreError(f"{str(path)!r} has several columns {twice[0]!r}. Leave all but one out.")
    found: dict[bytes, bytes] = source.metadata.metadata or {}
    try:
        version: object = json.loads(found.get(b"ekiden.schema_version", b"0"))
    except ValueError:
        version = None
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise StoreVersionError(
            f"{str(path)!r} has schema version {version!r}; this Ekiden knows {SCHEMA_VERSION}. Upgrade it."
        )
    if "row_id" in names:
        if version == 0 and (lacking := [name for name in _NAMES if name not in names]):  # made by another tool
            raise StoreError(
                f"{str(path)!r} has the ids of rows of a store, but lacks {', '.join(map(repr, lacking))}. "
                "Write all columns, or leave 'row_id' out: then they are taken for other rows."
            )
        return True
    return False


def _own_rows(source: Any, layout: Layout) -> Iterator[Any]:
    ids = Distinct()
    rows = 0
    columns = [name for name in _NAMES if name in source.schema_arrow.names]
    with take_snapshot(layout) as snapshot:
        for batch in source.iter_batches(batch_size=_BATCH_ROWS, columns=columns):
            table = foreign_rows(pa.Table.from_batches([batch]))
            require_own_values(table)
            ids.add(text_numbers(table.column("row_id")))
            rows += table.num_rows
            known = known_ids(snapshot, table.column("row_id").to_pylist())
            if known:
                table = table.filter(pc.invert(pc.is_in(table.column("row_id"), pa.array(list(known), pa.string()))))
            yield table
    if len(ids) < rows:
        raise StoreError(f"{rows - len(ids)} rows have an id that another row of the file has. Leave them out.")


class _Marks(NamedTuple):
    """What rows of a file of expert iteration do not say themselves."""

    state_pp_is: StatePpIs
    origin: Origin
    run_id: str
    ids: str
    source: str


def _marked_rows(source: Any, marks: _Marks) -> Iterator[Any]:
    first = 0
    for batch in source.iter_batches(batch_size=_BATCH_ROWS, columns=_reference_names(source)):
        table = foreign_rows(pa.Table.from_batches([batch]))
        numbers = range(first, first + batch.num_rows)
        label, state = table.column("label"), table.column("state_pp")
        is_before = _holds_before(table, marks.state_pp_is)
        told: dict[str, Any] = {
            "label": pc.if_else(pc.is_in(label, pa.array(_LABELS)), label, "unknown"),
            "row_id": pa.array([f"{marks.ids}:{number}" for number in numbers], pa.string()),
            "run_id": pa.repeat(marks.run_id, batch.num_rows),
            "attempt_id": pc.binary_join_element_wise(marks.run_id, table.column("theorem_name"), marks.ids[:8], "/"),
            "step": pa.array(numbers, pa.uint32()),
            "state_before": pc.if_else(is_before, state, pa.scalar(None, pa.string())),
            "state_after": pc.if_else(is_before, pa.scalar(None, pa.string()), state),
            "outcome": pc.if_else(pc.equal(table.column("tactic_applied"), ""), "", "ok"),
            "scored": pc.invert(pc.is_in(table.column("ebm_score"), pa.array(_NOT_SCORED, pa.float64()))),
            "origin": pa.repeat(marks.origin, batch.num_rows),
            "source": pa.repeat(marks.source, batch.num_rows),
        }
        if marks.state_pp_is == "mixed":
            told["parent_state_id"] = pa.nulls(batch.num_rows, pa.uint64())
        yield conformed(pa.table({name: told.get(name, table.column(name)) for name in table.column_names}))
        first += batch.num_rows


def _holds_before(table: Any, state_pp_is: StatePpIs) -> Any:
    """Return which rows hold the state before their tactic.

    In mixed files these are the steps of the known proof (positive, numbered 0, so and so far from its end) and the
    tactics that closed it (positive and complete, yet with a state). States that were only walked through are labelled
    positive as well, and hold the state after.
    """
    if state_pp_is != "mixed":
        return pa.repeat(state_pp_is == "before", table.num_rows)
    is_step = pc.and_(pc.equal(table.column("state_id"), 0), pc.greater(table.column("remaining_depth"), 0))
    closes = pc.and_(table.column("is_proof_complete"), pc.not_equal(table.column("state_pp"), ""))
    return pc.and_(pc.equal(table.column("label"), "positive"), pc.or_(is_step, closes))


def _reference_names(source: Any) -> list[str]:
    names = set(source.schema_arrow.names)
    return [column.name for column in REFERENCE_COLUMNS if column.name in names]
