"""The journal of a job: what was meant, done and seen, one event a line; where it stands is a fold over it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, assert_never

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from ekiden_files import FilesError, append_line, read_lines
from ekiden_jobs.errors import JobsError
from ekiden_policies.jobs import Outcome

ExecutorName = Literal["local", "slurm"]


def now() -> datetime:
    """Return the time of an event."""
    return datetime.now(UTC)


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    at: AwareDatetime = Field(default_factory=now)


class Intended(_Event):
    """The job is about to be submitted under a name that no other attempt has.

    Of an array it tells which tasks are submitted: a long one goes in several parts.
    """

    type: Literal["intended"] = "intended"
    attempt: int
    name: str
    executor: ExecutorName
    first_task: int = 0
    task_count: int = 0


class Submitted(_Event):
    """The system took an attempt and said what it calls it."""

    type: Literal["submitted"] = "submitted"
    attempt: int
    native_id: str


class Adopted(_Event):
    """An attempt of which nobody knew was found to be a job of the system's."""

    type: Literal["adopted"] = "adopted"
    attempt: int
    native_id: str


class Refused(_Event):
    """The system turned an attempt away: for good, or so that another attempt may succeed."""

    type: Literal["refused"] = "refused"
    attempt: int
    text: str
    for_good: bool = True


class Unclear(_Event):
    """Nobody knows whether an attempt became a job."""

    type: Literal["unclear"] = "unclear"
    attempt: int
    text: str


class Absent(_Event):
    """The system answered in full, and what an attempt became, or these tasks of it, was not there."""

    type: Literal["absent"] = "absent"
    attempt: int
    tasks: tuple[int | None, ...] = (None,)


class Cancelled(_Event):
    """Somebody wants the job, or one task of it, to end."""

    type: Literal["cancelled"] = "cancelled"
    task: int | None = None


class Observed(_Event):
    """What the system said of the job or a task, written when that changes."""

    type: Literal["observed"] = "observed"
    task: int | None = None
    native_id: str
    state: str
    reason: str = ""
    node: str = ""
    restarts: int = 0


class Ended(_Event):
    """The job, or one task of it, is over; nothing more is asked of it."""

    type: Literal["ended"] = "ended"
    task: int | None = None
    outcome: Outcome
    reason: str = ""
    native_id: str = ""
    state: str = ""
    exit_code: int | None = None
    signal: int | None = None
    node: str = ""
    restarts: int = 0
    peak_memory_mb: int | None = None
    started_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None


Event = Intended | Submitted | Adopted | Refused | Unclear | Absent | Cancelled | Observed | Ended
_EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])


@dataclass(slots=True)
class Standing:
    """Where a job stands by its journal. Tasks of an array are told by their numbers, the job itself by None.

    Attributes:
        intended: The last attempt; None before the first.
        native_id: What the system calls that attempt; empty as long as nobody knows.
        submitted_at: When the system took it, or it was found.
        refused: Why it was turned away.
        unclear: Why nobody knows whether it is a job.
        cancelled: What somebody wants to end.
        observed: What was last seen.
        ended: What is over.
    """

    intended: Intended | None = None
    native_id: str = ""
    submitted_at: datetime | None = None
    refused: Refused | None = None
    unclear: Unclear | None = None
    cancelled: set[int | None] = field(default_factory=set[int | None])
    observed: dict[int | None, Observed] = field(default_factory=dict[int | None, Observed])
    ended: dict[int | None, Ended] = field(default_factory=dict[int | None, Ended])


class Journal:
    """The journal of one job. Who adds to it holds the job's lock."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, event: Event, *, sync: bool = True) -> None:
        """Add an event, as `extend` does."""
        self.extend([event], sync=sync)

    def extend(self, events: Sequence[Event], *, sync: bool = True) -> None:
        """Add events in their order; when all are written, they outlive a crash of the machine if `sync` is true."""
        for event in events:
            append_line(self._path, event.model_dump(mode="json"), sync=sync and event is events[-1])

    def events(self) -> list[Event]:
        """Return what happened so far.

        Raises:
            JobsError: The journal is damaged.
        """
        try:
            return [_EVENT.validate_python(line) for line in read_lines(self._path)]
        except (FilesError, ValidationError, OSError) as error:
            raise JobsError(f"The journal {str(self._path)!r} cannot be read: {error}") from error

    def standing(self) -> Standing:
        """Return where the job stands.

        Raises:
            JobsError: The journal is damaged.
        """
        return fold(self.events())


def fold(events: Iterable[Event]) -> Standing:
    """Return where a job stands after some events."""
    standing = Standing()
    for event in events:
        _take(standing, event)
    return standing


def _take(standing: Standing, event: Event) -> None:
    match event:
        case Intended():
            standing.intended, standing.native_id, standing.submitted_at = event, "", None
            standing.refused = standing.unclear = None
        case Submitted() | Adopted():
            standing.native_id, standing.submitted_at = event.native_id, event.at
            standing.refused = standing.unclear = None
        case Refused():
            standing.refused = event
        case Unclear():
            standing.unclear = event
        case Absent():
            pass  # says when to stop looking, not where the job stands
        case Cancelled():
            standing.cancelled.add(event.task)
        case Observed():
            standing.observed[event.task] = event
        case Ended():
            standing.ended[event.task] = event
        case _:
            assert_never(event)
