"""Submitting each job once: the intent is on disk before sbatch, and an unclear answer is looked into, not repeated."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta

from ekiden_files import write_whole
from ekiden_jobs import ExecutorUnavailableError, SubmissionError
from ekiden_jobs.claim import NOBODY, bar_run, claim_owner
from ekiden_jobs.folder import runner_command
from ekiden_jobs.journal import Absent, Adopted, Ended, Event, Refused, Submitted, Unclear
from ekiden_policies.jobs import Found, Outcome, decide_submission
from ekiden_slurm.attempts import Attempt, Unit, next_attempt, part_that_follows
from ekiden_slurm.commands import SlurmCommands
from ekiden_slurm.commands import Submitted as Taken
from ekiden_slurm.pace import Pace
from ekiden_slurm.script import job_script
from ekiden_slurm.sight import Sight
from ekiden_slurm.tracking import Judgement, Patience, TrackedJob

MAX_ATTEMPTS = 5
"""How often a job is submitted of which nothing is heard."""
_USUAL_ARRAY = 1001


class Submission:
    """Submits jobs. Whoever calls holds the job's lock, and reads its journal anew afterwards."""

    def __init__(self, commands: SlurmCommands, pace: Pace, patience: Patience, submit_timeout_s: float) -> None:
        """Take Slurm, the pace of submissions, and how long to wait for what is missed, and at most for sbatch."""
        self._commands = commands
        self._pace = pace
        self._patience = patience
        self._submit_timeout_s = submit_timeout_s
        self._longest_array: int | None = None
        self._forgets_after: timedelta | None = None

    def begin(self, job: TrackedJob) -> None:
        """Submit what no attempt was made for yet, and what was only turned away for the time being.

        Raises:
            SubmissionError: Slurm turns it away for good.
            ExecutorUnavailableError: Slurm takes nothing now.
        """
        for attempt in job.last_attempts():
            if attempt.refused is not None and not attempt.refused.for_good:
                self._attempt(job, attempt.tasks)
                job = TrackedJob.load(job.folder, job.request)
        if not job.request.tasks:
            if not job.attempts:
                self._attempt(job, None)
            return
        count = len(job.request.tasks)
        while part_that_follows(job.attempts, count, 1) is not None:
            tasks = part_that_follows(job.attempts, count, self._longest())
            self._attempt(job, tasks)
            job = TrackedJob.load(job.folder, job.request)

    def reconcile(self, job: TrackedJob, sight: Sight, *, may_submit: bool) -> list[str]:
        """Find out what became of attempts that nobody knows of; return what Slurm must end.

        Args:
            job: The job.
            sight: What Slurm says.
            may_submit: Whether to submit again what has surely become no job.

        Raises:
            SubmissionError: Slurm turns it away for good.
            ExecutorUnavailableError: Slurm takes nothing now.
        """
        doomed: list[str] = []
        for attempt in job.last_attempts():
            if attempt.is_unclear and sight.answers(attempt):
                doomed += self._reconcile(job, attempt, sight, may_submit=may_submit)
        return doomed

    def replace_lost(
        self, job: TrackedJob, judgements: Mapping[Unit, Judgement], sight: Sight, *, may_submit: bool
    ) -> None:
        """Submit again what Slurm took, lost and never began; end what may just as well have been removed.

        Raises:
            SubmissionError: Slurm turns it away for good.
            ExecutorUnavailableError: Slurm takes nothing now.
        """
        for attempt in job.last_attempts():
            covered = [unit for unit in judgements if attempt.covers(unit)]
            gone = [unit for unit in covered if judgements[unit].is_gone and judgements[unit].verdict is None]
            if not gone or not sight.answers(attempt):
                continue
            all_gone = len(gone) == (attempt.count or 1)
            if all_gone and self._was_there_lately(job, attempt) and len(job.attempts) < MAX_ATTEMPTS:
                if may_submit:
                    self._attempt(job, attempt.tasks)
            else:
                self._end(job, gone, "lost", "Slurm no longer knows it, and it never began.")

    def _attempt(self, job: TrackedJob, tasks: range | None) -> None:
        """Submit a job, or a part of an array, under a name of its own."""
        folder = job.folder
        intent = next_attempt(folder.key, job.attempts, tasks)
        script = job_script(
            job.request, name=intent.name, runner=runner_command(folder), folder=folder.path, tasks=tasks
        )
        write_whole(folder.script, script, mode=0o600)
        self._pace.take_turn()
        folder.journal.add(intent)
        try:
            answer = self._commands.submit(script, _after_part_before(job, tasks))
        except SubmissionError as error:
            folder.journal.add(Refused(attempt=intent.attempt, text=str(error)))
            self._end(job, _units(job, tasks), "rejected", str(error))
            raise
        except ExecutorUnavailableError as error:
            folder.journal.add(Refused(attempt=intent.attempt, text=str(error), for_good=False))
            raise
        if isinstance(answer, Taken):
            # If a crash of the machine takes this away, the job is found again by its name.
            folder.journal.add(Submitted(attempt=intent.attempt, native_id=answer.job_id), sync=False)
        else:
            folder.journal.add(Unclear(attempt=intent.attempt, text=answer.text))

    def _reconcile(self, job: TrackedJob, attempt: Attempt, sight: Sight, *, may_submit: bool) -> list[str]:
        alike = [one for one in job.attempts if one.first == attempt.first and one.refused is None]
        rows = [row for one in alike for row in sight.rows.get(one.name, ())]
        decision = decide_submission(
            [Found(row.array_id, row.state, row.never_ran) for row in rows],
            claimed_by=_claimed_by(job, attempt),
            absent_s=self._absent_s(attempt, sight),
            settled_after_s=self._patience.settle_s * (10 if sight.accounting_silence else 1),
            attempt=len(alike),
            attempts=MAX_ATTEMPTS,
        )
        add, units = job.folder.journal.add, _units(job, attempt.tasks)
        match decision.action:
            case "adopt":
                add(Adopted(attempt=attempt.number, native_id=decision.native_id))
            case "rejected":
                text = next((row.reason for row in rows if row.array_id == decision.native_id), "")
                add(Refused(attempt=attempt.number, text=text))
                self._end(job, units, "rejected", f"Slurm turned it away: {text}.")
            case "wait":
                if None not in attempt.absent and sight.at >= attempt.quiet_since(self._submit_timeout_s):
                    add(Absent(attempt=attempt.number))
            case "again" if all(job.is_cancelled(unit) for unit in units):
                self._end(job, units, "cancelled", "It was cancelled before Slurm took it.")
            case "again":
                if may_submit:
                    self._attempt(job, attempt.tasks)
            case "give_up":
                self._end(job, units, "lost", f"It was submitted {len(alike)} times, and Slurm knows nothing of it.")
        return list(decision.cancel)

    def _absent_s(self, attempt: Attempt, sight: Sight) -> float:
        """Return for how long it has been missed since nobody can be submitting it any more."""
        since = attempt.absent.get(None)
        return 0.0 if since is None else (sight.at - since).total_seconds()

    def _end(self, job: TrackedJob, units: Sequence[Unit], outcome: Outcome, reason: str) -> None:
        """Write down the end of what never ran, and see that it never will."""
        events: list[Event] = [
            Ended(task=unit, outcome=outcome, reason=reason)
            for unit in units
            if unit not in job.standing.ended and bar_run(job.folder.run(unit).path)
        ]
        if events:
            job.folder.journal.extend(events)
            if not TrackedJob.load(job.folder, job.request).open_units():
                job.folder.drop_secrets()

    def cancel_unsubmitted(self, job: TrackedJob, units: Sequence[Unit]) -> None:
        """End what is no job of Slurm's, and keep from running what may turn out to be one."""
        unsubmitted = [unit for unit in units if not job.attempts_of(unit)]
        self._end(job, unsubmitted, "cancelled", "It was cancelled before it was submitted.")
        for unit in units:
            if not any(attempt.native_id for attempt in job.attempts_of(unit)):
                bar_run(job.folder.run(unit).path)

    def _was_there_lately(self, job: TrackedJob, attempt: Attempt) -> bool:
        """Tell whether Slurm would still know it if it had only ended: then Slurm has lost it."""
        seen = [event.at for event in job.standing.observed.values() if attempt.covers(event.task)]
        last_seen = max([*seen, attempt.submitted_at or attempt.intended_at])
        missed = min(attempt.absent.values(), default=last_seen)
        return missed - last_seen < self._forgetting()

    def _forgetting(self) -> timedelta:
        if self._forgets_after is None:
            seconds = self._commands.configuration().get("MinJobAge", "").partition(" ")[0]
            self._forgets_after = timedelta(seconds=int(seconds) if seconds.isdecimal() else 0)
        return self._forgets_after

    def _longest(self) -> int:
        if self._longest_array is None:
            self._longest_array = longest_array(self._commands.configuration())
        return self._longest_array


def longest_array(configuration: Mapping[str, str]) -> int:
    """Return how many tasks one array may have: sites bound their numbers, which begin at 0, and some their count."""
    size = configuration.get("MaxArraySize", "")
    count = re.search(r"\bmax_array_tasks=([0-9]+)", configuration.get("SchedulerParameters", ""))
    bounds = [int(text) for text in (size, count[1] if count else "") if text.isdecimal() and int(text)]
    return min(bounds, default=_USUAL_ARRAY)


def _units(job: TrackedJob, tasks: range | None) -> Sequence[Unit]:
    return [None] if tasks is None else list(tasks)


def _claimed_by(job: TrackedJob, attempt: Attempt) -> str:
    """Return which job of Slurm's has begun to run, as a whole."""
    for unit in _units(job, attempt.tasks):
        owner = claim_owner(job.folder.run(unit).path) or NOBODY
        if owner != NOBODY:
            return owner.partition("_")[0]
    return NOBODY


def _after_part_before(job: TrackedJob, tasks: range | None) -> list[str]:
    """Return options that keep the parts of an array one after the other where only so many tasks may run at once."""
    before = next((one for one in reversed(job.attempts) if tasks is not None and one.first < tasks.start), None)
    if job.request.tasks_at_once is None or before is None or not before.native_id:
        return []
    return [f"--dependency=afterany:{before.native_id}"]
