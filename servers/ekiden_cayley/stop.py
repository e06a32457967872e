"""When to stop: a time limit and a cancellation in one object."""

from __future__ import annotations

import math
import threading
import time

from ekiden_cayley.errors import CayleyError


class Stop:
    """A deadline that starts now, and a switch that any thread may pull.

    Searches ask `expired()` between short pieces of work. A `Stop` never un-expires.
    """

    __slots__ = ("_cancelled", "_deadline", "_parent")

    def __init__(self, time_limit_s: float | None = None, *, parent: Stop | None = None) -> None:
        """Start the clock.

        Args:
            time_limit_s: Seconds from now; None for no limit of its own.
            parent: Another `Stop` whose end is also the end of this one.

        Raises:
            CayleyError: The limit is negative or no number.
        """
        if time_limit_s is not None and not time_limit_s >= 0:
            raise CayleyError(f"The time limit is {time_limit_s!r}; it needs a number of seconds, 0 or more.")
        self._deadline = math.inf if time_limit_s is None else time.monotonic() + time_limit_s
        self._cancelled = threading.Event()
        self._parent = parent

    def cancel(self) -> None:
        """Stop now, for good."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether somebody pulled the switch here or on a parent (as opposed to the time running out)."""
        return self._cancelled.is_set() or (self._parent is not None and self._parent.cancelled)

    def expired(self) -> bool:
        """Tell whether the search must end: cancelled, or out of time."""
        return (
            self._cancelled.is_set()
            or time.monotonic() >= self._deadline
            or (self._parent is not None and self._parent.expired())
        )

    @property
    def remaining_s(self) -> float:
        """Seconds that are left, never negative; `inf` without a limit."""
        if self._cancelled.is_set():
            return 0.0
        own = max(0.0, self._deadline - time.monotonic())
        return own if self._parent is None else min(own, self._parent.remaining_s)
