"""How often is submitted, counted by all processes that share a jobs folder."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

from filelock import FileLock

from ekiden_policies.jobs import may_submit_at


class Pace:
    """The most submissions in any minute; a file tells all processes of the last ones."""

    def __init__(
        self,
        path: Path,
        per_minute: int,
        *,
        clock: Callable[[], float] = time.time,
        rest: Callable[[float], None] = time.sleep,
    ) -> None:
        """Take the file, how many submissions a minute may see, and how to tell and to pass the time."""
        self._path = path
        self._per_minute = per_minute
        self._clock = clock
        self._rest = rest

    def take_turn(self) -> None:
        """Wait until one more job may be submitted, and count it.

        Nobody rests while holding the lock: whoever is stopped here, by Ctrl-Z say, must hold up nobody else.
        """
        while (pause_s := self._pause_or_turn()) > 0:
            self._rest(pause_s)

    def _pause_or_turn(self) -> float:
        """Take a turn if one is free, and return 0; else return in how many seconds the next one may be."""
        with FileLock(self._path.with_suffix(".lock")):  # guards the file of times
            times, now = self._times(), self._clock()
            pause_s = may_submit_at(times, now, self._per_minute) - now
            if pause_s <= 0:
                self._write([*times, now][-self._per_minute :])
        return pause_s

    def _times(self) -> list[float]:
        try:
            found: object = json.loads(self._path.read_bytes())
        except (FileNotFoundError, ValueError):  # a process that died while it wrote: counting starts anew
            return []
        values = cast("list[object]", found) if isinstance(found, list) else []
        return [float(value) for value in values if isinstance(value, int | float)]

    def _write(self, times: list[float]) -> None:
        """Write in place: to replace a file takes many times as long, and here nothing is lost."""
        self._path.touch()
        with self._path.open("r+", encoding="ascii") as file:
            file.write(json.dumps(times))
            file.truncate()
