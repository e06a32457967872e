"""Checksums of what a store holds: of the lines of its segments, and of the footers of its parts.

Parquet has checksums for pages alone. A footer has none, and one changed bit of it can hide rows from a filter. So a
part has twelve bytes before its footer, where other readers see nothing: a mark, and the footer's CRC-32.
"""

import os
import zlib
from collections.abc import Callable
from typing import BinaryIO

ReadAt = Callable[[int, int], bytes]

_SUM = b',"crc32":"%08x"}'
_SUM_BYTES = len(_SUM % 0)
_MARK = b"ekiden#1"
_TAIL_BYTES = 8  # a Parquet file ends with the length of its footer and "PAR1"


def with_checksum(line: bytes) -> bytes:
    """Return a line that is a JSON object, and holds its own checksum as the last value."""
    text = line[:-2]  # less the brace and the line end
    return text + _SUM % zlib.crc32(text) + b"\n"


def is_as_written(line: bytes) -> bool:
    """Tell whether a line, without its line end, has its checksum."""
    return line[-_SUM_BYTES:] == _SUM % zlib.crc32(line[:-_SUM_BYTES])


def seal_footer(file: BinaryIO) -> None:
    """Put the checksum of its footer into a Parquet file that has just been written and can be read too.

    Raises:
        OSError: It cannot be written.
    """
    size = file.seek(0, os.SEEK_END)
    start, footer = _footer(lambda length, place: os.pread(file.fileno(), length, place), size)
    file.seek(start)
    file.write(_checksum(footer) + footer)


def has_sealed_footer(read_at: ReadAt, size: int) -> bool:
    """Tell whether a Parquet file has the checksum of its footer.

    Args:
        read_at: Reads so many bytes from a place on.
        size: How many bytes the file has.

    Raises:
        OSError: It cannot be read.
    """
    start, footer = _footer(read_at, size)
    wanted = _checksum(footer)
    return start >= len(wanted) and read_at(len(wanted), start - len(wanted)) == wanted


def _checksum(footer: bytes) -> bytes:
    return _MARK + zlib.crc32(footer).to_bytes(4, "little")


def _footer(read_at: ReadAt, size: int) -> tuple[int, bytes]:
    """Return where the footer of a Parquet file begins, and what is in the file from there on."""
    tail = read_at(_TAIL_BYTES, max(0, size - _TAIL_BYTES))
    start = size - _TAIL_BYTES - int.from_bytes(tail[:4], "little")
    if start < 0:
        return 0, b""
    return start, read_at(size - start, start)
