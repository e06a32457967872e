"""Following jobs: one question to Slurm for all, and what follows from the answer goes into their journals."""

import contextlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ekiden_jobs import ExecutorUnavailableError, JobKey, JobRequest, SubmissionError
from ekiden_jobs.claim import NOBODY, bar_run
from ekiden_jobs.folder import JobFolder
from ekiden_jobs.journal import Absent, Ended, Event, now
from ekiden_jobs.records import ENDED_FILE
from ekiden_policies.job_states import meaning, state_word
from ekiden_slurm.attempts import Attempt, Unit
from ekiden_slurm.commands import SlurmCommands
from ekiden_slurm.sight import Sight, look
from ekiden_slurm.submission import Submission
from ekiden_slurm.tracking import (
    Judgement,
    Patience,
    Traces,
    TrackedJob,
    decide,
    ended_event,
    is_missed,
    judge,
    native_unit,
    observed_event,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Followed:
    """A job, and what the last look showed of what has not ended."""

    job: TrackedJob
    traces: Mapping[Unit, Traces]
    judgements: Mapping[Unit, Judgement]


class Follower:
    """Follows jobs."""

    def __init__(self, commands: SlurmCommands, submission: Submission, patience: Patience) -> None:
        """Take Slurm, what submits, and how long to wait for what is missed."""
        self._commands = commands
        self._submission = submission
        self._patience = patience
        self._requests: dict[JobKey, JobRequest] = {}
        self._over: dict[JobKey, Followed] = {}
        self._read: dict[Path, int] = {}

    def follow(self, folders: Sequence[JobFolder], *, may_submit: bool, ask: bool) -> dict[JobKey, Followed]:
        """Tell where jobs stand.

        Args:
            folders: The jobs.
            may_submit: Whether what has surely become no job is submitted (again).
            ask: Whether Slurm may be asked; else what the jobs themselves wrote has to do.
        """
        asked = [job for folder in folders if ask and _needs_slurm(job := self._load(folder))]
        sight = self._ask(asked) if asked else Sight(now())
        doomed: list[str] = []
        found = {folder.key: self._advance(folder, sight, doomed, may_submit=may_submit, ask=ask) for folder in folders}
        if doomed:
            with contextlib.suppress(ExecutorUnavailableError):  # the next look finds them again
                self._commands.cancel(doomed)
        return found

    def has_news(self, places: Iterable[tuple[JobFolder, Unit]]) -> bool:
        """Tell whether a job, or a task, has written down an end that was not read yet."""
        for folder, task in places:
            if folder.key in self._over:
                continue
            request = self._request(folder)
            units: Iterable[Unit] = range(len(request.tasks)) if task is None and request.tasks else (task,)
            if any(_written_at(path := folder.run(unit).path) != self._read.get(path, 0) for unit in units):
                return True
        return False

    def _ask(self, jobs: Sequence[TrackedJob]) -> Sight:
        owners = {attempt.name: job for job in jobs for attempt in job.attempts}
        attempts = [attempt for job in jobs for attempt in job.attempts]
        return look(self._commands, attempts, lambda attempt, rows: is_missed(owners[attempt.name], attempt, rows))

    def _advance(self, folder: JobFolder, sight: Sight, doomed: list[str], *, may_submit: bool, ask: bool) -> Followed:
        if folder.key in self._over:
            return self._over[folder.key]
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(folder.locked(0))
            except ExecutorUnavailableError:  # somebody else is at it, and writes down what is to be written
                job = self._load(folder)
                return self._judged(job, sight, ask=ask)
            if ask:
                doomed += self._reconcile(folder, sight, may_submit=may_submit)
            followed = self._judged(self._load(folder), sight, ask=ask)
            if events := self._events(followed):
                folder.journal.extend(events, sync=any(isinstance(event, Ended) for event in events))
                followed = replace(followed, job=self._load(folder))
            if ask:
                doomed += _still_alive(followed, sight)
                with contextlib.suppress(SubmissionError, ExecutorUnavailableError):  # the journal has it
                    self._submission.replace_lost(followed.job, followed.judgements, sight, may_submit=may_submit)
                followed = replace(followed, job=self._load(folder))
            if not followed.job.open_units():
                folder.drop_secrets()
                if all(ended.outcome != "lost" for ended in followed.job.standing.ended.values()):
                    self._over[folder.key] = followed
            return followed

    def _reconcile(self, folder: JobFolder, sight: Sight, *, may_submit: bool) -> list[str]:
        job = self._load(folder)
        if not job.is_slurms or not job.open_units():
            return []
        try:
            if may_submit and not job.is_cancelled(None):
                self._submission.begin(job)
                job = self._load(folder)
            return self._submission.reconcile(job, sight, may_submit=may_submit)
        except SubmissionError as error:  # the journal has it
            logger.warning("%s", error)
        except ExecutorUnavailableError as error:  # the next look tries again
            logger.warning("Job %s is not submitted yet: %s", folder.key, error)
        return []

    def _judged(self, job: TrackedJob, sight: Sight, *, ask: bool) -> Followed:
        """Say what is known of all that has not ended, or of which nobody knew how."""
        ended = job.standing.ended
        units = [unit for unit in job.units if unit not in ended or ended[unit].outcome == "lost"]
        traces: dict[Unit, Traces] = {}
        for unit in units if job.is_slurms else ():
            path = job.folder.run(unit).path
            self._read[path] = _written_at(path)
            traces[unit] = Traces.of(job.folder.run(unit))
        judgements: dict[Unit, Judgement] = {}
        for unit, trace in traces.items():
            if ask and unit not in ended:
                judgements[unit] = judge(job, unit, trace, sight, self._patience)
            else:
                judgements[unit] = Judgement(verdict=decide(trace.record, None))
        for attempt in job.last_attempts():
            gone = [unit for unit in judgements if attempt.covers(unit) and judgements[unit].is_gone]
            if gone and not sight.rows.get(attempt.name) and self._is_known_elsewhere(attempt):
                judgements.update({unit: Judgement(is_unasked=True) for unit in gone})
        return Followed(job, traces, judgements)

    def _events(self, followed: Followed) -> list[Event]:
        """Return what the journal does not have yet."""
        job = followed.job
        events: list[Event] = []
        missed: dict[int, list[Unit]] = {}
        for unit, judgement in followed.judgements.items():
            traces = followed.traces[unit]
            if judgement.verdict is not None:
                never_began = judgement.is_gone and traces.owner == NOBODY
                if not never_began or bar_run(traces.run.path):
                    events.append(ended_event(job, unit, traces, judgement, now()))
            elif judgement.is_missed:
                attempt = next((one for one in reversed(job.attempts_of(unit)) if one.native_id), None)
                if attempt is not None and unit not in attempt.absent:
                    missed.setdefault(attempt.number, []).append(unit)
            elif (observed := observed_event(job, unit, judgement)) is not None:
                events.append(observed)
        return events + [Absent(attempt=number, tasks=tuple(units)) for number, units in missed.items()]

    def _is_known_elsewhere(self, attempt: Attempt) -> bool:
        """Ask a second way before a job is given up: the one that is asked always may be lying."""
        if not attempt.native_id:
            return False
        try:
            told = self._commands.ask("scontrol", ["show", "job", "-o", attempt.native_id])
        except ExecutorUnavailableError as error:
            return "invalid job id" not in str(error).lower()
        return f"JobName={attempt.name} " in told

    def _load(self, folder: JobFolder) -> TrackedJob:
        if folder.key in self._over:
            return self._over[folder.key].job
        return TrackedJob.load(folder, self._request(folder))

    def _request(self, folder: JobFolder) -> JobRequest:
        if folder.key not in self._requests:
            self._requests[folder.key] = folder.request()
        return self._requests[folder.key]


def _needs_slurm(job: TrackedJob) -> bool:
    """Tell whether something of a job has not ended, and did not itself write how."""
    return job.is_slurms and any(decide(job.folder.run(unit).end_record(), None) is None for unit in job.open_units())


def _still_alive(followed: Followed, sight: Sight) -> list[str]:
    """Return what somebody wanted to end, and Slurm has not ended."""
    job = followed.job
    alive: dict[str, None] = {}
    for unit in job.open_units():
        if job.is_cancelled(unit):
            for attempt in job.attempts_of(unit):
                for row in sight.rows.get(attempt.name, ()):
                    if meaning(row.state).phase in {"pending", "running"} and state_word(row.state) != "COMPLETING":
                        alive[row.array_id if None in job.standing.cancelled else native_unit(row, attempt, unit)] = (
                            None
                        )
    return list(alive)


def _written_at(path: Path) -> int:
    try:
        return (path / ENDED_FILE).stat().st_mtime_ns
    except FileNotFoundError:
        return 0
