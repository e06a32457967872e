"""SQL over a store."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ekiden_store import Step, Store, StoreError
from ekiden_store.queries.sql import sql_rows
from ekiden_store.redaction.redactor import Redactor

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a store with rows in parts and rows that were only appended."""
    store = Store(tmp_path / "store")
    with store.writer() as writer:
        writer.append(
            [
                Step(
                    theorem_name=f"t{number % 2}",
                    kind="tool_call",
                    step=number,
                    tool_output=f"key {SECRET}",
                    lean_messages=(f"saw {SECRET}",),
                )
                for number in range(10)
            ]
        )
    store.compact()
    with store.writer() as writer:
        writer.append([Step(theorem_name="late", kind="tactic", step=10)])
    return store


def asked(store: Store, query: str, **options: Any) -> list[dict[str, Any]]:
    with store.snapshot() as snapshot, sql_rows(snapshot, query, **options) as reader:
        return reader.read_all().to_pylist()


def test_all_rows_are_seen_once_those_that_were_only_appended_among_them(store: Store):
    assert asked(store, "SELECT theorem_name, count(*) AS rows FROM steps GROUP BY ALL ORDER BY ALL") == [
        {"theorem_name": "late", "rows": 1},
        {"theorem_name": "t0", "rows": 5},
        {"theorem_name": "t1", "rows": 5},
    ]
    assert asked(store, "SELECT count(*) AS pairs FROM steps AS a JOIN steps AS b USING (row_id)") == [{"pairs": 11}]


def test_a_store_without_rows_is_asked_too(tmp_path: Path):
    assert asked(Store(tmp_path / "store"), "SELECT count(*) AS rows FROM steps") == [{"rows": 0}]


@pytest.mark.parametrize(
    "what",
    [
        "tool_output",
        "lean_messages",
        "reverse(tool_output)",
        "substr(tool_output, 9)",
        "hex(tool_output)",
        "struct_pack(a := tool_output)",
        "string_agg(tool_output)",
    ],
)
def test_a_query_never_sees_a_secret_whatever_it_cuts_out_of_a_text(store: Store, what: str):
    told = str(asked(store, f"SELECT {what} AS told FROM steps WHERE kind = 'tool_call'"))
    assert not any(hidden in told for hidden in (SECRET, SECRET[::-1], SECRET[4:], SECRET.encode().hex().upper()))


def test_what_is_compared_with_a_secret_does_not_tell_it(store: Store):
    assert asked(store, f"SELECT step FROM steps WHERE contains(tool_output, '{SECRET}')") == []
    own = Redactor(variables={"NAME": "late late"})
    assert asked(store, "SELECT 'late' || ' late' AS told", redactor=own) == [{"told": "[redacted:variable]"}]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM glob('/*')",
        "SELECT getenv('HOME')",
        "SELECT * FROM hidden_rows",
        "COPY steps TO '{file}.csv'",
        "COPY (SELECT 1) TO '{file}'",
        "ATTACH '{file}'",
        "INSTALL httpfs",
        "SET threads = 8",
        "DELETE FROM steps",
        "CREATE TABLE t (a INT)",
        "SELECT 1; SELECT 2",
        "",
    ],
)
def test_a_query_reaches_nothing_but_the_store_and_changes_nothing(store: Store, tmp_path: Path, query: str):
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n1,2\n")
    hidden_rows = {"a": [1]}
    with pytest.raises(StoreError):
        asked(store, query.format(file=file))
    assert hidden_rows
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv", "store"]
    assert file.read_text() == "a,b\n1,2\n"


def test_what_is_wrong_with_a_query_is_told_and_shows_no_secret(store: Store):
    with pytest.raises(StoreError, match='"nope" not found'):
        asked(store, "SELECT nope FROM steps")
    with pytest.raises(StoreError, match="Could not convert") as told:
        asked(store, "SELECT CAST(tool_output AS INT) FROM steps WHERE step < 5")
    assert SECRET not in str(told.value)


def test_a_query_that_needs_more_memory_than_it_may_use_says_so(store: Store):
    with pytest.raises(StoreError, match="more memory than it may use"):
        asked(store, "SELECT list(repeat('x', 1000000) || i) AS l FROM range(1000) AS r(i)", memory_mb=64)


def test_without_duckdb_the_extra_is_named(store: Store):
    program = """
import sys
from pathlib import Path
sys.modules["duckdb"] = None
from ekiden_store import Store, StoreError
from ekiden_store.queries.sql import sql_rows
try:
    with Store(Path(sys.argv[1])).snapshot() as snapshot, sql_rows(snapshot, "SELECT 1"):
        pass
except StoreError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program, store.folder], capture_output=True, text=True, check=True)
    assert done.stdout == "SQL needs duckdb, which is not installed: `pip install 'ekiden[sql]'`.\n"


def test_whoever_reads_no_further_ends_the_query(store: Store):
    with store.snapshot() as snapshot:
        with sql_rows(snapshot, "SELECT a.*, r.i FROM steps AS a, range(100000) AS r(i)") as reader:
            assert next(iter(reader)).num_rows
        assert asked(store, "SELECT count(*) AS rows FROM steps") == [{"rows": 11}]
