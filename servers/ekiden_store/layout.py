"""Where the files of a store lie, who may change them, and what can be found wrong with them."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from filelock import FileLock, Timeout


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
    def changing_parts(self, *, wait: bool = False) -> Generator[bool]:
        """Keep others from changing parts and sealed segments; yield False if another does it now.

        Raises:
            OSError: The folder cannot be written.
        """
        lock = FileLock(self.folder / "parts.lock", timeout=-1 if wait else 0)
        try:
            lock.acquire()
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    @contextmanager
    def giving_ids(self) -> Generator[None]:
        """Keep others from storing rows that bring their own ids.

        Raises:
            OSError: The folder cannot be written.
        """
        with FileLock(self.folder / "ids.lock"):
            yield


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
