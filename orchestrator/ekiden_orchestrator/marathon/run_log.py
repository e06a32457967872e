"""The log of a run for people: tagged lines in `run.log`."""

from pathlib import Path
from typing import Literal, Self

Tag = Literal["marathon", "marathon:stderr", "score"]

MAX_STDERR_BYTES = 16 << 20


class RunLog:
    """Appends lines; what the solver prints is copied up to a limit, so that a flood cannot fill the disk."""

    def __init__(self, path: Path | None) -> None:
        self._file = None if path is None else path.open("a", encoding="utf-8", errors="backslashreplace")
        self._stderr_bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, tag: Tag, *lines: str) -> None:
        """Append lines with a tag."""
        if self._file is None:
            return
        for line in lines:
            if tag == "marathon:stderr":
                if self._stderr_bytes > MAX_STDERR_BYTES:
                    continue
                self._stderr_bytes += len(line) + 1
                if self._stderr_bytes > MAX_STDERR_BYTES:
                    self._file.write("[marathon] further lines of the solver are not copied\n")
                    continue
            self._file.write(f"[{tag}] {line}\n")
        self._file.flush()
