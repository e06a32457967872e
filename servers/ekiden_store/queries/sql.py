"""SQL over a store: one query, answered by duckdb from the rows of a snapshot and from nothing else.

The rows are the table `steps`, without secrets: whatever a query cuts out of a text, it never had them. duckdb holds no
rows of its own, reaches no file, no address and no variable of the program, and changes nothing.
"""

import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from ekiden_store.arrow import ds, pa
from ekiden_store.errors import StoreError
from ekiden_store.redaction.redactor import TEXT_COLUMNS, Redactor
from ekiden_store.redaction.tables import redacted_column, redacted_table
from ekiden_store.schema import STEP_SCHEMA
from ekiden_store.snapshot import Snapshot

TABLE = "steps"
MEMORY_MB = 512
_BATCH_ROWS = 4_096
_SCAN_ROWS = 16_384
_QUESTIONS = frozenset({"SELECT", "EXPLAIN", "MULTI"})  # PIVOT counts as several
_SETTINGS = {
    "python_enable_replacements": "false",  # names of tables are no variables of the program
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "lock_configuration": "true",
}
_INSTALL = "SQL needs duckdb, which is not installed: `pip install 'ekiden[sql]'`."


class _Rows(ds.UnionDataset):
    """The rows of a snapshot, which duckdb gets as it asks for them: a scanner of pyarrow's reads a GiB ahead.

    Attributes:
        snapshot: The store.
    """

    snapshot: Snapshot

    def scanner(self, *, columns: Sequence[str], filter: Any = None, **_: Any) -> "_Scanner":
        return _Scanner(self.snapshot, columns, filter)


class _Scanner(NamedTuple):
    """What duckdb asks of a scanner of pyarrow's."""

    snapshot: Snapshot
    columns: Sequence[str]
    filter: Any

    def to_reader(self) -> Any:
        return self.snapshot.scan(columns=self.columns, filter=self.filter, batch_rows=_SCAN_ROWS)


@contextmanager
def sql_rows(
    snapshot: Snapshot,
    query: str,
    *,
    redactor: Redactor | None = None,
    memory_mb: int = MEMORY_MB,
    threads: int = 2,
) -> Generator[Any]:
    """Ask a store with SQL, and yield the answer as a `pyarrow.RecordBatchReader`, which is read while the block lasts.

    Args:
        snapshot: The store; its rows are the table `steps`.
        query: One query: SELECT, FROM, WITH, PIVOT, DESCRIBE, SUMMARIZE or EXPLAIN.
        redactor: Strikes out secrets; None: those that are known by their shape.
        memory_mb: How much memory duckdb may use, in megabytes; what does not fit goes to temporary files.
        threads: How many threads it may use.

    Raises:
        StoreError: duckdb is not installed, or the query cannot be answered.
    """
    try:
        import duckdb
    except ModuleNotFoundError as error:
        raise StoreError(_INSTALL) from error
    redactor = redactor or Redactor()
    with tempfile.TemporaryDirectory(prefix="ekiden-store-") as folder, _told(duckdb, redactor):
        settings = {"threads": threads, "memory_limit": f"{memory_mb}MB", "temp_directory": folder}
        with duckdb.connect(":memory:", config=cast("Any", settings)) as connection:
            _fill(connection, snapshot, redactor)
            found = _answer(connection, query)
            try:
                yield _without_secrets(found, redactor)
            finally:  # whoever reads no further leaves no thread behind that calls Python
                connection.interrupt()
                found.close()


def _fill(connection: Any, snapshot: Snapshot, redactor: Redactor) -> None:
    """Make the table `steps`, and let the connection reach nothing else."""

    def without_secrets(texts: Any) -> Any:
        return redacted_column(texts, redactor)

    text, texts = "VARCHAR", "VARCHAR[]"
    for name, kind in (("clean_text", text), ("clean_texts", texts)):
        connection.create_function(name, without_secrets, [kind], kind, type="arrow", null_handling="special")
    rows = _Rows(STEP_SCHEMA, [snapshot.dataset()])
    rows.snapshot = snapshot
    connection.register("rows_of_the_store", rows)
    cleaned = dict.fromkeys(TEXT_COLUMNS, "clean_text") | {"lean_messages": "clean_texts"}
    columns = (
        f'{cleaned[name]}("{name}") AS "{name}"' if name in cleaned else f'"{name}"' for name in STEP_SCHEMA.names
    )
    connection.execute(f"CREATE VIEW {TABLE} AS SELECT {', '.join(columns)} FROM rows_of_the_store")  # noqa: S608
    for name, value in _SETTINGS.items():
        connection.execute(f"SET {name} = {value}")


def _answer(connection: Any, query: str) -> Any:
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise StoreError(f"One query is answered at a time; there are {len(statements)}.")
    if statements[0].type.name not in _QUESTIONS:
        raise StoreError(
            "A store is only asked with SQL, and not changed: SELECT, FROM, WITH, PIVOT, DESCRIBE, SUMMARIZE, EXPLAIN."
        )
    found = connection.sql(query)
    if found is None:
        raise StoreError("The query has no answer.")
    read = getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader  # its name before duckdb 2
    return read(_BATCH_ROWS)


def _without_secrets(reader: Any, redactor: Redactor) -> Any:
    batches = (
        batch
        for piece in reader
        for batch in redacted_table(pa.Table.from_batches([piece]), redactor).to_batches(max_chunksize=_BATCH_ROWS)
    )
    return pa.RecordBatchReader.from_batches(reader.schema, batches)


@contextmanager
def _told(duckdb: Any, redactor: Redactor) -> Generator[None]:
    """Tell what is wrong with a query in a few words; duckdb shows values."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise StoreError(
            "The query needs more memory than it may use. Allow more, or ask for fewer columns and groups."
        ) from error
    except duckdb.Error as error:
        raise StoreError(f"The query cannot be answered. {redactor.redact(str(error)).strip()}") from error
