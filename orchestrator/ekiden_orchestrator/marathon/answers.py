"""The answers file: opened once and held, since the solver owns the folder it lies in."""

import contextlib
import json
import os
import stat
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, cast

_READ = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TAIL_STEP_BYTES = 1 << 20
_MAX_TAIL_LINE_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class SealedAnswers:
    """The bytes that count when nobody can write any more, and what was unusual about the file."""

    data: bytes
    notes: tuple[str, ...] = ()


class AnswersFile:
    """An answers file that somebody else writes.

    Links, pipes and devices put in its place are never opened; a file put in its place is taken for it.
    """

    def __init__(self, folder_fd: int, name: str, held_fd: int) -> None:
        self._folder_fd = folder_fd
        self._name = name
        self._held_fd = held_fd
        self._largest = 0

    @classmethod
    def create(cls, path: Path) -> Self:
        """Create the file, empty, and hold it."""
        folder_fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            held_fd = os.open(path.name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _READ, 0o644, dir_fd=folder_fd)
        except BaseException:
            os.close(folder_fd)
            raise
        return cls(folder_fd, path.name, held_fd)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._held_fd)
        os.close(self._folder_fd)

    def size(self) -> int:
        """Return the size of the file, or of the ordinary file that is in its place, whichever is larger."""
        size = os.fstat(self._held_fd).st_size
        with contextlib.suppress(OSError):
            there = os.stat(self._name, dir_fd=self._folder_fd, follow_symlinks=False)
            if stat.S_ISREG(there.st_mode):
                size = max(size, there.st_size)
        self._largest = max(self._largest, size)
        return size

    def read_from(self, offset: int) -> bytes:
        """Return some bytes of the held file from an offset on; empty at its end."""
        return os.pread(self._held_fd, _TAIL_STEP_BYTES, offset)

    def seal(self, limit_bytes: int) -> SealedAnswers:
        """Read the answers when every writer is dead, and cut the file to the limit."""
        notes: list[str] = []
        descriptor = self._current(notes)
        try:
            size = os.fstat(descriptor).st_size
            if size < self._largest:
                notes.append(f"The answers file shrank from {self._largest:,} to {size:,} bytes.")
            if size > limit_bytes:
                os.ftruncate(descriptor, limit_bytes)
                notes.append(f"The answers file was cut from {size:,} to {limit_bytes:,} bytes.")
            return SealedAnswers(_read_bounded(descriptor, limit_bytes), tuple(notes))
        finally:
            if descriptor != self._held_fd:
                os.close(descriptor)

    def _current(self, notes: list[str]) -> int:
        """Return a descriptor of the file that counts: an ordinary one in the usual place, else the held one."""
        kept = "the answers written before that count"
        try:
            descriptor = os.open(self._name, os.O_RDWR | _READ, dir_fd=self._folder_fd)
        except FileNotFoundError:
            notes.append(f"The answers file was removed; {kept}.")
            return self._held_fd
        except OSError as error:
            notes.append(f"The answers file was replaced by what is no ordinary file ({error.strerror}); {kept}.")
            return self._held_fd
        status = os.fstat(descriptor)
        if os.path.samestat(status, os.fstat(self._held_fd)):
            os.close(descriptor)
            return self._held_fd
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            os.close(descriptor)
            notes.append(f"The answers file was replaced by a link or by what is no ordinary file; {kept}.")
            return self._held_fd
        notes.append("The answers file was replaced by another ordinary file, which counts.")
        return descriptor


def read_sealed(path: Path, limit_bytes: int) -> SealedAnswers:
    """Read an answers file that nobody writes any more; never raises for what it is or holds."""
    try:
        descriptor = os.open(path, os.O_RDONLY | _READ)
    except FileNotFoundError:
        return SealedAnswers(b"")
    except OSError as error:
        return SealedAnswers(b"", (f"The answers file cannot be read ({error.strerror}); it counts as empty.",))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return SealedAnswers(b"", ("The answers file is no ordinary file; it counts as empty.",))
        notes: tuple[str, ...] = ()
        if status.st_size > limit_bytes:
            notes = (f"The answers file has {status.st_size:,} bytes; the first {limit_bytes:,} count.",)
        return SealedAnswers(_read_bounded(descriptor, limit_bytes), notes)
    finally:
        os.close(descriptor)


def compose(parts: list[bytes]) -> bytes:
    """Join the answers of all attempts, so that each but the last ends its last line."""
    *earlier, last = parts or [b""]
    return b"".join(part if part.endswith(b"\n") or not part else part + b"\n" for part in earlier) + last


def _read_bounded(descriptor: int, limit_bytes: int) -> bytes:
    data = bytearray()
    while len(data) < limit_bytes:
        part = os.pread(descriptor, min(_TAIL_STEP_BYTES, limit_bytes - len(data)), len(data))
        if not part:
            break
        data += part
    return bytes(data)


@dataclass(slots=True)
class AnswersTail:
    """Counts answers by what they claim while the solver runs; for display only."""

    offset: int = 0
    rest: bytes = b""
    claims: dict[str, str] = field(default_factory=dict[str, str])

    def read_more(self, file: AnswersFile) -> None:
        """Take in some of what has been written since."""
        part = file.read_from(self.offset)
        self.offset += len(part)
        *lines, rest = (self.rest + part).split(b"\n")
        self.rest = rest if len(rest) <= _MAX_TAIL_LINE_BYTES else b""
        for line in lines:
            try:
                value = cast("object", json.loads(line))
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                record = cast("dict[str, object]", value)
                name, verdict = record.get("id"), record.get("verdict")
                if isinstance(name, str):
                    self.claims[name] = str(verdict) if verdict in ("true", "false") else "other"

    def counts(self) -> Counter[str]:
        """Return how many problems have an answer, by claim."""
        return Counter(self.claims.values())
