"""Verdicts kept for the next time, by what they depend on.

One small file a result, in a folder for each of 256 beginnings of its key. Files appear whole or not at all, so any
number of processes may read and write at once; a file that cannot be read is dropped and its answer checked again.
"""

import hashlib
import json
import logging
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from ekiden_judge.checker import Checker, CheckItem, CheckResult, Done
from ekiden_lean.kept_files import drop, keep

FORMAT = 1
"""Counts up when results of the past would be read wrongly."""

DAY_S = 86_400.0
_LOGGER = logging.getLogger(__name__)
_SUFFIX = ".json"


class _Entry(BaseModel):
    """A file of the store. The key inside tells a file that was moved or mixed up."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    result: CheckResult


_ENTRY = TypeAdapter(_Entry)


class _File(NamedTuple):
    used: float
    size: int
    path: Path


class ResultStore:
    """A folder of results.

    Nothing that goes wrong with it is an error: without a store, answers are checked again.

    Args:
        folder: Where the files are; made when first written to.
        max_bytes: Size above which `prune` drops what was used longest ago.
        max_age_s: Seconds after which `prune` drops what nobody has asked for.
    """

    def __init__(self, folder: Path, *, max_bytes: int, max_age_s: float) -> None:
        self._folder = folder
        self._max_bytes = max_bytes
        self._max_age_s = max_age_s
        self._pruned = False

    def get(self, key: str) -> CheckResult | None:
        """Return the result of a key, or None."""
        path = self._path(key)
        try:
            entry = _ENTRY.validate_json(path.read_bytes())
            if entry.key != key:
                raise ValueError("the file belongs to another key")
            os.utime(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:  # pydantic's ValidationError is a ValueError
            reason = "it is damaged" if isinstance(error, ValidationError) else str(error)
            _LOGGER.warning("dropping the kept result %s: %s", path.name, reason)
            drop(path)
            return None
        return entry.result

    def put(self, key: str, result: CheckResult) -> None:
        """Keep a result; the first one of each store prunes it."""
        path = self._path(key)
        try:
            keep(path, _ENTRY.dump_json(_Entry(key=key, result=result)))
        except OSError as error:
            _LOGGER.warning("cannot keep results in %s: %s", self._folder, error)
        if not self._pruned:
            self._pruned = True
            self.prune()

    def prune(self, *, now: float | None = None) -> int:
        """Drop what is too old, then what was used longest ago until the rest is small enough; return how many."""
        now = time.time() if now is None else now
        kept = sorted(self._files())
        size = sum(file.size for file in kept)
        dropped = 0
        for file in kept:
            if now - file.used <= self._max_age_s and size <= self._max_bytes:
                break
            drop(file.path)
            size -= file.size
            dropped += 1
        return dropped

    def _files(self) -> Iterator[_File]:
        for path in self._folder.glob("[0-9a-f][0-9a-f]/*"):
            try:
                found = path.stat()
            except OSError:
                continue
            yield _File(found.st_mtime, found.st_size, path)

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}{_SUFFIX}"


class CachedChecker:
    """A checker that asks another one only what is not kept.

    Kept are results that the same check would give again: no errors of ours, no time-outs, no crashes.
    """

    def __init__(self, inner: Checker, store: ResultStore) -> None:
        self._inner = inner
        self._store = store

    @property
    def name(self) -> str:
        """What verdicts call the checker that is asked."""
        return self._inner.name

    @property
    def identity(self) -> str:
        """All that its results depend on besides the items."""
        return self._inner.identity

    def check_batch(self, items: Sequence[CheckItem], *, done: Done | None = None) -> list[CheckResult]:
        """Answer from the store what is there, and have the rest checked in one batch; a kept result takes 0 seconds.

        Raises:
            JudgeInfrastructureError: The checker cannot work.
        """
        identity = self._inner.identity
        keys = [key_of(item, identity) for item in items]
        results: dict[int, CheckResult] = {}
        missing: list[int] = []

        def settle(place: int, result: CheckResult) -> None:
            results[place] = result
            if done is not None:
                done(place, result)

        for place, key in enumerate(keys):
            found = self._store.get(key)
            if found is None:
                missing.append(place)
            else:
                settle(place, found)

        def settle_checked(number: int, result: CheckResult) -> None:
            place = missing[number]
            if result.repeatable and result.error_code not in {"HARNESS_ERROR", "LEAN_TIMEOUT"}:
                self._store.put(keys[place], replace(result.bounded(), seconds=0.0))
            settle(place, result)

        if missing:
            self._inner.check_batch([items[place] for place in missing], done=settle_checked)
        return [results[place] for place in range(len(items))]


def key_of(item: CheckItem, identity: str) -> str:
    """Hash all that a result depends on: laws, policy, claim, code, and the checker's identity."""
    problem = item.problem
    policy = None if problem.proof_policy is None else problem.proof_policy.model_dump(mode="json")
    depends = [FORMAT, str(problem.law1), str(problem.law2), policy, item.claim, item.code, identity]
    return hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()
