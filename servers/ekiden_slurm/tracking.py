"""Where a job stands, by what its folder and Slurm say of it: nothing is asked, written or submitted here."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from signal import Signals

from ekiden_jobs import JobRequest, JobStatus, task_key
from ekiden_jobs.claim import NOBODY, claim_owner
from ekiden_jobs.folder import JobFolder, RunFolder
from ekiden_jobs.journal import Ended, Observed, Standing, fold
from ekiden_jobs.records import CLAIMED_BY_ANOTHER, MAY_NOT_RUN_AGAIN, EndedRun, StartedRun
from ekiden_policies.job_states import Phase, meaning, waits_for_ever
from ekiden_policies.jobs import EndRecord, Outcome, Seen, decide_forgotten, decide_outcome
from ekiden_slurm.attempts import Attempt, Unit, fold_attempts
from ekiden_slurm.script import slurm_log
from ekiden_slurm.sight import Sight
from ekiden_slurm.texts import JobRow

_OUT_OF_MEMORY = re.compile(rb"exceeded (?:job )?memory limit|oom[-_ ]kill", re.IGNORECASE)
_LOG_END = 65_536
_ENDING = (Signals.SIGTERM, Signals.SIGKILL)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to believe that what is missed may still come.

    Attributes:
        settle_s: After how long of full answers without it an attempt that nobody knows of has become no job.
        lost_after_s: After how long of full answers without it a job that was there is gone.
    """

    settle_s: float = 30.0
    lost_after_s: float = 120.0


@dataclass(slots=True)
class TrackedJob:
    """A job as its folder tells it.

    Attributes:
        folder: Its folder.
        request: What is to be run, without the secrets.
        standing: Where it stands by its journal.
        attempts: The attempts to submit it.
    """

    folder: JobFolder
    request: JobRequest
    standing: Standing
    attempts: list[Attempt]

    @classmethod
    def load(cls, folder: JobFolder, request: JobRequest) -> "TrackedJob":
        """Read a job's journal.

        Raises:
            JobsError: It cannot be read.
        """
        events = folder.journal.events()
        return cls(folder, request, fold(events), fold_attempts(events))

    @property
    def units(self) -> Sequence[Unit]:
        """The tasks of an array, or the job itself."""
        return range(len(self.request.tasks)) if self.request.tasks else (None,)

    @property
    def is_slurms(self) -> bool:
        """Whether it is Slurm's, and not another executor's."""
        return self.standing.intended is None or self.standing.intended.executor == "slurm"

    def open_units(self) -> list[Unit]:
        """Return what has not ended, as far as the journal says."""
        return [unit for unit in self.units if unit not in self.standing.ended]

    def attempts_of(self, unit: Unit) -> list[Attempt]:
        """Return the attempts that may have become the job, or that task."""
        return [attempt for attempt in self.attempts if attempt.covers(unit) and attempt.refused is None]

    def last_attempts(self) -> list[Attempt]:
        """Return the attempts that no later one took the place of."""
        last = {attempt.first: attempt for attempt in self.attempts}
        return list(last.values())

    def is_cancelled(self, unit: Unit) -> bool:
        """Tell whether somebody wants the job, or that task, to end."""
        return None in self.standing.cancelled or unit in self.standing.cancelled


@dataclass(frozen=True, slots=True)
class Traces:
    """What the runs of a job, or of a task, left in its folder.

    Attributes:
        run: The folder.
        record: How the last run ended, for decisions.
        ended: The same, in full.
        started: How the last run began.
        owner: What Slurm calls the job that has begun to run; empty if none has.
    """

    run: RunFolder
    record: EndRecord | None
    ended: EndedRun | None
    started: StartedRun | None
    owner: str

    @classmethod
    def of(cls, run: RunFolder) -> "Traces":
        """Read them."""
        ended = run.ended()
        return cls(run, run.end_record(), ended, run.started(), claim_owner(run.path) or NOBODY)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is to be said of a job, or of a task.

    Attributes:
        row: What Slurm has of it.
        verdict: How it ended, and why.
        is_missed: Whether Slurm answered in full, and it was not there.
        is_gone: Whether it was missed for long enough to count as gone. It has no verdict if it never began to run.
        is_unasked: Whether Slurm could not be asked.
    """

    row: JobRow | None = None
    verdict: tuple[Outcome, str] | None = None
    is_missed: bool = False
    is_gone: bool = False
    is_unasked: bool = False


def judge(job: TrackedJob, unit: Unit, traces: Traces, sight: Sight, patience: Patience) -> Judgement:
    """Say what is known of a job, or of a task."""
    attempts = job.attempts_of(unit)
    row = _row(attempts, unit, traces, sight)
    seen = None if row is None else _seen(job, unit, row)
    verdict = decide(traces.record, seen)
    if row is not None and _may_not_go_on(row, traces):
        verdict = "lost", "It was cut short, Slurm began it anew, and it may not run again."
    if verdict is not None:
        return Judgement(row, verdict)
    if row is not None:
        return Judgement(row)
    if not any(attempt.native_id for attempt in attempts):
        return Judgement(is_unasked=any(not sight.answers(attempt) for attempt in attempts))
    return _judge_missed(job, unit, traces, sight, patience)


def decide(record: EndRecord | None, seen: Seen | None) -> tuple[Outcome, str] | None:
    """Say how a job ended; where a signal such as Slurm sends ended its program, Slurm has to say why."""
    verdict = decide_outcome(record, seen)
    if verdict is None or verdict[0] != "failed" or record is None or record.limit:
        return verdict
    was_ended = record.signal in _ENDING or record.exit_code in {128 + number for number in _ENDING}
    said = None if seen is None else meaning(seen.state).outcome
    return None if was_ended and said is None else verdict


def _judge_missed(job: TrackedJob, unit: Unit, traces: Traces, sight: Sight, patience: Patience) -> Judgement:
    """Say what is known of a job that Slurm took, and of which it now has nothing."""
    attempt = next(one for one in reversed(job.attempts_of(unit)) if one.native_id)
    if not sight.answers(attempt):
        return Judgement(is_unasked=True)
    has_begun = traces.owner != NOBODY
    if job.is_cancelled(unit) and not has_begun:
        # Slurm keeps no record of a task that was cancelled while it waited.
        return Judgement(verdict=("cancelled", "It was cancelled before it began."), is_missed=True, is_gone=True)
    since = attempt.absent.get(unit)
    enough_s = patience.lost_after_s * (10 if sight.accounting_silence else 1)
    if since is None or sight.at - since < timedelta(seconds=enough_s):
        return Judgement(is_missed=True, is_unasked=bool(sight.accounting_silence))
    if not has_begun:
        if unit is not None and sight.rows.get(attempt.name):
            return Judgement(verdict=("cancelled", "Slurm dropped it before it began."), is_missed=True, is_gone=True)
        return Judgement(is_missed=True, is_gone=True)
    outcome, reason = decide_forgotten(traces.record)
    if outcome == "lost" and job.is_cancelled(unit):
        outcome, reason = "cancelled", "It was cancelled; Slurm no longer knows it."
    return Judgement(verdict=(outcome, reason), is_missed=True, is_gone=True)


def is_missed(job: TrackedJob, attempt: Attempt, rows: Sequence[JobRow]) -> bool:
    """Tell whether the queue lacks something of an attempt that has not ended."""
    if attempt.is_unclear:
        return not rows
    return any(
        unit not in job.standing.ended
        and attempt.covers(unit)
        and not any(_is_unit(row, attempt, unit) for row in rows)
        for unit in job.units
    )


def _row(attempts: Sequence[Attempt], unit: Unit, traces: Traces, sight: Sight) -> JobRow | None:
    """Return what Slurm has of a job: of several attempts, of the one that claimed it, else of the latest."""
    found = [
        (attempt, row)
        for attempt in attempts
        for row in sight.rows.get(attempt.name, ())
        if _is_unit(row, attempt, unit)
    ]
    if traces.owner != NOBODY:
        found = [(attempt, row) for attempt, row in found if native_unit(row, attempt, unit) == traces.owner]
    if traces.record is None:
        found = [(attempt, row) for attempt, row in found if row.exit_code != CLAIMED_BY_ANOTHER]
    # A row of the queue comes before one of accounting.
    return max(reversed(found), key=lambda pair: pair[0].number)[1] if found else None


def _is_unit(row: JobRow, attempt: Attempt, unit: Unit) -> bool:
    """Tell whether a row is of the job, or of that task; one without tasks is of all that waited together."""
    return unit is None or not row.tasks or unit - attempt.first in row.tasks


def native_unit(row: JobRow, attempt: Attempt, unit: Unit) -> str:
    """Return what Slurm calls a job, or a task of an array."""
    return row.job_id if unit is None else f"{row.array_id}_{unit - attempt.first}"


def _may_not_go_on(row: JobRow, traces: Traces) -> bool:
    """Tell whether Slurm put a job back that may run only so often: a runner that ran nothing ended it."""
    is_told = traces.ended is not None and traces.ended.restarts >= row.restarts
    return row.exit_code == MAY_NOT_RUN_AGAIN and not is_told


def _seen(job: TrackedJob, unit: Unit, row: JobRow) -> Seen:
    """Return what Slurm says, and with a failure whether its log tells that memory was the reason."""
    seen = row.seen()
    if meaning(row.state).outcome == "failed" and row.signal == 9 and _log_tells_of_memory(job, unit):
        return replace(seen, reason="OutOfMemory")
    return seen


def _log_tells_of_memory(job: TrackedJob, unit: Unit) -> bool:
    for attempt in reversed(job.attempts_of(unit)):
        try:
            with slurm_log(job.folder.path, unit, attempt.tasks).open("rb") as file:
                file.seek(max(0, file.seek(0, 2) - _LOG_END))
                if _OUT_OF_MEMORY.search(file.read(_LOG_END)):
                    return True
        except FileNotFoundError:
            continue
    return False


def ended_event(job: TrackedJob, unit: Unit, traces: Traces, judgement: Judgement, now: datetime) -> Ended:
    """Return what the journal keeps of an end; the judgement has a verdict."""
    assert judgement.verdict is not None
    outcome, reason = judgement.verdict
    row, ended, started = judgement.row, traces.ended, traces.started
    of_record = ended if ended is not None and (row is None or ended.restarts >= row.restarts) else None
    has_run = started is not None or of_record is not None
    known = next((one for one in reversed(job.attempts_of(unit)) if one.native_id), None)
    native = traces.owner or ("" if known is None else known.native_unit(unit))
    row_ended = row.ended_at if row is not None and meaning(row.state).phase == "ended" else None
    return Ended(
        task=unit,
        outcome=outcome,
        reason=reason,
        native_id=native,
        state=row.state if row is not None and meaning(row.state).phase == "ended" else "",
        exit_code=of_record.exit_code if of_record else row.exit_code if row and has_run else None,
        signal=of_record.signal if of_record else row.signal if row and has_run else None,
        node=of_record.node if of_record else row.node if row else started.node if started else "",
        restarts=max(of_record.restarts if of_record else 0, row.restarts if row else 0),
        peak_memory_mb=of_record.peak_memory_mb if of_record else None,
        started_at=_time(of_record.started_at if of_record else started.at if started else None),
        ended_at=_time(of_record.at) if of_record else row_ended or now,
    )


def observed_event(job: TrackedJob, unit: Unit, judgement: Judgement) -> Observed | None:
    """Return what the journal keeps of a job that lives; None if that is nothing new."""
    row = judgement.row
    if row is None:
        return None
    attempt = next((one for one in job.attempts if row.name == one.name), None)
    native = row.job_id if attempt is None else native_unit(row, attempt, unit)
    before = job.standing.observed.get(unit)
    was_missed = any(unit in one.absent for one in job.attempts)
    fresh = Observed(
        task=unit, native_id=native, state=row.state, reason=row.reason, node=row.node, restarts=row.restarts
    )
    if before is not None and not was_missed and fresh.model_copy(update={"at": before.at}) == before:
        return None
    return fresh


def status_of_unit(job: TrackedJob, unit: Unit, traces: Traces | None, judgement: Judgement) -> JobStatus:
    """Return where a job stands, or a task."""
    key = job.folder.key if unit is None else task_key(job.folder.key, unit)
    attempts = job.attempts_of(unit)
    known = next((one for one in reversed(attempts) if one.native_id), None)
    submitted_at = known.submitted_at if known else None
    if (ended := job.standing.ended.get(unit)) is not None:
        return JobStatus(
            key=key, phase="ended", outcome=ended.outcome, exit_code=ended.exit_code, signal=ended.signal,
            native_id=ended.native_id, native_state=ended.state, reason=ended.reason, node=ended.node,
            submitted_at=submitted_at, started_at=ended.started_at, ended_at=ended.ended_at, restarts=ended.restarts,
            peak_memory_mb=ended.peak_memory_mb,
        )  # fmt: skip
    observed = job.standing.observed.get(unit)
    started = traces.started if traces else None
    state = observed.state if observed else ""
    restarts = observed.restarts if observed else 0
    phase = _phase(known, state)
    if started is not None and (phase == "unsubmitted" or (phase == "pending" and started.restarts >= restarts)):
        phase, restarts = "running", started.restarts  # its own word is newer
    is_running = phase == "running" and started is not None and started.restarts >= restarts
    return JobStatus(
        key=key, phase=phase, native_id=known.native_unit(unit) if known else "", native_state=state,
        reason=_reason(phase, observed, judgement, was_tried=bool(attempts)), node=observed.node if observed else "",
        submitted_at=submitted_at, started_at=_time(started.at) if is_running and started else None,
        restarts=restarts, stale=judgement.is_unasked or judgement.is_missed,
        waits_for_ever=observed is not None and phase == "pending" and waits_for_ever(state, observed.reason),
    )  # fmt: skip


def _phase(known: Attempt | None, state: str) -> Phase:
    if known is None:
        return "unsubmitted"
    return meaning(state).phase or "pending"


def _reason(phase: Phase, observed: Observed | None, judgement: Judgement, *, was_tried: bool) -> str:
    if judgement.is_gone:
        return "Slurm lost it before it began; submit it again, or wait for it, and it is submitted anew."
    if phase == "unsubmitted":
        known = "Nobody knows yet whether Slurm took it" if was_tried else "It was not handed to Slurm yet"
        return f"{known}; submit it again, or wait for it: it runs once."
    return observed.reason if phase == "pending" and observed is not None else ""


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
