"""Segments: the write-ahead files of the writers, JSON Lines that only grow.

A writer holds the lock of the segment that it writes. So a segment that nobody holds is sealed: it is full, or its
writer has ended, however it ended.
"""

import fcntl
import os
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

_BLOCK = 8 << 20
_FILE = re.compile(r"[0-9]{6,}\.jsonl")


class Segment(NamedTuple):
    """A segment that was there when the folder was looked at.

    Attributes:
        name: Writer and number; no two segments ever have the same.
        path: Where it lies.
    """

    name: str
    path: Path


def new_segment(folder: Path, number: int) -> tuple[BinaryIO, int]:
    """Make the segment with this number or the next that is free; return it, open and locked, and its number.

    Raises:
        OSError: It cannot be made.
    """
    while True:
        folder.mkdir(exist_ok=True)
        path = folder / f"{number:06}.jsonl"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except (FileNotFoundError, FileExistsError):  # a compaction took the empty folder away; or it was used before
            number += path.exists()
            continue
        file = os.fdopen(descriptor, "r+b", buffering=0)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(file, path):
                return file, number
        except BlockingIOError:  # a compaction looks at it: who knows how long, if it was stopped
            pass
        except BaseException:
            file.close()
            raise
        file.close()
        number += 1


def listed_segments(wal: Path) -> list[Segment]:
    """Return the segments of all writers, in the order of their names.

    Raises:
        OSError: The folder cannot be read.
    """
    segments: list[Segment] = []
    for writer in sorted(path for path in wal.iterdir() if not path.name.startswith(".")):
        try:
            names = sorted(path.name for path in writer.iterdir())
        except (FileNotFoundError, NotADirectoryError):  # a compaction took the empty folder away; or not ours
            continue
        segments += [Segment(f"{writer.name}/{name[:-6]}", writer / name) for name in names if _FILE.fullmatch(name)]
    return segments


@contextmanager
def sealed(segment: Segment) -> Generator[BinaryIO | None]:
    """Open a segment and keep it locked if nobody writes it any more; None: somebody does, or it is gone, or not ours.

    Raises:
        OSError: It cannot be opened.
    """
    try:
        descriptor = os.open(segment.path, os.O_RDWR | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):  # a segment of another user is for that user to compact
        yield None
        return
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        yield file if _is_at(file, segment.path) else None


def sealed_size(wal: Path) -> tuple[int, int]:
    """Return how many segments nobody writes any more, and how many bytes they hold; a moment later it may be others.

    Raises:
        OSError: The folder cannot be read.
    """
    files = size = 0
    for segment in listed_segments(wal):
        with sealed(segment) as file:
            if file is not None and (held := os.fstat(file.fileno()).st_size):
                files += 1
                size += held
    return files, size


def whole_lines(file: BinaryIO, size: int, *, start: int = 0, block: int = _BLOCK) -> Iterator[bytes]:
    """Yield `size` bytes of a segment in pieces that end with a line; what is after the last line is not."""
    end_of_all = start + size
    wanted = block
    while start < end_of_all:
        data = os.pread(file.fileno(), min(wanted, end_of_all - start), start)
        end = data.rfind(b"\n") + 1
        if end:
            yield data[:end]
            start += end
            wanted = block
        elif len(data) < wanted:
            return
        else:
            wanted *= 2


def torn_bytes(file: BinaryIO) -> int:
    """Return how many bytes come after the last line end of a segment."""
    size = os.fstat(file.fileno()).st_size
    tail, start = b"", size
    while start > 0 and b"\n" not in tail:
        start = max(0, start - 65_536)
        tail = os.pread(file.fileno(), size - start, start)
    return len(tail) - (tail.rfind(b"\n") + 1)


def _is_at(file: BinaryIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
