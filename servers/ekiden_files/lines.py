"""Logs of JSON objects, one a line, that only grow."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from ekiden_files.errors import FilesError
from ekiden_files.whole import sync_folder

_BLOCK = 65_536
_NEW_FILE = 0o666


def append_line(path: Path, value: Mapping[str, object], *, sync: bool = False, mode: int = _NEW_FILE) -> None:
    """Add a line to a log, which is made if it is not there; a last line that was never finished goes first.

    A line survives the end of this process at once, and the end of the machine if `sync` is true. One process may
    write at a time: the caller's lock guards that.

    Raises:
        OSError: It cannot be written.
    """
    line = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode)
    try:
        size = os.fstat(descriptor).st_size
        sound = _sound_size(descriptor, size)
        if sound < size:
            os.ftruncate(descriptor, sound)
        while line:
            line = line[os.write(descriptor, line) :]
        if sync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if is_new and sync:
        sync_folder(path.parent)


def read_lines(path: Path) -> list[dict[str, object]]:
    """Return the objects of a log, none if it is not there; a last line that was never finished is left out.

    Raises:
        FilesError: It is damaged before its end.
        OSError: It cannot be read.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    values: list[dict[str, object]] = []
    lines = data.split(b"\n")[:-1]
    for number, line in enumerate(lines, 1):
        value = _parsed(line)
        if value is None:
            if number == len(lines):
                break  # a crash of the machine can leave a hole where the last line was
            raise FilesError(f"{path}:{number}: this line of the log is damaged.")
        values.append(value)
    return values


def _parsed(line: bytes) -> dict[str, object] | None:
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def _sound_size(descriptor: int, size: int) -> int:
    """Return how many bytes at the beginning are finished lines."""
    tail, start = b"", size
    while start > 0 and tail.count(b"\n") < 2:  # the last whole line and the line end before it
        start = max(0, start - _BLOCK)
        tail = os.pread(descriptor, size - start, start)
    end = tail.rfind(b"\n") + 1
    if end == 0:
        return 0
    last = tail.rfind(b"\n", 0, end - 1) + 1
    return start + (end if _parsed(tail[last : end - 1]) is not None else last)
