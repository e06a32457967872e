"""Files of expert iteration and of other stores, brought into a store."""

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars
import pytest

from ekiden_store import Step, Store, StoreError, StoreVersionError
from ekiden_store.arrow import pa, pq
from ekiden_store.queries.pairs import Tally, examples
from ekiden_store.queries.row_filter import RowFilter
from servers.store.test_schema import REFERENCE

ROWS: list[dict[str, object]] = [
    dict(zip(REFERENCE.names, values, strict=True))
    for values in (
        ("and_comm", 0, "⊢ a ∧ b ↔ b ∧ a", "", None, "positive", 0, 1, 0.0, 0.0, False, 1771000000000, 0.5, 3),
        ("and_comm", 1, "", "tauto", 0, "positive", 1, 0, -10.0, 1.25, True, 1771000000000, 1.0, 1),
        ("and_comm", 2**64 - 1, "⊢ b", "simp", 0, "negative", 1, -1, -0.5, -1e6, False, 1771000000000, 0.0, 0),
        ("or_comm", 0, "⊢ a ∨ b", "", None, "lost", 0, -1, 0.0, 0.0, False, 1771000000001, 0.0, 0),
    )
]


def reference_file(folder: Path, *, columns: int = 14, schema: Any = REFERENCE, name: str = "iter_1.parquet") -> Path:
    table = pa.Table.from_pylist(ROWS, schema=REFERENCE).cast(schema)
    pq.write_table(table.select(REFERENCE.names[:columns]), folder / name)
    return folder / name


def rows(store: Store) -> list[dict[str, object]]:
    with store.snapshot() as snapshot:
        return snapshot.scan().read_all().to_pylist()


@pytest.mark.parametrize("columns", [12, 14])
def test_a_file_of_the_reference_is_upgraded(tmp_path: Path, columns: int):
    store = Store(tmp_path / "store")
    done = store.import_parquet(reference_file(tmp_path, columns=columns), origin="search")
    assert (done.rows, done.known) == (4, 0)
    found = rows(store)
    defaults = {"q_value": 0.0, "visits": 0} if columns == 12 else {}
    expected = [row | defaults for row in ROWS]
    expected[3] = expected[3] | {"label": "unknown"}
    assert [{name: row[name] for name in REFERENCE.names} for row in found] == expected
    attempts = [str(row["attempt_id"]).rpartition("/")[0] for row in found]
    assert attempts == ["iter_1/and_comm"] * 3 + ["iter_1/or_comm"]
    assert [row["step"] for row in found] == [0, 1, 2, 3]
    assert [row["scored"] for row in found] == [False, True, False, False]
    assert [row["outcome"] for row in found] == ["", "ok", "ok", ""]
    assert [row["state_after"] for row in found] == [row["state_pp"] for row in ROWS]
    assert {(row["origin"], row["source"], row["run_id"], row["kind"], row["state_before"]) for row in found} == {
        ("search", "iter_1.parquet", "iter_1", "search_node", None)
    }
    assert len({row["row_id"] for row in found}) == 4


def test_known_proofs_hold_the_state_before_the_tactic(tmp_path: Path):
    store = Store(tmp_path / "store")
    store.import_parquet(reference_file(tmp_path), state_pp_is="before", origin="ground_truth", run_id="negatives")
    found = rows(store)
    assert [row["state_before"] for row in found] == [row["state_pp"] for row in ROWS]
    assert {(row["state_after"], row["run_id"], row["origin"]) for row in found} == {
        (None, "negatives", "ground_truth")
    }


def test_negatives_for_known_proofs_hold_the_state_before_or_after_and_name_no_parents(tmp_path: Path):
    written = [
        ("t", 0, "⊢ a", "intro h", None, "positive", 0, 2, 0.0, 0.0, False, 0, 0.0, 0),  # the known proof
        ("t", 0, "h ⊢ a", "exact h", 0, "positive", 1, 1, 0.0, 0.0, False, 0, 0.0, 0),
        ("t", 7, "h ⊢ a", "simp", 6, "positive", 2, 0, -1.0, 0.0, True, 0, 0.0, 0),  # another end of it
        ("t", 7, "⊢ smaller", "ring_nf", 6, "negative", 2, -1, -2.0, 0.0, False, 0, 0.0, 0),
        ("t", 0, "⊢ walked to", "push_neg", 0, "positive", 3, -1, 0.0, 0.0, False, 0, 0.0, 0),
        ("t", 8, "", "omega", 7, "positive", 3, 0, 0.0, 0.0, True, 0, 0.0, 0),
    ]
    table = pa.Table.from_pylist([dict(zip(REFERENCE.names, row, strict=True)) for row in written], schema=REFERENCE)
    pq.write_table(table, tmp_path / "negatives.parquet")
    store = Store(tmp_path / "store")
    store.import_parquet(tmp_path / "negatives.parquet", state_pp_is="mixed", origin="ground_truth")
    assert [(row["state_before"], row["state_after"], row["parent_state_id"]) for row in rows(store)] == [
        ("⊢ a", None, None),
        ("h ⊢ a", None, None),
        ("h ⊢ a", None, None),
        (None, "⊢ smaller", None),
        (None, "⊢ walked to", None),
        (None, "", None),
    ]
    tally = Tally()
    with store.snapshot() as snapshot:
        learnt = [(each.state, each.tactic) for each in examples(snapshot, RowFilter(), tally=tally)]
    assert learnt == [("⊢ a", "intro h"), ("h ⊢ a", "exact h"), ("h ⊢ a", "simp")]
    assert tally.unusable == {"state_before_unknown": 3}


@pytest.mark.parametrize(
    "types",
    [
        {"utf8": pa.large_string(), "uint64": pa.uint64(), "uint32": pa.uint64(), "int32": pa.int64()},
        {"utf8": pa.dictionary(pa.int32(), pa.string()), "uint32": pa.int64(), "int32": pa.int16()},
    ],
)
def test_other_widths_and_encodings_are_read(tmp_path: Path, types: dict[str, Any]):
    kinds = {"string": "utf8"}
    fields = [
        pa.field(field.name, types.get(kinds.get(str(field.type), str(field.type)), field.type)) for field in REFERENCE
    ]
    store = Store(tmp_path / "store")
    store.import_parquet(reference_file(tmp_path, schema=pa.schema(fields)))
    assert [row["state_id"] for row in rows(store)] == [row["state_id"] for row in ROWS]
    assert [row["tactic_applied"] for row in rows(store)] == [row["tactic_applied"] for row in ROWS]


def test_a_file_is_not_imported_twice_whatever_it_is_called(tmp_path: Path):
    store = Store(tmp_path / "store")
    file = reference_file(tmp_path)
    store.import_parquet(file)
    shutil.copy(file, tmp_path / "other.parquet")
    again = Store(tmp_path / "store").import_parquet(tmp_path / "other.parquet")
    assert (again.rows, again.known) == (0, 4)
    for number in range(16):
        with store.writer() as writer:
            writer.append([Step(theorem_name="t", kind="tactic", state_id=number)])
        store.compact()
    assert store.import_parquet(file).rows == 0
    assert len(rows(store)) == 20


def test_two_stores_are_merged_and_rows_of_both_stay_single(tmp_path: Path):
    ours, theirs = Store(tmp_path / "ours"), Store(tmp_path / "theirs")
    for store, numbers in ((theirs, range(5)), (ours, range(100, 103))):
        with store.writer() as writer:
            writer.append([Step(theorem_name="t", kind="tactic", state_id=n, lean_messages=["m"]) for n in numbers])
        store.compact()
    (first,) = (tmp_path / "theirs" / "parts").glob("*.parquet")
    assert ours.import_parquet(first).rows == 5
    for number in range(5, 12):
        with theirs.writer() as writer:
            writer.append([Step(theorem_name="t", kind="tactic", state_id=number, lean_messages=["m"])])
        theirs.compact()
    (merged,) = (tmp_path / "theirs" / "parts").glob("*.parquet")
    done = ours.import_parquet(merged)
    assert (done.rows, done.known) == (7, 5)
    wanted = {row["row_id"]: row for row in rows(theirs)}
    found = {row["row_id"]: row for row in rows(ours) if row["row_id"] in wanted}
    assert found == wanted
    assert len(rows(ours)) == 15


def test_what_is_no_trajectory_file_is_refused(tmp_path: Path):
    store = Store(tmp_path / "store")
    pq.write_table(pa.table({"theorem_name": ["a"], "state_id": [1]}), tmp_path / "a.parquet")
    with pytest.raises(StoreError, match="is not a trajectory file: it lacks 'state_pp', 'tactic_applied'"):
        store.import_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 not really PAR1")
    for name in ("b.parquet", "c.parquet"):
        with pytest.raises(StoreError, match=f"{name}' cannot be imported"):
            store.import_parquet(tmp_path / name)
    assert rows(store) == []
    assert list((tmp_path / "store" / "parts").iterdir()) == []


@pytest.mark.parametrize("value", ["x", -1, 2**40], ids=str)
def test_values_that_do_not_fit_are_refused_and_nothing_is_imported(tmp_path: Path, value: object):
    store = Store(tmp_path / "store")
    table = pa.Table.from_pylist(ROWS, schema=REFERENCE)
    place = REFERENCE.names.index("depth_from_root")
    pq.write_table(table.set_column(place, "depth_from_root", pa.array([value] * 4)), tmp_path / "a.parquet")
    with pytest.raises(StoreError, match="'depth_from_root'"):
        store.import_parquet(tmp_path / "a.parquet")
    assert rows(store) == []


def foreign_file(folder: Path, **columns: Any) -> Path:
    """Write a file of the reference in which some columns are other ones."""
    table = pa.Table.from_pylist(ROWS, schema=pa.schema([field.with_nullable(True) for field in REFERENCE]))
    for name, values in columns.items():
        table = table.set_column(REFERENCE.names.index(name), name, values)
    pq.write_table(table, folder / "foreign.parquet")
    return folder / "foreign.parquet"


def badly_encoded() -> Any:
    """Return texts one of which is no UTF-8, as Parquet readers let pass."""
    lengths = pa.array([0, 1, 1, 2, 3], pa.int32()).buffers()[1]
    return pa.StringArray.from_buffers(4, lengths, pa.py_buffer(b"\xffbc"))


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("theorem_name", pa.array(["t", None, "t", "t"]), "has no value in 1 rows"),
        ("state_id", pa.array([0, None, 2, 0], pa.uint64()), "has no value in 1 rows"),
        ("state_id", pa.nulls(4), "has no value in 4 rows"),
        ("state_id", pa.array([0.0, 1.0, 2.0**60, 0.0]), "may have been rounded. Write it as uint64"),
        ("state_id", pa.array([0.0, 0.5, 1.0, 0.0]), "was truncated"),
        ("parent_state_id", pa.array([math.nan, 0.0, 0.0, math.nan]), "nan was truncated"),
        ("state_pp", pa.array(["a", None, "b", "c"]), "has no value in 1 rows"),
        ("state_pp", badly_encoded(), "Invalid UTF8"),
        ("state_pp", pa.array([b"\xff"] * 4), "Invalid UTF8"),
        ("state_pp", pa.array([{"goal": "a"}] * 4), "is to hold texts, not struct"),
        ("label", pa.array([True, True, False, False]), "is to hold texts, not bool"),
        ("label", pa.array([1, 1, 0, 0]), "is to hold texts, not int64"),
        ("is_proof_complete", pa.array([0.0, 1.0, math.nan, 0.0]), "is to hold truths, not double"),
        ("is_proof_complete", pa.array([0, 2, 0, 0]), "as 0 and 1, not 2"),
        ("timestamp_ms", pa.array([-1] * 4, pa.timestamp("ms")), "not in range"),
    ],
)
def test_what_would_have_to_be_guessed_is_refused(tmp_path: Path, name: str, values: Any, said: str):
    store = Store(tmp_path / "store")
    with pytest.raises(StoreError, match=f"'{name}'.*{said}"):
        store.import_parquet(foreign_file(tmp_path, **{name: values}))
    assert rows(store) == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("timestamp_ms", pa.array([row["timestamp_ms"] for row in ROWS], pa.timestamp("ms")).cast(pa.timestamp("us"))),
        ("timestamp_ms", pa.array([row["timestamp_ms"] for row in ROWS], pa.timestamp("ms", "Europe/Berlin"))),
        ("is_proof_complete", pa.array([0, 1, 0, 0], pa.int8())),
        ("is_proof_complete", pa.array([None, True, False, None])),
        ("parent_state_id", pa.array([None, 0.0, 0.0, None])),
        ("label", pa.array([b"positive", b"positive", b"negative", b"lost"])),
        ("label", pa.array(["positive", "positive", "negative", None])),
        ("state_pp", pa.array([row["state_pp"] for row in ROWS], pa.string_view())),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_what_says_the_same_in_other_types_is_read(tmp_path: Path, name: str, values: Any):
    store = Store(tmp_path / "store")
    store.import_parquet(foreign_file(tmp_path, **{name: values}))
    wanted = [*ROWS[:3], ROWS[3] | {"label": "unknown"}]
    assert [{name: row[name] for name in REFERENCE.names} for row in rows(store)] == wanted


def by_pandas(table: Any, path: Path) -> None:
    frame = table.to_pandas().astype({"label": "category", "theorem_name": "category"})
    frame.assign(extra=1).set_index("theorem_name").to_parquet(path)


def by_polars(table: Any, path: Path) -> None:
    polars.DataFrame(table).with_columns(polars.col("label").cast(polars.Categorical)).write_parquet(path)


def by_duckdb(table: Any, path: Path) -> None:
    connection = duckdb.connect()
    connection.register("rows_", table)
    names = ", ".join(reversed(REFERENCE.names))
    connection.execute(f"copy (select 'x' as kind, 1 as step, {names} from rows_) to '{path}' (format parquet)")
    connection.close()


@pytest.mark.parametrize("write", [by_pandas, by_polars, by_duckdb])
def test_files_of_other_tools_are_read(tmp_path: Path, write: Callable[[Any, Path], None]):
    write(pa.Table.from_pylist(ROWS, schema=REFERENCE), tmp_path / "theirs.parquet")
    store = Store(tmp_path / "store")
    assert store.import_parquet(tmp_path / "theirs.parquet").rows == 4
    wanted = [*ROWS[:3], ROWS[3] | {"label": "unknown"}]
    assert [{name: row[name] for name in REFERENCE.names} for row in rows(store)] == wanted


@pytest.mark.parametrize("codec", ["zstd", "gzip", "snappy", "brotli", "lz4", "none"])
def test_files_are_read_however_they_are_compressed(tmp_path: Path, codec: str):
    table = pa.Table.from_pylist(ROWS, schema=REFERENCE)
    pq.write_table(table, tmp_path / "a.parquet", compression=codec, row_group_size=1)
    store = Store(tmp_path / "store")
    assert store.import_parquet(tmp_path / "a.parquet").rows == 4


def test_a_file_without_rows_adds_none(tmp_path: Path):
    store = Store(tmp_path / "store")
    pq.write_table(REFERENCE.empty_table(), tmp_path / "a.parquet")
    pq.ParquetWriter(tmp_path / "b.parquet", REFERENCE).close()
    assert store.import_parquet(tmp_path / "a.parquet").rows == store.import_parquet(tmp_path / "b.parquet").rows == 0
    assert rows(store) == []


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path):
    table = pa.Table.from_pylist(ROWS, schema=REFERENCE).append_column("label", pa.array(["positive"] * 4))
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(StoreError, match="has several columns 'label'"):
        Store(tmp_path / "store").import_parquet(tmp_path / "a.parquet")


def test_files_of_one_run_that_number_their_states_alike_stay_apart(tmp_path: Path):
    store = Store(tmp_path / "store")
    for number, state in enumerate(("⊢ a", "⊢ b")):
        (tmp_path / str(number)).mkdir()
        store.import_parquet(foreign_file(tmp_path / str(number), state_pp=pa.array([state] * 4)), run_id="iter_1")
    attempts = {(row["attempt_id"], row["state_pp"]) for row in rows(store) if row["theorem_name"] == "or_comm"}
    assert len({attempt for attempt, _ in attempts}) == len(attempts) == 2
    assert all(str(attempt).startswith("iter_1/or_comm/") for attempt, _ in attempts)


def own_file(folder: Path, query: str) -> Path:
    """Write what SQL makes of the only part of a store that has two rows."""
    source = Store(folder / "source")
    with source.writer() as writer:
        writer.append([Step(theorem_name="t", kind="message", tool_output=text, run_id="r") for text in ("a", "b")])
    source.compact()
    (part,) = (folder / "source" / "parts").iterdir()
    with duckdb.connect() as connection:
        connection.execute(f"create view part as select * from '{part}'")
        connection.execute(f"copy ({query}) to '{folder / 'own.parquet'}' (format parquet)")
    return folder / "own.parquet"


def test_rows_of_a_store_that_went_through_another_tool_keep_what_they_say(tmp_path: Path):
    store = Store(tmp_path / "store")
    file = own_file(tmp_path, "select 1 as extra, * from part")
    assert store.import_parquet(file).rows == 2
    assert rows(store) == rows(Store(tmp_path / "source"))
    (part,) = (tmp_path / "source" / "parts").iterdir()
    assert store.import_parquet(part).known == 2


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select * from part union all select * from part", "2 rows have an id that another row of the file has"),
        ("select * exclude (tool_output) from part", "lacks 'tool_output'"),
        ("select * replace ('' as row_id) from part", "'row_id' is empty"),
        ("select * replace (null::varchar as row_id) from part", "'row_id' has no value in 2 rows"),
        ("select * replace ('thought' as kind) from part", "'kind' holds one of .*, not 'thought'"),
    ],
)
def test_rows_of_a_store_that_another_tool_spoiled_are_refused(tmp_path: Path, query: str, said: str):
    store = Store(tmp_path / "store")
    with pytest.raises(StoreError, match=said):
        store.import_parquet(own_file(tmp_path, query))
    assert rows(store) == []


def test_a_file_of_a_newer_version_is_refused(tmp_path: Path):
    table = pa.Table.from_pylist(ROWS, schema=REFERENCE).replace_schema_metadata({"ekiden.schema_version": "9"})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(StoreVersionError, match="has schema version 9; this Ekiden knows 1"):
        Store(tmp_path / "store").import_parquet(tmp_path / "a.parquet")
