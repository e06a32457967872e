"""Facts kept for the next time: one file each, which appears whole or not at all."""

import logging
import os
import tempfile
from pathlib import Path

from pydantic import TypeAdapter

from ekiden_lean.facts import LeanFacts

_LOGGER = logging.getLogger(__name__)
_FACTS = TypeAdapter(LeanFacts)


class FactsStore:
    """A folder of facts. Nothing that goes wrong with it is an error: without it, texts are probed again.

    Args:
        folder: Where the files are; made when first written to.
        max_bytes: Size above which those used longest ago are dropped.
    """

    def __init__(self, folder: Path, *, max_bytes: int = 256 << 20) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def get(self, key: str) -> LeanFacts | None:
        """Return the facts of a key, or None; a file that cannot be read is dropped."""
        path = self._path(key)
        try:
            found = _FACTS.validate_json(path.read_bytes())
            os.utime(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            _LOGGER.warning("dropping the kept facts %s: %s", path.name, type(error).__name__)
            _drop(path)
            return None
        return found

    def put(self, key: str, facts: LeanFacts) -> None:
        """Keep facts, and drop what was used longest ago when there is too much."""
        try:
            _write_whole(self._path(key), _FACTS.dump_json(facts))
            self._prune()
        except OSError as error:
            _LOGGER.warning("cannot keep facts in %s: %s", self._folder, error)

    def _prune(self) -> None:
        files = sorted(
            (found.st_mtime, found.st_size, path) for path in self._folder.glob("*.json") if (found := _stat(path))
        )
        size = sum(file[1] for file in files)
        for _, length, path in files[:-1]:
            if size <= self._max_bytes:
                break
            _drop(path)
            size -= length

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _drop(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _LOGGER.warning("cannot drop %s: %s", path, error)


def _write_whole(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
