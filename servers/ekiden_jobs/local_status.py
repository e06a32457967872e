"""Where local jobs stand, by what their runners wrote and which processes live."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ekiden_jobs.claim import NOBODY, claim_owner
from ekiden_jobs.folder import JobFolder, RunFolder
from ekiden_jobs.journal import Ended, Standing, now
from ekiden_jobs.local_queue import MAX_TRIES, LocalQueue, Unit
from ekiden_jobs.request import JobKey, JobRequest, task_key
from ekiden_jobs.status import JobStatus
from ekiden_policies.jobs import Outcome, Seen, decide_outcome
from ekiden_warden.identity import ProcessIdentity, lives, this_process
from ekiden_warden.strays import end_strays

_WORDS: Mapping[Outcome, str] = {
    "ok": "COMPLETED",
    "failed": "FAILED",
    "time_limit": "TIMEOUT",
    "memory": "OUT_OF_MEMORY",
    "node_failure": "NODE_FAIL",
    "cancelled": "CANCELLED",
    "lost": "GONE",
}


class Sight:
    """What one look at the queue showed."""

    def __init__(self, queue: LocalQueue, slots: int) -> None:
        self.queue = queue
        self._taken = f"{queue.used(slots)} of {slots} processors are taken by earlier jobs."

    def pending_reason(self, unit: Unit) -> str:
        """Say why a job or task has not written that it began."""
        if self.queue.begun_run(unit) is not None:
            return "It is being started."
        return self._taken


@dataclass(frozen=True, slots=True)
class LocalJob:
    """A job of the local executor. What has ended stays as it is and is not looked at again.

    Attributes:
        folder: Its folder.
        request: What is to be run.
    """

    folder: JobFolder
    request: JobRequest
    _over: dict[int | None, JobStatus] = field(default_factory=dict[int | None, JobStatus])

    def units(self, task: int | None) -> list[Unit]:
        """Return one task, or all that the job runs."""
        tasks = range(len(self.request.tasks)) if self.request.tasks and task is None else [task]
        return [Unit(self.folder.key, number) for number in tasks]

    def statuses(self, sight: Sight, task: int | None) -> list[JobStatus]:
        """Return where one task stands, or all that the job runs; what is found to be over is written down."""
        units = self.units(task)
        if any(unit.task not in self._over for unit in units):
            standing = self.folder.journal.standing()
            if _is_local(standing) and any(self._is_ended(unit, standing, sight.queue) for unit in units):
                standing = self._write_down(units, sight.queue)
            for number, ended in standing.ended.items():
                self._over[number] = self._ended_status(ended, standing)
            return [self._over.get(unit.task) or self._living_status(unit, standing, sight) for unit in units]
        return [self._over[unit.task] for unit in units]

    @property
    def is_over(self) -> bool:
        """Whether all of it was seen to have ended."""
        return all(unit.task in self._over for unit in self.units(None))

    @property
    def is_claimed(self) -> bool:
        """Whether all of it was begun, or must never be."""
        return all(self.folder.run(unit.task).claim.exists() for unit in self.units(None))

    def _is_ended(self, unit: Unit, standing: Standing, queue: LocalQueue) -> bool:
        """Tell whether a job or task has ended of which that is not yet written down."""
        run = self.folder.run(unit.task)
        if unit.task in standing.ended or not run.claim.exists():
            return False
        return run.ended() is not None or claim_owner(run.path) == NOBODY or not _lives(unit, run, queue)

    def _end_of(self, unit: Unit, standing: Standing) -> Ended:
        run = self.folder.run(unit.task)
        cancelled = bool({None, unit.task} & standing.cancelled)
        record = run.end_record()
        if record is None:
            return self._end_without_record(unit, run, cancelled=cancelled)
        word = "CANCELLED" if cancelled else "COMPLETED" if record.exit_code == 0 else "FAILED"
        decided = decide_outcome(record, Seen(word))
        ended = run.ended()
        assert decided is not None
        assert ended is not None
        return Ended(
            task=unit.task,
            outcome=decided[0],
            reason=decided[1],
            native_id=ended.native_id,
            state=_WORDS[decided[0]],
            exit_code=ended.exit_code,
            signal=ended.signal,
            node=ended.node,
            restarts=ended.restarts,
            peak_memory_mb=ended.peak_memory_mb or None,
            started_at=_time(ended.started_at) if ended.run else None,
            ended_at=_time(ended.at),
        )

    def _end_without_record(self, unit: Unit, run: RunFolder, *, cancelled: bool) -> Ended:
        """Return how a job or task ended whose runner is gone without a word; what that left behind is ended too."""
        end_strays("EKIDEN_JOB", str(run.path))
        started = run.started()
        outcome: Outcome
        if cancelled:
            outcome, reason = "cancelled", "It was cancelled."
        elif started is None and claim_owner(run.path) == NOBODY:
            outcome, reason = "lost", f"It was begun {MAX_TRIES} times and never came to run."
        elif started is None:
            outcome, reason = "lost", "The process that was to run it is gone and left no record."
        elif started.boot != this_process().boot:
            outcome, reason = "node_failure", "The machine went down while it ran."
        else:
            outcome, reason = "lost", "The process that ran it is gone and left no record."
        return Ended(
            task=unit.task,
            outcome=outcome,
            reason=reason,
            native_id="" if started is None else started.native_id,
            state=_WORDS[outcome],
            node="" if started is None else started.node,
            started_at=None if started is None else _time(started.at),
            ended_at=now(),
        )

    def _write_down(self, units: Sequence[Unit], queue: LocalQueue) -> Standing:
        """Add to the journal what has ended, once each, whoever else has seen it; return where the job stands then."""
        with self.folder.locked():
            standing = self.folder.journal.standing()
            # Looked at again under the lock: whoever cancels says so before the program hears of it.
            ends = [self._end_of(unit, standing) for unit in units if self._is_ended(unit, standing, queue)]
            if ends:
                self.folder.journal.extend(ends)
                standing.ended.update({ended.task: ended for ended in ends})
            if all(unit.task in standing.ended for unit in self.units(None)):
                self.folder.drop_secrets()
        return standing

    def _key(self, task: int | None) -> JobKey:
        return self.folder.key if task is None else task_key(self.folder.key, task)

    def _ended_status(self, ended: Ended, standing: Standing) -> JobStatus:
        return JobStatus(
            key=self._key(ended.task),
            phase="ended",
            outcome=ended.outcome,
            exit_code=ended.exit_code,
            signal=ended.signal,
            native_id=ended.native_id,
            native_state=ended.state,
            reason=ended.reason,
            node=ended.node,
            submitted_at=standing.submitted_at,
            started_at=ended.started_at,
            ended_at=ended.ended_at,
            restarts=ended.restarts,
            peak_memory_mb=ended.peak_memory_mb,
        )

    def _living_status(self, unit: Unit, standing: Standing, sight: Sight) -> JobStatus:
        if standing.intended is not None and not _is_local(standing):
            return JobStatus(
                key=self._key(unit.task),
                phase="unsubmitted" if standing.submitted_at is None else "pending",
                reason=f"It was submitted to the executor {standing.intended.executor!r}, which was not asked.",
                submitted_at=standing.submitted_at,
                stale=True,
            )
        started = self.folder.run(unit.task).started()
        cancelled = bool({None, unit.task} & standing.cancelled)
        if started is None:
            submitted = standing.submitted_at is not None
            return JobStatus(
                key=self._key(unit.task),
                phase="pending" if submitted else "unsubmitted",
                native_state="PENDING" if submitted else "",
                reason=sight.pending_reason(unit) if submitted else "Its submission was not finished; submit it again.",
                submitted_at=standing.submitted_at,
            )
        return JobStatus(
            key=self._key(unit.task),
            phase="running",
            native_id=started.native_id,
            native_state="RUNNING",
            reason="It was told to end." if cancelled else "",
            node=started.node,
            submitted_at=standing.submitted_at,
            started_at=_time(started.at),
            restarts=started.restarts,
        )


def _is_local(standing: Standing) -> bool:
    return standing.intended is not None and standing.intended.executor == "local"


def _lives(unit: Unit, run: RunFolder, queue: LocalQueue) -> bool:
    process = runner_of(unit, run, queue)
    return process is not None and lives(process)


def runner_of(unit: Unit, run: RunFolder, queue: LocalQueue) -> ProcessIdentity | None:
    """Return the process that runs a job or task, as the queue or else as it itself tells; None if none was begun."""
    begun = queue.begun_run(unit)
    if begun is not None:
        return begun.process
    started = run.started()
    return None if started is None else ProcessIdentity(started.pid, started.started, started.boot)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
