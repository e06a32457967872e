"""The attempts to submit a job, as its journal tells them: each bears a name that no other has."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ekiden_jobs import JobKey
from ekiden_jobs.journal import Absent, Adopted, Event, Intended, Observed, Refused, Submitted, Unclear

Unit = int | None
"""One task of an array by its number, or None: a job that is no array."""
_NONCE_BYTES = 4


@dataclass(slots=True)
class Attempt:
    """One call of sbatch, or the intent to make it.

    Attributes:
        number: Its number, from 1.
        name: The name of its job.
        first: Of an array, the first task that it submits.
        count: How many tasks; 0 if the job is no array.
        intended_at: When the intent was written.
        native_id: Slurm's number; empty as long as nobody knows.
        submitted_at: When Slurm took it, or it was found.
        refused: Why it was turned away.
        unclear_at: When sbatch ended without a clear answer.
        absent: Since when what it became, or which tasks of that, are missed.
    """

    number: int
    name: str
    first: int
    count: int
    intended_at: datetime
    native_id: str = ""
    submitted_at: datetime | None = None
    refused: Refused | None = None
    unclear_at: datetime | None = None
    absent: dict[Unit, datetime] = field(default_factory=dict[Unit, datetime])

    @property
    def is_unclear(self) -> bool:
        """Whether nobody knows if there is a job."""
        return not self.native_id and self.refused is None

    @property
    def tasks(self) -> range | None:
        """The tasks that it submits; None if the job is no array."""
        return range(self.first, self.first + self.count) if self.count else None

    def covers(self, unit: Unit) -> bool:
        """Tell whether it submits a task, or the job that is no array."""
        return unit is None if self.tasks is None else unit in self.tasks

    def quiet_since(self, submit_timeout_s: float) -> datetime:
        """Return from when on nobody can still be submitting it.

        A submitter that was killed leaves an sbatch behind, which goes on for as long as it may.
        """
        return self.unclear_at or self.intended_at + timedelta(seconds=submit_timeout_s)

    def native_unit(self, unit: Unit) -> str:
        """Return what Slurm calls the job, or a task: `7`, or `7_3`; empty as long as nobody knows."""
        return self.native_id if unit is None or not self.native_id else f"{self.native_id}_{unit - self.first}"


def fold_attempts(events: Iterable[Event]) -> list[Attempt]:
    """Return the attempts of a job, the first one first."""
    attempts: dict[int, Attempt] = {}
    for event in events:
        match event:
            case Intended():
                attempts[event.attempt] = Attempt(
                    event.attempt, event.name, event.first_task, event.task_count, event.at
                )
            case Submitted() | Adopted() if event.attempt in attempts:
                attempt = attempts[event.attempt]
                attempt.native_id, attempt.submitted_at = event.native_id, event.at
                attempt.absent.clear()
            case Refused() if event.attempt in attempts:
                attempts[event.attempt].refused = event
            case Unclear() if event.attempt in attempts:
                attempts[event.attempt].unclear_at = event.at
            case Absent() if event.attempt in attempts:
                for unit in event.tasks:
                    attempts[event.attempt].absent.setdefault(unit, event.at)
            case Observed():
                for attempt in attempts.values():
                    attempt.absent.pop(event.task, None)
            case _:
                pass
    return list(attempts.values())


def next_attempt(key: JobKey, attempts: Iterable[Attempt], tasks: range | None) -> Intended:
    """Return the intent of a further attempt, with a name that no job of any folder ever had."""
    number = 1 + max((attempt.number for attempt in attempts), default=0)
    return Intended(
        attempt=number,
        name=f"{key}.{number}.{secrets.token_hex(_NONCE_BYTES)}",
        executor="slurm",
        first_task=tasks.start if tasks else 0,
        task_count=len(tasks) if tasks else 0,
    )


def part_that_follows(attempts: Iterable[Attempt], tasks: int, longest: int) -> range | None:
    """Return which tasks of an array no attempt was made for yet, as many as one array may have; None if none are left.

    Args:
        attempts: The attempts so far.
        tasks: How many tasks there are in all.
        longest: How many tasks one array of the cluster may have.
    """
    start = max((attempt.first + attempt.count for attempt in attempts), default=0)
    return range(start, min(start + longest, tasks)) if start < tasks else None
