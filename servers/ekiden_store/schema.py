"""The schema of trajectory files, and rows that are brought to it."""

from collections.abc import Iterable
from typing import Any

from ekiden_store.arrow import pa, pc
from ekiden_store.columns import COLUMNS, REFERENCE_COLUMNS, SCHEMA_VERSION, Column
from ekiden_store.errors import StoreError, one_line

__all__ = ["LINE_SCHEMA", "REFERENCE_SCHEMA", "SCHEMA_VERSION", "STEP_SCHEMA", "conformed"]

_TYPES: dict[str, Any] = {
    "text": pa.string(),
    "texts": pa.list_(pa.string()),
    "bool": pa.bool_(),
    "float64": pa.float64(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
}


def _schema(columns: Iterable[Column], *, all_nullable: bool = False) -> Any:
    return pa.schema(
        [pa.field(column.name, _TYPES[column.type], nullable=all_nullable or column.is_nullable) for column in columns]
    )


STEP_SCHEMA = _schema(COLUMNS)
REFERENCE_SCHEMA = _schema(REFERENCE_COLUMNS)
LINE_SCHEMA = _schema(COLUMNS, all_nullable=True)  # a line leaves out what is at its default


def conformed(table: Any) -> Any:
    """Return a table of rows with `STEP_SCHEMA`: its columns, cast, with defaults where there is nothing.

    Raises:
        StoreError: A value does not fit its column.
    """
    return pa.table([_filled(table, column) for column in COLUMNS], schema=STEP_SCHEMA)


def _filled(table: Any, column: Column) -> Any:
    wanted = _TYPES[column.type]
    rows = table.num_rows
    if column.name not in table.column_names:
        return _defaults(column, rows)
    values = table.column(column.name)
    if values.type != wanted:
        try:
            values = values.cast(wanted)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise StoreError(f"The column {column.name!r} is to hold {wanted} values: {one_line(error)}") from error
    if column.is_nullable or not values.null_count:
        return values
    if values.null_count == rows:
        return _defaults(column, rows)
    if column.type == "texts":
        return pc.if_else(values.is_valid(), values, pa.scalar([], wanted))
    return pc.fill_null(values, pa.scalar(column.default, wanted))


def _defaults(column: Column, rows: int) -> Any:
    wanted = _TYPES[column.type]
    if column.is_nullable:
        return pa.nulls(rows, wanted)
    return pa.repeat(pa.scalar([] if column.type == "texts" else column.default, wanted), rows)
