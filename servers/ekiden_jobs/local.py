"""Jobs as processes of this machine: the executor for where there is no cluster."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from ekiden_jobs.array_status import status_of_array
from ekiden_jobs.checks import check_request
from ekiden_jobs.claim import bar_run
from ekiden_jobs.errors import ExecutorUnavailableError, JobRequestError
from ekiden_jobs.executor import LogTail, Preview, Statuses, StreamName
from ekiden_jobs.folder import JobFolder, find_job, known_jobs, runner_command
from ekiden_jobs.journal import Cancelled, Intended, Standing, Submitted
from ekiden_jobs.local_processes import send, wait_for, wait_for_an_end
from ekiden_jobs.local_queue import Due, LocalQueue, Unit
from ekiden_jobs.local_script import script_of
from ekiden_jobs.local_start import starter_command
from ekiden_jobs.local_status import LocalJob, Sight, runner_of
from ekiden_jobs.request import JobKey, JobRequest
from ekiden_jobs.status import JobStatus
from ekiden_policies.jobs import next_pause, rest_after

_KEPT_VARIABLES = frozenset({"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "USER"})
_START_TIMEOUT_S = 120
_SHORTEST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 5.0
_LOOKS_SHARE = 0.2
"""Which share of a processor is taken at most by looking at jobs that somebody waits for: the rest is theirs."""


class LocalExecutor:
    """Runs jobs as processes of this machine, at most so many processors' worth at once, the oldest first.

    A job survives whoever submits it; the end of each starts the next, so there is no process that must stay. Jobs find
    the machine as it is: partitions, accounts, features and graphics processors are not looked at. What a job finds in
    its environment is what its request names and little else (`PATH`, `HOME`, the language and the like).
    """

    def __init__(self, root: Path, *, slots: int | None = None, grace_s: float = 20.0) -> None:
        """Use a jobs folder.

        Args:
            root: The jobs folder; made when needed.
            slots: How many processors all jobs may take together; None: all that this process may use.
            grace_s: How long a program may take to end after it was asked to.
        """
        self._root = root.resolve()
        self._slots = slots or _processors()
        self._grace_s = grace_s
        self._queue = LocalQueue(self._root)
        self._jobs: dict[JobKey, LocalJob] = {}

    @property
    def name(self) -> Literal["local"]:
        """Which executor it is."""
        return "local"

    def preview(self, request: JobRequest) -> Preview:
        """Return the runner's command and a script that says what it does; nothing is submitted.

        Raises:
            JobRequestError: No job can be like that.
        """
        _check(request)
        return Preview(runner_command(JobFolder(self._root, request.key)), script_of(request))

    def submit(self, request: JobRequest) -> JobStatus:
        """Submit a job, or find the one of that key.

        Raises:
            JobRequestError: No job can be like that, another job has its key, or another executor has it.
            ExecutorUnavailableError: No process can be started; to submit again with the same key is safe.
        """
        _check(request)
        folder = JobFolder.create(self._root, request)
        self._enqueue(folder, request)
        self._start_due()
        return self.status([request.key])[request.key]

    def status(self, keys: Sequence[JobKey]) -> Statuses:
        """Tell where jobs stand.

        Raises:
            UnknownJobError: There is none of a key.
        """
        units = {key: find_job(self._root, key) for key in keys}
        for folder in {folder.key: folder for folder, _ in units.values()}.values():
            self._complete(folder)
        self._start_due()
        sight = Sight(self._queue, self._slots)
        found: dict[JobKey, JobStatus] = {}
        for key, (folder, task) in units.items():
            job = self._job(folder)
            tasks = job.statuses(sight, task)
            found[key] = tasks[0] if task is not None or not job.request.tasks else status_of_array(key, tasks)
        return found

    def wait(
        self,
        keys: Sequence[JobKey],
        timeout_s: float | None = None,
        *,
        tick: Callable[[Statuses], None] | None = None,
    ) -> Statuses:
        """Wait until all of some jobs have ended, or the time is up; looks when the system tells that a run has.

        Raises:
            UnknownJobError: There is none of a key.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        known: dict[JobKey, JobStatus] = {}
        pause_s = _SHORTEST_PAUSE_S
        while True:
            began = time.thread_time()
            fresh = self.status([key for key in keys if key not in known or known[key].phase != "ended"])
            changed = any(known.get(key) != status for key, status in fresh.items())
            known.update(fresh)
            if tick is not None:
                tick(dict(known))
            if all(status.phase == "ended" for status in known.values()):
                return known
            pause_s = next_pause(pause_s, changed=changed, shortest_s=_SHORTEST_PAUSE_S, longest_s=_LONGEST_PAUSE_S)
            remaining_s = None if deadline is None else deadline - time.monotonic()
            if remaining_s is not None and remaining_s <= 0:
                return known
            rest_s = rest_after(time.thread_time() - began, _LOOKS_SHARE)
            if remaining_s is not None:
                rest_s = min(rest_s, remaining_s)
                pause_s = min(pause_s, remaining_s - rest_s)
            time.sleep(rest_s)
            wait_for_an_end(
                (begun.process for begun in self._queue.begun().values() if not self._queue.is_over(begun)),
                pause_s,
            )

    def logs(
        self, key: JobKey, stream: StreamName, *, last_lines: int | None = None, last_bytes: int = 65_536
    ) -> LogTail:
        """Return the end of what a job, or a task of an array, wrote.

        Raises:
            UnknownJobError: There is none of that key.
            JobRequestError: The key is that of an array as a whole.
        """
        folder, task = find_job(self._root, key)
        if task is None and self._job(folder).request.tasks:
            raise JobRequestError(f"{key!r} is an array, whose tasks write their own logs; ask for '{key}_0'.")
        return folder.run(task).tail(stream, last_lines=last_lines, last_bytes=last_bytes)

    def cancel(self, keys: Sequence[JobKey]) -> Statuses:
        """End jobs; those that have ended stay as they are.

        What waits has ended at once; a program that runs is asked to end, and made to when it does not.

        Raises:
            UnknownJobError: There is none of a key.
            JobRequestError: Another executor has one of them.
        """
        self.status(keys)
        for folder, task in [find_job(self._root, key) for key in keys]:
            job = self._job(folder)
            with folder.locked():
                standing = folder.journal.standing()
                self._check_own(folder, standing)
                units = [unit for unit in job.units(task) if unit.task not in standing.ended]
                if units:
                    folder.journal.add(Cancelled(task=task))
            for unit in units:
                self._end(folder, unit)
        return self.status(keys)

    def known(self) -> list[JobKey]:
        """Return the keys of all jobs of the jobs folder, the oldest first."""
        return known_jobs(self._root)

    def _job(self, folder: JobFolder) -> LocalJob:
        if folder.key not in self._jobs:
            self._jobs[folder.key] = LocalJob(folder, folder.request())
        return self._jobs[folder.key]

    def _enqueue(self, folder: JobFolder, request: JobRequest) -> None:
        """Put a job into the queue, whatever an earlier try has done of that."""
        with folder.locked():
            standing = folder.journal.standing()
            intended = standing.intended
            if intended is None:
                intended = Intended(attempt=1, name=request.key, executor=self.name)
                folder.journal.add(intended)
            self._check_own(folder, standing)
            if standing.submitted_at is None:
                self._queue.add(_due(request, intended.at))
                folder.journal.add(Submitted(attempt=1, native_id=""))

    def _check_own(self, folder: JobFolder, standing: Standing) -> None:
        executor = self.name if standing.intended is None else standing.intended.executor
        if executor != self.name:
            raise JobRequestError(f"Job {folder.key!r} was submitted to the executor {executor!r}: ask that one.")

    def _complete(self, folder: JobFolder) -> None:
        """Finish a submission that was left half-way."""
        job = self._job(folder)
        if job.is_over:
            return
        standing = folder.journal.standing()
        if standing.intended is None or standing.intended.executor != self.name:
            return
        if standing.submitted_at is None:
            self._enqueue(folder, job.request)
        elif not self._queue.holds(folder.key) and not all(
            folder.run(unit.task).claim.exists() for unit in job.units(None)
        ):
            # The machine went down before all of the queue was on disk. What was begun is not begun again.
            self._queue.add(_due(job.request, standing.intended.at))

    def _start_due(self) -> None:
        """Begin what is due, by a process that outlives this one and has a single thread.

        Raises:
            ExecutorUnavailableError: That process failed.
        """
        if not self._queue.could_start(self._slots):
            return
        command = starter_command(self._root, self._slots, self._grace_s)
        environment = {
            name: value for name, value in os.environ.items() if name in _KEPT_VARIABLES or name.startswith("LC_")
        }
        with self._queue.log.open("ab") as log:
            try:
                starter = subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd="/",
                    start_new_session=True,
                )
            except OSError as error:
                raise self._cannot_start(f"{error}") from error
        if not wait_for(starter, _START_TIMEOUT_S):
            starter.kill()  # what it has not begun is still due
        if code := starter.wait():
            raise self._cannot_start(f"the process for that ended with {code}")

    def _cannot_start(self, why: str) -> ExecutorUnavailableError:
        return ExecutorUnavailableError(
            f"Jobs cannot be started: {why}. The end of {str(self._queue.log)!r} may say more; try again."
        )

    def _end(self, folder: JobFolder, unit: Unit) -> None:
        """Keep a job or a task from running, or have its runner end it."""
        if bar_run(folder.run(unit.task).path):
            return
        runner = runner_of(unit, folder.run(unit.task), self._queue)
        if runner is not None:
            send(runner, signal.SIGTERM)


def _check(request: JobRequest) -> None:
    check_request(request)
    if request.resources.nodes > 1:
        raise JobRequestError(f"Job {request.key!r} needs {request.resources.nodes} machines; there is only this one.")


def _due(request: JobRequest, at: datetime) -> Due:
    tasks = tuple(range(len(request.tasks))) if request.tasks else (None,)
    return Due(request.key, int(at.timestamp() * 1e6) * 1000, request.resources.cpus, request.tasks_at_once, tasks)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
