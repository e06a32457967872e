"""What Slurm says of many jobs, asked at once: the queue first, then accounting for what it no longer has."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ekiden_jobs import ExecutorUnavailableError
from ekiden_jobs.journal import now
from ekiden_slurm.attempts import Attempt
from ekiden_slurm.commands import SlurmCommands
from ekiden_slurm.texts import JobRow

_NOT_YET_NAMED = "allocation"
"""The name that accounting gives a job of which it has heard the end before the beginning."""
_CLOCKS_APART = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Sight:
    """What Slurm says.

    Attributes:
        at: When it was asked.
        names: The attempts that it was asked about.
        rows: What it has of each of them.
        silence: Why the controller could not be asked; empty if it answered.
        accounting_silence: Why accounting could not be asked; empty if it answered, or if there is none to ask.
    """

    at: datetime
    names: frozenset[str] = frozenset()
    rows: Mapping[str, Sequence[JobRow]] = field(default_factory=dict[str, Sequence[JobRow]])
    silence: str = ""
    accounting_silence: str = ""

    def answers(self, attempt: Attempt) -> bool:
        """Tell whether the controller was asked about an attempt, and answered."""
        return not self.silence and attempt.name in self.names


def look(
    commands: SlurmCommands, attempts: Sequence[Attempt], is_missed: Callable[[Attempt, Sequence[JobRow]], bool]
) -> Sight:
    """Ask Slurm about attempts.

    Args:
        commands: Slurm.
        attempts: The attempts.
        is_missed: Tells, from what the queue has of an attempt, whether accounting has to be asked about it too.
    """
    at = now()
    names = [attempt.name for attempt in attempts if attempt.refused is None]
    if not names:
        return Sight(at)
    rows: dict[str, list[JobRow]] = {name: [] for name in names}
    try:
        for row in commands.queue(names=names):
            if row.name in rows:
                rows[row.name].append(row)
    except ExecutorUnavailableError as error:
        return Sight(at, frozenset(names), silence=str(error))
    missed = [attempt for attempt in attempts if attempt.name in rows and is_missed(attempt, rows[attempt.name])]
    try:
        for attempt, row in _accounted(commands, missed):
            rows[attempt.name].append(row)
    except ExecutorUnavailableError as error:
        return Sight(at, frozenset(names), rows, accounting_silence=str(error))
    return Sight(at, frozenset(names), rows)


def _accounted(commands: SlurmCommands, missed: Sequence[Attempt]) -> Iterable[tuple[Attempt, JobRow]]:
    """Yield what accounting has of attempts: by their numbers where those are known, for the name can come late."""
    by_number = {attempt.native_id: attempt for attempt in missed if attempt.native_id}
    by_name = {attempt.name: attempt for attempt in missed if not attempt.native_id}
    if by_number:
        since = min(attempt.intended_at for attempt in by_number.values()) - _CLOCKS_APART
        for row in commands.accounting(since=since, ids=list(by_number)) or ():
            attempt = by_number.get(row.array_id)
            if attempt is not None and _is_of(row, attempt):
                yield attempt, row
    if by_name:
        since = min(attempt.intended_at for attempt in by_name.values()) - _CLOCKS_APART
        for row in commands.accounting(since=since, names=list(by_name)) or ():
            yield by_name[row.name], row


def _is_of(row: JobRow, attempt: Attempt) -> bool:
    """Tell whether a job of an attempt's number is that attempt: numbers are given again after a reset."""
    if row.name == _NOT_YET_NAMED and not row.comment:
        return row.submitted_at is not None and row.submitted_at > attempt.intended_at - _CLOCKS_APART
    return attempt.name in {row.name, row.comment}
