"""The writer of a process: it appends steps to its own write-ahead file."""

import os
import platform
import re
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

from ekiden_files import sync_folder
from ekiden_store.checksums import with_checksum
from ekiden_store.errors import InvalidStepError, NotStoredError
from ekiden_store.segments import new_segment
from ekiden_store.steps import Step, step_line

SEGMENT_BYTES = 16 << 20


class Writer:
    """Appends steps. Made by `Store.writer`; one is enough for a process, threads may share it.

    A step is acknowledged when `append` returns: it then outlives this process, however that ends.
    """

    def __init__(
        self,
        wal: Path,
        *,
        producer: str,
        segment_bytes: int,
        known: Callable[[Sequence[str]], AbstractContextManager[set[str]]],
    ) -> None:
        if not isinstance(cast("object", producer), str):
            raise InvalidStepError(f"What makes the rows is named by a text, not {producer!r}.")
        self._wal = wal
        self._producer = producer
        self._segment_bytes = segment_bytes
        self._known = known
        self._guard = threading.Lock()  # guards everything below: one thread writes at a time
        self._file: BinaryIO | None = None
        self._size = 0
        self._is_name_safe = False
        self._start_anew()
        _writers.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """What this writer is called; no other ever has the same name."""
        return self._name

    def append(self, steps: Iterable[Step], *, sync: bool = False) -> list[str]:
        """Store steps, all or none of them, and return their ids.

        Some thousands at a time are quickest. A step that brings an id which the store has already is not stored again:
        so a caller that does not know whether a batch was stored may send it again.

        Args:
            steps: What to store.
            sync: Whether it must outlive a crash of the machine too.

        Raises:
            InvalidStepError: A step does not fit; nothing was stored.
            NotStoredError: The file cannot be written; nothing was stored.
            StoreError: Whether the ids are there already cannot be found out.
        """
        steps = list(steps)
        with self._guard:
            ids, lines = self._encoded(steps)
            given = [step.row_id for step in steps if step.row_id]
            if given:
                with self._known(given) as known:
                    self._write([line for row_id, line in lines.items() if row_id not in known], sync=sync)
            else:
                self._write(lines.values(), sync=sync)
        return ids

    def close(self) -> None:
        """Let go of the file, so that it can be compacted; a later `append` starts another."""
        with self._guard:
            self._seal()

    def forget(self) -> None:
        """Let go of what belongs to the parent: called in a child after a fork, where no other thread runs."""
        self._guard = threading.Lock()
        file, self._file = self._file, None
        if file is not None:
            file.close()
        self._start_anew()

    def _start_anew(self) -> None:
        host = re.sub(r"[^A-Za-z0-9-]", "-", platform.node())[:24] or "host"
        self._name = f"{host}-{os.getpid()}-{time.time_ns() // 1_000_000}-{secrets.token_hex(6)}"
        self._number = 1
        self._rows = 0

    def _encoded(self, steps: list[Step]) -> tuple[list[str], dict[str, bytes]]:
        """Return the ids of some steps and their lines; of two steps with the same id the first counts."""
        now_ms = max(0, time.time_ns() // 1_000_000)
        ids: list[str] = []
        lines: dict[str, bytes] = {}
        for number, step in enumerate(steps, self._rows):
            row_id = step.row_id or f"{self._name}:{number}"
            ids.append(row_id)
            line = step_line(step, row_id=row_id, now_ms=now_ms, producer=self._producer)
            lines.setdefault(row_id, with_checksum(line))
        self._rows += len(steps)  # whether they are stored or not: a reader may see a row that is then taken back
        return ids, lines

    def _write(self, lines: Iterable[bytes], *, sync: bool) -> None:
        data = b"".join(lines)
        if not data:
            return
        try:
            self._extend(self._open_file(), data, sync=sync)
        except OSError as error:
            raise NotStoredError(
                f"Nothing was stored: {str(self._wal)!r} cannot be written ({error.strerror}). "
                "Make room or give access, and send the same steps again."
            ) from error
        if self._size >= self._segment_bytes:
            self._seal()

    def _open_file(self) -> BinaryIO:
        """Return the segment, another one if somebody has deleted or changed it, or its last row was cut short."""
        if self._file is not None:
            found = os.fstat(self._file.fileno())
            if found.st_nlink and found.st_size == self._size:
                return self._file
            self._seal()
        self._file, self._number = new_segment(self._wal / self._name, self._number)
        self._size = 0
        self._is_name_safe = False
        return self._file

    def _extend(self, file: BinaryIO, data: bytes, *, sync: bool) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(file.fileno(), rest) :]
            if sync:
                os.fsync(file.fileno())
                if not self._is_name_safe:
                    sync_folder(self._wal / self._name)
                    sync_folder(self._wal)
                    self._is_name_safe = True
        except BaseException:
            with suppress(OSError):  # what cannot be taken back is seen by the next append, which begins another file
                os.ftruncate(file.fileno(), self._size)
            raise
        self._size += len(data)

    def _seal(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            self._number += 1
            try:
                file.close()
            except OSError as error:  # a full server may tell only now
                raise NotStoredError(
                    f"What was appended to {str(self._wal / self._name)!r} last may not be stored ({error.strerror}). "
                    "Make room, and append with `sync` where this matters."
                ) from error


_writers: "weakref.WeakSet[Writer]" = weakref.WeakSet()


def _forget_all() -> None:
    for writer in _writers:
        writer.forget()


os.register_at_fork(after_in_child=_forget_all)
