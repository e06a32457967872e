"""Lines of segments as tables."""

import json
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

from ekiden_store.arrow import pa, pj
from ekiden_store.checksums import is_as_written
from ekiden_store.schema import LINE_SCHEMA, conformed
from ekiden_store.segments import whole_lines

OnDamage = Callable[[bytes], None]


def segment_tables(file: BinaryIO, size: int, on_damage: OnDamage) -> Iterator[Any]:
    """Yield the rows of the first `size` bytes of a segment as tables with `STEP_SCHEMA`, some megabytes at a time.

    Args:
        file: The segment.
        size: How far to read.
        on_damage: Called with every line that is not as it was written, as a crash of the machine can leave one.
    """
    for piece in whole_lines(file, size):
        table = _table(piece)
        yield _table_of_sound_lines(piece, on_damage) if table is None else table


def _table(piece: bytes) -> Any | None:
    """Return the rows of some lines; None if one of them is damaged."""
    if not all(map(is_as_written, piece.split(b"\n")[:-1])):
        return None
    try:
        if not piece.isascii():
            piece.decode()  # pyarrow takes any bytes for text
        return conformed(
            pj.read_json(
                pa.BufferReader(piece),
                parse_options=pj.ParseOptions(explicit_schema=LINE_SCHEMA, unexpected_field_behavior="ignore"),
                read_options=pj.ReadOptions(use_threads=False, block_size=len(piece) + 1),
            )
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None


def _table_of_sound_lines(piece: bytes, on_damage: OnDamage) -> Any:
    tables: list[Any] = []
    for line in piece.split(b"\n")[:-1]:
        table = _table(line + b"\n") if _holds_a_row(line) else None
        if table is None or table.num_rows != 1:
            on_damage(line)
        else:
            tables.append(table)
    return pa.concat_tables(tables) if tables else conformed(LINE_SCHEMA.empty_table())


def _holds_a_row(line: bytes) -> bool:
    try:
        row: object = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and bool(cast("dict[str, object]", row).get("row_id"))
