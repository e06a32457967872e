"""What a runner writes of each run of a job; the standard library alone."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

CLAIM_FILE = "claim"
STARTED_FILE = "started.json"
ENDED_FILE = "ended.json"
SECRETS_FILE = "secrets"
REQUEST_FILE = "request.json"

CLAIMED_BY_ANOTHER = 86
"""The exit code of a runner that finds its job run by another; it has run nothing."""
MAY_NOT_RUN_AGAIN = 87
"""The exit code of a runner whose job was run before, died, and may not be run again; it has run nothing."""
CANNOT_START = 127
"""The exit code when there is no such program or folder, as shells have it."""


class StartedRun(NamedTuple):
    """One run of a job that began.

    Attributes:
        native_id: What the system that runs it calls it.
        restarts: How often that system had put it back before.
        run: Which run it is, from 1.
        node: The machine.
        pid: The runner's number.
        started: When the runner was started, as its machine counts that.
        boot: Which start of the machine that was under.
        at: When it began, in seconds since 1970.
    """

    native_id: str
    restarts: int
    run: int
    node: str
    pid: int
    started: str
    boot: str
    at: float


class EndedRun(NamedTuple):
    """One run of a job that ended.

    Attributes:
        native_id: What the system that ran it calls it.
        restarts: How often that system had put it back before.
        run: Which run it was, from 1; 0 if it was ended before its program began.
        node: The machine.
        exit_code: The program's exit code; None if a signal ended it.
        signal: The signal that ended the program; None if it exited.
        limit: The bound at which the runner ended it.
        heard: The signals that the runner got from outside, in order.
        peak_memory_mb: The most memory that it was seen to use, with all that it had started.
        started_at: When it began, in seconds since 1970.
        at: When it ended.
    """

    native_id: str
    restarts: int
    run: int
    node: str
    exit_code: int | None
    signal: int | None
    limit: Literal["", "time", "memory"]
    heard: tuple[str, ...]
    peak_memory_mb: int
    started_at: float
    at: float

    @property
    def is_final(self) -> bool:
        """Whether it ended by itself or at its bounds, so that nothing is left to do."""
        return "SIGTERM" not in self.heard

    @property
    def shell_code(self) -> int:
        """The exit code as shells give it."""
        return self.exit_code if self.exit_code is not None else 128 + (self.signal or 0)


def as_json(record: StartedRun | EndedRun) -> str:
    """Return the text of a record."""
    return json.dumps(record._asdict(), indent=1) + "\n"


def read_started(path: Path) -> StartedRun | None:
    """Return a record of a run that began; None if there is none that can be read."""
    fields = _read(path)
    try:
        return None if fields is None else StartedRun(**fields)
    except TypeError:
        return None


def read_ended(path: Path) -> EndedRun | None:
    """Return a record of a run that ended; None if there is none that can be read."""
    fields = _read(path)
    try:
        record = None if fields is None else EndedRun(**fields)
        return None if record is None else record._replace(heard=tuple(record.heard))
    except TypeError:
        return None


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        value: object = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None
