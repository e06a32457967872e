"""Secrets in tables: what leaves the store as rows and columns."""

from collections.abc import Collection
from typing import Any, cast

from ekiden_store.arrow import pa
from ekiden_store.redaction.redactor import Redactor

_PIECE = 1_024  # a secret in one text makes so many others slow to look at, no more


def redacted_table(table: Any, redactor: Redactor, *, but: Collection[str] = ()) -> Any:
    """Return a table without the secrets in its texts, lists and structures of texts.

    Args:
        table: The table.
        redactor: Strikes out secrets.
        but: Columns that stay as they are: ids and hashes.
    """
    columns = [
        table.column(name) if name in but else redacted_column(table.column(place), redactor)
        for place, name in enumerate(table.column_names)
    ]
    return pa.table(columns, schema=table.schema)


def redacted_column(column: Any, redactor: Redactor) -> Any:
    """Return a column of a table without the secrets in its texts."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _redacted_texts(column, redactor)
    if not _holds_texts(column.type):
        return column
    values = cast("list[object]", column.to_pylist())
    changed = [_redacted(value, redactor) for value in values]
    return column if changed == values else pa.chunked_array([pa.array(changed, column.type)])


def _redacted_texts(column: Any, redactor: Redactor) -> Any:
    chunks: list[Any] = []
    for chunk in column.chunks:
        encoded = chunk.dictionary_encode()
        texts = cast("list[str]", encoded.dictionary.to_pylist())
        pieces = (redactor.redact_all(texts[start : start + _PIECE]) for start in range(0, len(texts), _PIECE))
        clean = [text for piece in pieces for text in piece]
        chunks.append(chunk if clean == texts else pa.array(clean, column.type).take(encoded.indices))
    return pa.chunked_array(chunks, column.type)


def _holds_texts(kind: Any) -> bool:
    types = pa.types
    if types.is_dictionary(kind) or types.is_map(kind):
        return True
    if types.is_nested(kind):
        return any(_holds_texts(kind.field(place).type) for place in range(kind.num_fields))
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _redacted(value: object, redactor: Redactor) -> object:
    if isinstance(value, str):
        return redactor.redact(value)
    if isinstance(value, dict):
        return {_redacted(key, redactor): _redacted(each, redactor) for key, each in cast("Any", value).items()}
    if isinstance(value, list | tuple):
        changed = [_redacted(each, redactor) for each in cast("list[object]", value)]
        return tuple(changed) if isinstance(value, tuple) else changed
    return value
