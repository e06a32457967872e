"""What a damaged part still holds is written to another part."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ekiden_store.arrow import pa, pq
from ekiden_store.errors import DamagedPartError
from ekiden_store.parts import listed_parts, open_part, read_header, writing_part
from ekiden_store.schema import conformed


def replaced_parts(folder: Path) -> set[str]:
    """Return the names of the parts that parts of a folder replace."""
    names: set[str] = set()
    for path in listed_parts(folder):
        with suppress(DamagedPartError):
            names |= read_header(path).contents.replaces
    return names


def rescued(path: Path) -> str:
    """Write the sound row groups of a damaged part to a part that replaces it, and tell how many rows they hold.

    Raises:
        OSError: There is no room for that part.
    """
    try:
        part = open_part(path)
        part.close()
        if any((path.parent / name).exists() for name in part.contents.replaces):
            return "Parts that it was merged from are still there."
        with writing_part(path.parent) as other:
            for table in _sound_row_groups(path):
                other.write(table)
            if not other.rows:
                raise DamagedPartError("No row can be saved.")
            other.contents.add(part.contents)
            other.contents.replaces.add(part.name)
    except DamagedPartError:
        return "None of its rows can be read."
    return f"{other.rows} of its {part.rows} rows can be read, and are in another part now."


def _sound_row_groups(path: Path) -> Iterator[Any]:
    with pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False) as file:
        for number in range(file.num_row_groups):
            try:
                table = file.read_row_group(number, use_threads=False)
                table.validate(full=True)
            except (OSError, ValueError, pa.ArrowException):  # this row group is damaged
                continue
            yield conformed(table)
