"""Facts kept for the next time: one file each, which appears whole or not at all."""

import logging
import os
from pathlib import Path

from pydantic import TypeAdapter

from ekiden_lean.facts import LeanFacts
from ekiden_lean.kept_files import drop, keep

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
            drop(path)
            return None
        return found

    def put(self, key: str, facts: LeanFacts) -> None:
        """Keep facts, and drop what was used longest ago when there is too much."""
        try:
            keep(self._path(key), _FACTS.dump_json(facts))
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
            drop(path)
            size -= length

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None
