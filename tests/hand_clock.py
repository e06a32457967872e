"""A clock for tests."""

from datetime import UTC, datetime


class HandClock:
    """A clock that stands until it is moved.

    Attributes:
        time: Seconds since 1970.
    """

    def __init__(self) -> None:
        self.time = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        return self.time
