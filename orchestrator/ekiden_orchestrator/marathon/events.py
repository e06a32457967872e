"""The event log of a run: one JSON object a line, appended and never changed."""

import os
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ekiden_config import JudgeName
from ekiden_judge import Verdict
from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.marathon.spending import Spending

EndReason = Literal["exited", "wall", "tokens", "output", "interrupted", "lost"]


def now() -> datetime:
    """Return the time of an event."""
    return datetime.now(UTC)


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    at: AwareDatetime = Field(default_factory=now)


class RunStarted(_Event):
    """A run was set up: what it was asked to do, by hash where that is a file."""

    type: Literal["run_started"] = "run_started"
    versions: dict[str, str]
    solver: str
    built_in: bool
    solver_sha256: str
    manifest: str
    manifest_origin: str
    manifest_sha256: str
    problems: int
    budget_seconds: float
    budget_tokens: int
    budget_origin: str
    budget_usd: Decimal | None = None
    models: tuple[str, ...] = ()
    model: str | None = None
    pool_seconds: float | None
    judge: JudgeName = "exact"


class AttemptStarted(_Event):
    """A solver process is about to be started."""

    type: Literal["attempt_started"] = "attempt_started"
    attempt: int
    wall_seconds: float
    problems: int


class SolverStarted(_Event):
    """The solver runs; its clock counts from here."""

    type: Literal["solver_started"] = "solver_started"
    attempt: int
    isolation: str
    read_only: bool
    refused: dict[str, str]


class Heartbeat(_Event):
    """The solver still runs and has used so much of its time."""

    type: Literal["heartbeat"] = "heartbeat"
    attempt: int
    elapsed_seconds: float


class AttemptEnded(_Event):
    """Nothing of the attempt runs any more, and all its calls to models are settled."""

    type: Literal["attempt_ended"] = "attempt_ended"
    attempt: int
    reason: EndReason
    exit_code: int | None
    wall_seconds: float
    sigterm_fired: bool
    sigkill_fired: bool
    stderr_tail: str
    answer_bytes: int
    notes: tuple[str, ...]
    spending: Spending | None = None


class Judged(_Event):
    """An answer has its verdict; `answer_sha256` is the hash of all that the judge looked at, `judge` its identity."""

    type: Literal["judged"] = "judged"
    problem: str
    answer_sha256: str
    judge: str
    verdict: Verdict


class RunFinished(_Event):
    """Every answer is judged, if that was asked for, and the summary written; `judge` is the judge's identity."""

    type: Literal["run_finished"] = "run_finished"
    judged: bool
    judging_seconds: float
    judge_name: JudgeName | None = None
    judge: str | None = None


Event = RunStarted | AttemptStarted | SolverStarted | Heartbeat | AttemptEnded | Judged | RunFinished
_ADAPTER: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])


class EventLog:
    """The open event log of one run; one writer at a time, which the run's lock guards."""

    def __init__(self, descriptor: int, events: list[Event], repaired_bytes: int) -> None:
        self._descriptor = descriptor
        self.events = events
        self.repaired_bytes = repaired_bytes

    @classmethod
    def open(cls, path: Path, *, create: bool) -> Self:
        """Open a log, cutting off a last line that was never finished.

        Raises:
            MarathonError: The file is missing, holds events although it should be new, or is damaged before its end.
        """
        flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
        try:
            descriptor = os.open(path, flags, 0o644)
        except OSError as error:
            raise MarathonError(f"Cannot open the event log {str(path)!r}: {error.strerror}.") from error
        try:
            with os.fdopen(os.dup(descriptor), "rb") as file:
                data = file.read()
            events, sound = _read(data, path)
            if create and events:
                raise MarathonError(f"{str(path)!r} holds a run already.")
            if sound < len(data):
                os.ftruncate(descriptor, sound)
            if create:
                _sync_folder(path.parent)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor, events, len(data) - sound)

    def append(self, event: Event, *, sync: bool = True) -> None:
        """Add an event; it survives the end of this process at once, and of the machine when synced."""
        line = event.model_dump_json().encode() + b"\n"
        while line:
            line = line[os.write(self._descriptor, line) :]
        self.events.append(event)
        if sync:
            self.sync()

    def sync(self) -> None:
        """Have everything appended so far survive a crash of the machine."""
        os.fsync(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        os.close(self._descriptor)


def read_events(path: Path) -> list[Event]:
    """Read the events of a log without changing it; an unfinished last line is left out.

    Raises:
        MarathonError: The file cannot be read or is damaged before its end.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MarathonError(f"Cannot read the event log {str(path)!r}: {error.strerror}.") from error
    return _read(data, path)[0]


def _read(data: bytes, path: Path) -> tuple[list[Event], int]:
    """Return the events and the number of bytes that hold them."""
    events: list[Event] = []
    start = 0
    number = 0
    while (end := data.find(b"\n", start)) >= 0:
        number += 1
        try:
            events.append(_ADAPTER.validate_json(data[start:end]))
        except ValidationError as error:
            if data.find(b"\n", end + 1) < 0:
                break  # the last line: a crash of the machine can leave a hole where it was
            message = f"{path}:{number}: this line of the event log is damaged; the run cannot be read."
            raise MarathonError(message) from error
        start = end + 1
    return events, start


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
