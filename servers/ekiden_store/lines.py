"""Lines of segments as tables."""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, cast

from ekiden_store.arrow import pa, pj
from ekiden_store.checksums import is_as_written
from ekiden_store.schema import LINE_SCHEMA, conformed

_PARSED_BYTES = 8 << 20


def segment_tables(pieces: Iterable[tuple[str, bytes]], on_damage: Callable[[str, bytes], None]) -> Iterator[Any]:
    """Yield the rows of segments as tables with `STEP_SCHEMA`, some megabytes at a time, however small they are.

    Args:
        pieces: Whole lines, and the segment that they come from.
        on_damage: Called with the segment and every line of it that is not as it was written, as a crash of the machine
            can leave one.
    """
    waiting: list[tuple[str, bytes]] = []
    size = 0
    for name, piece in pieces:
        waiting.append((name, piece))
        size += len(piece)
        if size >= _PARSED_BYTES:
            yield _joint_table(waiting, on_damage)
            waiting, size = [], 0
    if waiting:
        yield _joint_table(waiting, on_damage)


def _joint_table(pieces: list[tuple[str, bytes]], on_damage: Callable[[str, bytes], None]) -> Any:
    table = _table(b"".join(piece for _, piece in pieces))
    if table is not None:
        return table
    return pa.concat_tables([_table_of_sound_lines(piece, partial(on_damage, name)) for name, piece in pieces])


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


def _table_of_sound_lines(piece: bytes, on_damage: Callable[[bytes], None]) -> Any:
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
