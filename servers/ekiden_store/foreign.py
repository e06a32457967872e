"""Rows of files that others wrote: what they hold is right, or the file is refused and the message says why."""

from typing import Any

from ekiden_store.arrow import pa, pc
from ekiden_store.columns import COLUMNS, INTEGER_RANGES, Column
from ekiden_store.errors import StoreError, one_line
from ekiden_store.schema import conformed

_NEVER_EMPTY = {"theorem_name", "state_id", "state_pp", "tactic_applied", "depth_from_root", "row_id", "kind"}
_EXACT = 2**53  # up to here each whole number is a float


def foreign_rows(table: Any) -> Any:
    """Return a table of rows with `STEP_SCHEMA`: its columns, cast, with defaults where there is nothing.

    Times become milliseconds. What would have to be guessed is refused: a missing id, state or tactic, a number for a
    text, a float that may have been rounded for a whole number, bytes that are no text.

    Raises:
        StoreError: A value does not fit its column.
    """
    columns = [(column, table.column(column.name)) for column in COLUMNS if column.name in table.column_names]
    return conformed(pa.table({column.name: _checked(column, values) for column, values in columns}))


def require_own_values(table: Any) -> None:
    """Refuse rows with `STEP_SCHEMA` that have no id, or hold a text which its column does not know.

    Raises:
        StoreError: There is such a row.
    """
    if pc.any(pc.equal(table.column("row_id"), "")).as_py():
        raise StoreError("The column 'row_id' is empty in some rows. Leave them out, or the column.")
    for column in COLUMNS:
        if column.choices:
            values = table.column(column.name)
            unknown = values.filter(pc.invert(pc.is_in(values, pa.array(column.choices))))
            if len(unknown):
                raise StoreError(
                    f"The column {column.name!r} holds one of {', '.join(map(repr, column.choices))}, "
                    f"not {unknown[0].as_py()!r}."
                )


def _checked(column: Column, values: Any) -> Any:
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if column.name in _NEVER_EMPTY and values.null_count:
        raise StoreError(
            f"The column {column.name!r} has no value in {values.null_count} rows. Fill them, or leave them out."
        )
    if column.type == "text":
        _require_text(column, values, kind)
    elif column.name == "timestamp_ms" and pa.types.is_timestamp(kind):
        return values.cast(pa.timestamp("ms", kind.tz), safe=False).cast(pa.int64())
    elif pa.types.is_floating(kind) and (column.type == "bool" or column.type in INTEGER_RANGES):
        _require_whole(column, values, kind)
    elif column.type == "bool" and pa.types.is_integer(kind) and pc.any(pc.greater(pc.abs(values), 1)).as_py():
        raise StoreError(f"The column {column.name!r} holds truths, as 0 and 1, not {pc.max(values).as_py()!r}.")
    return values


def _require_text(column: Column, values: Any, kind: Any) -> None:
    is_bytes = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if not (is_text or is_bytes or pa.types.is_null(kind)):
        raise StoreError(f"The column {column.name!r} is to hold texts, not {kind} values.")
    try:
        values.validate(full=True)  # Parquet readers take any bytes for text
    except pa.ArrowInvalid as error:
        raise StoreError(f"The column {column.name!r} is to hold texts: {one_line(error)}") from error


def _require_whole(column: Column, values: Any, kind: Any) -> None:
    if column.type == "bool":
        raise StoreError(f"The column {column.name!r} is to hold truths, not {kind} values.")
    if pc.any(pc.greater_equal(pc.abs(values), _EXACT)).as_py():
        raise StoreError(
            f"The column {column.name!r} holds floats so large that they may have been rounded. "
            f"Write it as {column.type}."
        )
