"""Rows on their way out: as a table on a terminal, as JSON Lines or CSV, or as a file."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal, cast

from ekiden_orchestrator.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

Form = Literal["table", "json", "csv", "parquet"]
_FORMS: dict[str, Form] = {".parquet": "parquet", ".csv": "csv", ".jsonl": "json"}
_MEASURED = 500
_NARROWEST = 6
_WIDEST_UNCUT = 48
_GAP = 2


def form_of(out: Path | None, *, as_json: bool, as_csv: bool) -> Form:
    """Return how rows are to be written.

    Raises:
        CommandError: Two ways at once are asked for, or the file's name tells none.
    """
    if (out is not None) + as_json + as_csv > 1:
        raise CommandError("Say one of --out, --json and --csv.")
    if out is None:
        return "json" if as_json else "csv" if as_csv else "table"
    if out.suffix not in _FORMS:
        raise CommandError(f"{str(out)!r} tells no format: a name ends in .parquet, .csv or .jsonl.")
    return _FORMS[out.suffix]


def write_rows(reader: Any, form: Form, out: Path | None) -> int:
    """Write rows, as they come.

    Args:
        reader: The rows: something with `schema` that yields batches.
        form: How.
        out: The file; None: standard output.

    Returns:
        How many there were.

    Raises:
        CommandError: The file cannot be written; what was there is still there.
    """
    if out is None:
        written = _Counted(reader)
        if form == "table":
            print_table(reader.schema.names, written.rows(), right=_numbers(reader.schema))
        else:
            _write_lines(written, form, sys.stdout)
        return written.count
    with _whole(out) as file:
        written = _Counted(reader)
        if form == "parquet":
            _write_parquet(written, file)
        else:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
            _write_lines(written, form, text)
            text.detach()
    return written.count


def print_table(names: Sequence[str], rows: Iterable[Sequence[object]], *, right: frozenset[str] = frozenset()) -> None:
    """Print rows as a table. On a terminal they are cut to its width, or shown below each other if that is too small.

    Args:
        names: The columns.
        rows: Their values.
        right: The columns that stand at the right.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    waiting = iter([_shown(value) for value in row] for row in rows)
    if not (first := list(islice(waiting, _MEASURED))):
        return
    widths = [_width(name, [row[place] for row in first]) for place, name in enumerate(names)]
    if console.is_terminal and not (widths := _fitted(widths, console.width)):
        _print_records(console, names, chain(first, waiting))
        return
    widths = [width if console.is_terminal else min(width, _WIDEST_UNCUT) for width in widths]

    def line(cells: Sequence[str]) -> str:
        placed = zip(cells, widths, names, strict=True)
        return (" " * _GAP).join(
            _cell(cell, width, right=name in right, cut=console.is_terminal) for cell, width, name in placed
        )

    console.print(Text(line(names).rstrip(), style="bold"))
    for row in chain(first, waiting):
        console.print(Text(line(row).rstrip()))


class _Counted:
    """Batches that are counted as they pass."""

    def __init__(self, reader: Any) -> None:
        self.schema = reader.schema
        self.count = 0
        self._reader = reader

    def batches(self) -> Iterator[Any]:
        for batch in self._reader:
            self.count += batch.num_rows
            yield batch

    def rows(self) -> Iterator[list[object]]:
        for batch in self.batches():
            columns = [column.to_pylist() for column in batch.columns]
            yield from (list(row) for row in zip(*columns, strict=True))


def _write_lines(counted: _Counted, form: Form, file: Any) -> None:
    names = cast("list[str]", counted.schema.names)
    if form == "json":
        for row in counted.rows():
            file.write(json.dumps(dict(zip(names, map(_plain, row), strict=True)), ensure_ascii=False) + "\n")
        return
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    for row in counted.rows():
        writer.writerow([_csv_cell(value) for value in row])


def _write_parquet(counted: _Counted, file: BinaryIO) -> None:
    from ekiden_store.arrow import pa, pq

    with pq.ParquetWriter(file, counted.schema, compression="zstd") as parquet:
        for batch in counted.batches():
            parquet.write_table(pa.Table.from_batches([batch]))


@contextmanager
def _whole(out: Path) -> Generator[BinaryIO]:
    from ekiden_files import writing_whole
    from ekiden_store.arrow import pa

    try:
        with writing_whole(out) as file:
            yield file
    except (OSError, pa.ArrowNotImplementedError) as error:
        raise CommandError(
            f"{str(out)!r} cannot be written: {getattr(error, 'strerror', None) or str(error).splitlines()[0]}."
        ) from error


def _numbers(schema: Any) -> frozenset[str]:
    from ekiden_store.arrow import pa

    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return frozenset(field.name for field in schema if any(is_kind(field.type) for is_kind in kinds))


def _plain(value: object) -> object:
    """Return a value as JSON can hold it."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in cast("dict[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("Sequence[object]", value)]
    return value.hex() if isinstance(value, bytes) else str(value)


def _csv_cell(value: object) -> object:
    if value is None or isinstance(value, str | int | float):
        return value
    plain = _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _shown(value: object) -> str:
    from ekiden_orchestrator.visible_text import visible

    if isinstance(value, float):
        return f"{value:.6g}"
    cell = _csv_cell(value)
    return "" if cell is None else visible(" ".join(str(cell).split()) if isinstance(cell, str) else str(cell))


def _width(name: str, cells: Sequence[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, (name, *cells)))


def _fitted(widths: Sequence[int], room: int) -> list[int]:
    """Return widths that fit, the widest ones narrowed; nothing if that leaves too little of them."""
    fitted = list(widths)
    while (over := sum(fitted) + _GAP * (len(fitted) - 1) - room) > 0:
        widest = max(fitted)
        second = max((width for width in fitted if width < widest), default=0)
        at = [place for place, width in enumerate(fitted) if width == widest]
        less = min(widest - max(second, _NARROWEST), -(-over // len(at)))
        if less <= 0:
            return []
        for place in at:
            fitted[place] -= less
    return fitted


def _cell(text: str, width: int, *, right: bool, cut: bool) -> str:
    from rich.cells import cell_len, set_cell_size

    length = cell_len(text)
    if length > width:
        return f"{set_cell_size(text, width - 1)}…" if cut else text
    return " " * (width - length) + text if right else text + " " * (width - length)


def _print_records(console: Any, names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print each row as lines of names and values, those without a value left out."""
    from rich.text import Text

    room = max(map(len, names))
    for number, row in enumerate(rows, 1):
        console.print(Text(f"{number}", style="bold"))
        for name, cell in zip(names, row, strict=True):
            if cell:
                console.print(Text.assemble((f"  {name:{room}}  ", "dim"), cell), soft_wrap=True)
