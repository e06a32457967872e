"""Jobs on a Slurm cluster: nothing is submitted twice or lost, and Slurm is asked little."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from ekiden_config import SlurmSettings
from ekiden_jobs import JobKey, JobRequest, JobRequestError, JobStatus, Preview, Statuses
from ekiden_jobs.array_status import status_of_array
from ekiden_jobs.checks import check_request
from ekiden_jobs.executor import LogTail, StreamName
from ekiden_jobs.folder import JobFolder, find_job, known_jobs, runner_command, tail_of
from ekiden_jobs.journal import Cancelled
from ekiden_policies.job_states import meaning
from ekiden_policies.jobs import next_pause, rest_after
from ekiden_slurm.attempts import Attempt, Unit
from ekiden_slurm.commands import SlurmCommands
from ekiden_slurm.follow import Followed, Follower
from ekiden_slurm.pace import Pace
from ekiden_slurm.script import job_script, slurm_log
from ekiden_slurm.submission import Submission
from ekiden_slurm.tracking import Judgement, Patience, TrackedJob, status_of_unit

_GLANCE_S = 0.5
_GLANCES_SHARE = 0.1
"""Which share of the time is taken at most by looking for what jobs wrote; there may be thousands, on a file server."""


class SlurmExecutor:
    """Runs jobs on a Slurm cluster.

    Threads and processes may share a jobs folder, also from several machines. All that is known is in that folder, so
    whoever comes next goes on where another was killed.
    """

    def __init__(
        self,
        root: Path,
        settings: SlurmSettings,
        *,
        environ: Mapping[str, str] | None = None,
        patience: Patience | None = None,
    ) -> None:
        """Use a jobs folder.

        Args:
            root: The jobs folder; made when needed. All nodes must see it under the same path.
            settings: How to reach Slurm, and how politely.
            environ: The environment to take what Slurm's commands get from; the process's own if None.
            patience: How long to believe that what Slurm does not know may still come.
        """
        self._root = root.resolve()
        self._settings = settings
        self.commands = SlurmCommands(settings, environ)
        patience = patience or Patience()
        pace = Pace(self._root / ".submissions.json", settings.submissions_per_minute)
        self._submission = Submission(self.commands, pace, patience, settings.submit_timeout_s)
        self._follower = Follower(self.commands, self._submission, patience)

    @property
    def name(self) -> Literal["slurm"]:
        """Which executor it is."""
        return "slurm"

    def preview(self, request: JobRequest) -> Preview:
        """Return the script and the command that would submit it; nothing is submitted.

        Raises:
            JobRequestError: No job can be like that.
        """
        check_request(request)
        folder = JobFolder(self._root, request.key)
        script = job_script(
            request,
            name=f"{request.key}.1",
            runner=runner_command(folder),
            folder=folder.path,
            tasks=range(len(request.tasks)) if request.tasks else None,
        )
        return Preview(("sbatch", "--parsable", "--export=ALL", str(folder.script)), script)

    def submit(self, request: JobRequest) -> JobStatus:
        """Submit a job, or find the one of that key.

        Its phase stays `unsubmitted` as long as nobody knows whether Slurm took it; to wait for it finds that out, and
        submits it again if need be.

        Raises:
            JobRequestError: No job can be like that, or another job has its key.
            SubmissionError: Slurm turns it away.
            ExecutorUnavailableError: Slurm cannot be asked; to submit again with the same key is safe.
        """
        self.preview(request)
        folder = JobFolder.create(self._root, request)
        with folder.locked():
            job = TrackedJob.load(folder, folder.request())
            self._require_ours(job)
            is_new = not job.attempts
            if not job.is_cancelled(None):
                self._submission.begin(job)
            job = TrackedJob.load(folder, job.request)
        if is_new and not any(attempt.is_unclear for attempt in job.attempts):
            return _status(request.key, None, Followed(job, {}, {}))
        return self._look([request.key], may_submit=True)[request.key]

    def status(self, keys: Sequence[JobKey]) -> Statuses:
        """Tell where jobs stand; of those that have not ended Slurm is asked by one question.

        Raises:
            UnknownJobError: There is none of a key.
        """
        return self._look(keys, may_submit=False)

    def wait(
        self,
        keys: Sequence[JobKey],
        timeout_s: float | None = None,
        *,
        tick: Callable[[Statuses], None] | None = None,
    ) -> Statuses:
        """Wait until all of some jobs have ended, or the time is up.

        What jobs write of their end is looked for often, Slurm is asked ever more rarely as long as nothing changes. A
        job of which an earlier submitter left only the intent is submitted.

        Raises:
            UnknownJobError: There is none of a key.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        known: dict[JobKey, JobStatus] = {}
        pause_s = self._settings.poll_first_s
        while True:
            fresh = self._look(_open(keys, known), may_submit=True)
            changed = any(known.get(key) != status for key, status in fresh.items())
            known.update(fresh)
            if tick is not None:
                tick(dict(known))
            pause_s = next_pause(
                pause_s,
                changed=changed,
                shortest_s=self._settings.poll_first_s,
                longest_s=self._settings.poll_longest_s,
            )
            resume = time.monotonic() + pause_s
            self._read_ends(keys, known, resume if deadline is None else min(resume, deadline), tick)
            if not _open(keys, known) or (deadline is not None and time.monotonic() >= deadline):
                return {key: known[key] for key in keys}

    def logs(
        self, key: JobKey, stream: StreamName, *, last_lines: int | None = None, last_bytes: int = 65_536
    ) -> LogTail:
        """Return the end of what a job, or a task of an array, wrote.

        Where a job wrote no errors, what Slurm itself had to say of it takes their place.

        Raises:
            UnknownJobError: There is none of that key.
            JobRequestError: The key is that of an array as a whole.
        """
        folder, task = find_job(self._root, key)
        job = TrackedJob.load(folder, folder.request())
        if task is None and job.request.tasks:
            raise JobRequestError(f"{key!r} is an array, whose tasks write their own logs; ask for '{key}_0'.")
        own = folder.run(task).tail(stream, last_lines=last_lines, last_bytes=last_bytes)
        if own.size_bytes or stream == "out":
            return own
        for attempt in reversed(job.attempts_of(task)):
            said = slurm_log(folder.path, task, attempt.tasks)
            if said.exists():
                return tail_of(said, last_lines=last_lines, last_bytes=last_bytes)
        return own

    def cancel(self, keys: Sequence[JobKey]) -> Statuses:
        """End jobs; those that have ended stay as they are.

        That it is wanted is written down first: a job that Slurm turns out to have taken is ended then. What Slurm is
        told to end it is first seen to have under our name: a controller that was killed gives numbers anew.

        Raises:
            UnknownJobError: There is none of a key.
            ExecutorUnavailableError: Slurm cannot be asked.
        """
        wanted: list[tuple[Attempt, Unit]] = []
        for folder, task in [find_job(self._root, key) for key in keys]:
            with folder.locked():
                job = TrackedJob.load(folder, folder.request())
                self._require_ours(job)
                units = [unit for unit in job.open_units() if task is None or unit == task]
                if not units:
                    continue
                if not job.is_cancelled(task):
                    folder.journal.add(Cancelled(task=task))
                self._submission.cancel_unsubmitted(job, units)
                known = (attempt for attempt in job.attempts if attempt.native_id and attempt.refused is None)
                wanted += [(attempt, task) for attempt in known if task is None or attempt.covers(task)]
        self._cancel(wanted)
        return self._look(keys, may_submit=False)

    def known(self) -> list[JobKey]:
        """Return the keys of all jobs of the jobs folder, the oldest first."""
        return known_jobs(self._root)

    def _cancel(self, wanted: Sequence[tuple[Attempt, Unit]]) -> None:
        """Have Slurm end what it has of some attempts, or of a task of each."""
        if not wanted:
            return
        rows = self.commands.queue(names=list({attempt.name: None for attempt, _ in wanted}))
        alive = {(row.name, row.array_id) for row in rows if meaning(row.state).phase != "ended"}
        doomed = {
            number if task is None else f"{number}_{task - attempt.first}": None
            for attempt, task in wanted
            for name, number in alive
            if name == attempt.name
        }
        self.commands.cancel(list(doomed))

    def _require_ours(self, job: TrackedJob) -> None:
        if not job.is_slurms and job.standing.intended is not None:
            other = job.standing.intended.executor
            raise JobRequestError(f"Job {job.folder.key!r} was submitted to {other}; ask that of it.")

    def _look(self, keys: Sequence[JobKey], *, may_submit: bool, ask: bool = True) -> dict[JobKey, JobStatus]:
        places = {key: find_job(self._root, key) for key in keys}
        folders = {folder.key: folder for folder, _ in places.values()}
        followed = self._follower.follow(list(folders.values()), may_submit=may_submit, ask=ask)
        return {key: _status(key, task, followed[folder.key]) for key, (folder, task) in places.items()}

    def _read_ends(
        self,
        keys: Sequence[JobKey],
        known: dict[JobKey, JobStatus],
        until: float,
        tick: Callable[[Statuses], None] | None,
    ) -> None:
        """Wait, and take note of the ends that jobs write down meanwhile; Slurm is not asked."""
        rest = threading.Event()
        spent_s = 0.0
        while open_keys := _open(keys, known):
            left_s = until - time.monotonic()
            if left_s <= 0:
                return
            rest.wait(min(max(_GLANCE_S, rest_after(spent_s, _GLANCES_SHARE)), left_s))
            began = time.monotonic()
            if self._follower.has_news([find_job(self._root, key) for key in open_keys]):
                known.update(self._look(open_keys, may_submit=False, ask=False))
                if tick is not None:
                    tick(dict(known))
            spent_s = time.monotonic() - began


def _open(keys: Sequence[JobKey], known: Mapping[JobKey, JobStatus]) -> list[JobKey]:
    return [key for key in dict.fromkeys(keys) if key not in known or known[key].phase != "ended"]


def _status(key: JobKey, task: Unit, followed: Followed) -> JobStatus:
    job = followed.job
    units = job.units if task is None else [task]
    statuses = [
        status_of_unit(job, unit, followed.traces.get(unit), followed.judgements.get(unit, Judgement()))
        for unit in units
    ]
    return status_of_array(key, statuses) if task is None and job.request.tasks else statuses[0]
