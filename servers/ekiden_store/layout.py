"""Where the files of a store lie, who may change them, and what can be found wrong with them."""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from filelock import FileLock, Timeout

_FOR_ALL = 0o666  # less what the process's umask takes away


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the files of a store lie.

    Attributes:
        folder: The store.
    """

    folder: Path

    @property
    def about(self) -> Path:
        """The file that says what this is: its version and when it was made."""
        return self.folder / "store.json"

    @property
    def wal(self) -> Path:
        """The folder of the segments, a folder for each writer."""
        return self.folder / "wal"

    @property
    def parts(self) -> Path:
        """The folder of the parts."""
        return self.folder / "parts"

    @property
    def aside(self) -> Path:
        """The folder of what was found damaged."""
        return self.folder / "aside"

    @contextmanager
    def compacting(self) -> Generator[bool]:
        """Keep others from compacting; yield False if another does it now.

        Raises:
            OSError: The folder cannot be written.
        """
        with _locked(self.folder / "compact.lock", wait=False) as is_ours:
            yield is_ours

    @contextmanager
    def changing_parts(self, *, wait: bool) -> Generator[bool]:
        """Keep others from changing parts and sealed segments; yield False if another does it now.

        Args:
            wait: Whether to wait until nobody else does.

        Raises:
            OSError: The folder cannot be written.
        """
        with _locked(self.folder / "parts.lock", wait=wait) as is_ours:
            yield is_ours

    @contextmanager
    def giving_ids(self) -> Generator[None]:
        """Keep others from storing rows that bring their own ids.

        Raises:
            OSError: The folder cannot be written.
        """
        with _locked(self.folder / "ids.lock", wait=True):
            yield


@contextmanager
def _locked(path: Path, *, wait: bool) -> Generator[bool]:
    if not path.parent.is_dir():  # the lock would make it
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    lock = FileLock(path, timeout=-1 if wait else 0, mode=_FOR_ALL)
    try:
        lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


class Finding(NamedTuple):
    """Something that was wrong with a file of the store.

    Attributes:
        kind: What.
        name: The segment or the file.
        detail: What was done about it, or what is to be done.
    """

    kind: Literal["torn_tail", "damaged_line", "damaged_part", "half_written_part"]
    name: str
    detail: str
