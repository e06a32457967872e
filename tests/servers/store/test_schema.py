"""What a step is, and what files of steps look like to others."""

import dataclasses
import math
from pathlib import Path
from typing import Any, cast

import duckdb
import pandas
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ekiden_store import InvalidStepError, Step, Store
from ekiden_store.arrow import pa, pq
from ekiden_store.columns import COLUMNS, REFERENCE_COLUMNS, Column
from ekiden_store.schema import REFERENCE_SCHEMA, STEP_SCHEMA

REFERENCE = pa.schema(
    [
        pa.field("theorem_name", pa.utf8(), nullable=False),
        pa.field("state_id", pa.uint64(), nullable=False),
        pa.field("state_pp", pa.utf8(), nullable=False),
        pa.field("tactic_applied", pa.utf8(), nullable=False),
        pa.field("parent_state_id", pa.uint64(), nullable=True),
        pa.field("label", pa.utf8(), nullable=False),
        pa.field("depth_from_root", pa.uint32(), nullable=False),
        pa.field("remaining_depth", pa.int32(), nullable=False),
        pa.field("llm_log_prob", pa.float64(), nullable=False),
        pa.field("ebm_score", pa.float64(), nullable=False),
        pa.field("is_proof_complete", pa.bool_(), nullable=False),
        pa.field("timestamp_ms", pa.uint64(), nullable=False),
        pa.field("q_value", pa.float64(), nullable=False),
        pa.field("visits", pa.uint32(), nullable=False),
    ]
)
NAMES = REFERENCE.names


def stored(folder: Path, *steps: Step) -> list[dict[str, object]]:
    store = Store(folder)
    with store.writer() as writer:
        writer.append(steps)
    with store.snapshot() as snapshot:
        return snapshot.scan().read_all().to_pylist()


def part_of(folder: Path, *steps: Step) -> Path:
    store = Store(folder)
    with store.writer() as writer:
        writer.append(steps)
    assert store.compact().parts == 1
    (part,) = (folder / "parts").glob("*.parquet")
    return part


def node(**values: Any) -> Step:
    return dataclasses.replace(Step(theorem_name="imp_refl", kind="search_node", timestamp_ms=7), **values)


def test_the_first_columns_are_the_reference_s():
    assert REFERENCE_SCHEMA.equals(REFERENCE)
    assert STEP_SCHEMA.names[:14] == NAMES
    assert len(set(STEP_SCHEMA.names)) == len(STEP_SCHEMA.names) == 41


def test_a_step_has_a_field_for_each_column_with_its_default():
    fields = {field.name: field.default for field in dataclasses.fields(Step)}
    assert set(fields) == set(STEP_SCHEMA.names)
    free = {"theorem_name", "kind", "timestamp_ms"}
    assert {name: default for name, default in fields.items() if name not in free} == {
        column.name: column.default for column in COLUMNS if column.name not in free
    }


def test_files_open_in_other_tools_with_the_reference_s_schema(tmp_path: Path):
    part = part_of(tmp_path, node(state_id=2**64 - 1), node(state_id=1, parent_state_id=2**63, label="positive"))

    assert pq.read_table(part, columns=NAMES).schema.remove_metadata().equals(REFERENCE)
    assert pq.ParquetFile(part).read(columns=NAMES).schema.remove_metadata().equals(REFERENCE)

    frame = polars.read_parquet(part, columns=NAMES)
    assert frame.schema == polars.DataFrame(REFERENCE.empty_table()).schema
    assert frame["parent_state_id"].to_list() == [None, 2**63]

    sql = cast("Any", duckdb).sql
    rows = sql(f"select state_id, parent_state_id, label from '{part}' order by state_id").fetchall()
    assert rows == [(1, 2**63, "positive"), (2**64 - 1, None, "unknown")]
    described = sql(f"select column_name, column_type from (describe select * from '{part}')").fetchall()
    types = dict(cast("list[tuple[str, str]]", described))
    assert types["state_id"] == "UBIGINT"
    assert types["depth_from_root"] == "UINTEGER"
    assert types["lean_messages"] == "VARCHAR[]"

    table = cast("Any", pandas).read_parquet(part, columns=NAMES)
    assert list(table["state_id"]) == [2**64 - 1, 1]
    assert str(table["visits"].dtype) == "uint32"


def test_a_dataset_can_be_asked_in_sql(tmp_path: Path):
    part_of(tmp_path, node(), node(label="positive"))
    store = Store(tmp_path)
    with store.writer() as writer, store.snapshot():
        writer.append([node(label="positive")])
        with store.snapshot() as snapshot:
            rows = snapshot.dataset()
            connection = duckdb.connect()
            connection.register("rows", rows)
            found = connection.sql("select label, count(*) from rows group by label order by label").fetchall()
            connection.close()
    assert found == [("positive", 2), ("unknown", 1)]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_a_value_that_does_not_fit_its_column_is_refused(tmp_path: Path, column: Column):
    wrong = {"text": 3, "texts": "text", "bool": 1.5, "float64": "1"}.get(column.type, -(2**80))
    with (
        Store(tmp_path).writer() as writer,
        pytest.raises(InvalidStepError, match=f"^The column '{column.name}' holds .*, not {wrong!r}.$"),
    ):
        writer.append([node(), node(**{column.name: wrong})])
    with Store(tmp_path).snapshot() as snapshot:
        assert snapshot.count() == 0


@pytest.mark.parametrize("wrong", [True, 1.0, None, -1, 2**32], ids=repr)
def test_a_whole_number_is_neither_a_truth_nor_a_float(tmp_path: Path, wrong: object):
    with Store(tmp_path).writer() as writer, pytest.raises(InvalidStepError, match="from 0 to 4294967295, not"):
        writer.append([node(depth_from_root=wrong)])


def test_an_unknown_label_is_refused_with_the_known_ones(tmp_path: Path):
    with (
        Store(tmp_path).writer() as writer,
        pytest.raises(InvalidStepError, match="one of 'positive', 'negative', 'unknown', not 'good'"),
    ):
        writer.append([node(label="good")])


def test_a_row_that_is_too_long_is_refused(tmp_path: Path):
    with Store(tmp_path).writer() as writer, pytest.raises(InvalidStepError, match="Shorten its texts"):
        writer.append([node(tool_output="x" * (65 << 20))])


def test_strange_values_come_back(tmp_path: Path):
    step = node(
        state_id=2**64 - 1,
        parent_state_id=2**53 + 1,
        remaining_depth=-(2**31),
        cost_nanodollars=-(2**63),
        state_pp='a\0b\x1f\u2028\r\n"\\ ⊢ 𝔸',
        llm_log_prob=-math.inf,
        q_value=5e-324,
        lean_messages=["", "two\nlines"],
        tool_output="0123456789" * 1_000_000,
    )
    (row,) = stored(tmp_path, step)
    expected = dataclasses.asdict(step) | {"row_id": row["row_id"]}
    assert row == expected


def test_a_score_that_is_no_number_comes_back(tmp_path: Path):
    (row,) = stored(tmp_path, node(ebm_score=math.nan, llm_log_prob=math.inf, q_value=-0.0))
    assert math.copysign(1, cast("float", row["q_value"])) == -1
    assert math.isnan(cast("float", row["ebm_score"]))
    assert row["llm_log_prob"] == math.inf


def test_half_a_surrogate_pair_becomes_a_replacement_character_and_a_whole_one_its_character(tmp_path: Path):
    (row,) = stored(tmp_path, node(state_pp="a\ud800b", tactic_applied="\ud83d\ude00", lean_messages=["\udfff"]))
    assert (row["state_pp"], row["tactic_applied"], row["lean_messages"]) == ("a\ufffdb", "😀", ["\ufffd"])


_VALUES: dict[str, st.SearchStrategy[object]] = {
    "text": st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    "texts": st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=3),
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "uint64": st.integers(0, 2**64 - 1),
}


def _values(column: Column) -> st.SearchStrategy[object]:
    values = st.sampled_from(column.choices) if column.choices else _VALUES[column.type]
    return st.none() | values if column.is_nullable else values


_ROWS = st.fixed_dictionaries({}, optional={c.name: _values(c) for c in COLUMNS if c.name != "row_id"})


def _number(row: dict[str, object]) -> int:
    return int(str(row["row_id"]).rpartition(":")[2])


@settings(max_examples=25)
@given(st.lists(_ROWS, max_size=5))
def test_what_is_stored_comes_back_before_and_after_compaction(
    tmp_path_factory: pytest.TempPathFactory, values: list[dict[str, object]]
):
    folder = tmp_path_factory.mktemp("store")
    steps = [node(**value) for value in values]
    before = stored(folder, *steps)
    assert Store(folder).compact().rows == len(steps)
    with Store(folder).snapshot() as snapshot:
        after = snapshot.scan().read_all().to_pylist()
    assert sorted(after, key=_number) == before
    for row, step in zip(before, steps, strict=True):
        assert row == dataclasses.asdict(step) | {"row_id": row["row_id"], "lean_messages": list(step.lean_messages)}


def test_the_reference_s_columns_are_those_that_are_listed_first():
    assert COLUMNS[:14] == REFERENCE_COLUMNS
