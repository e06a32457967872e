"""Jobs as an agent sees them: its own alone, in its own terms."""

import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ekiden_jobs import JobKey, JobRequest, JobRequestError, JobStatus, StreamName
from ekiden_slurm.choice import Choice
from ekiden_slurm.models import (
    Cluster,
    JobArguments,
    JobLog,
    JobPage,
    JobPreview,
    JobReports,
    JobStates,
    lines_of,
    page,
)
from ekiden_slurm.needs import read_needs, split_task
from ekiden_slurm.overview import look_around
from ekiden_slurm.scope import AgentScope
from ekiden_slurm.words import ended_well

if TYPE_CHECKING:
    from ekiden_jobs import Statuses


class AgentJobs:
    """What an agent may do with jobs."""

    def __init__(self, choice: Choice) -> None:
        """Take who runs jobs.

        Raises:
            JobRequestError: The workspace of the settings is no folder.
        """
        settings = choice.settings
        self._choice = choice
        self._executor = choice.executor
        self._scope = AgentScope.of_folder(Path(settings.workspace), choice.jobs_folder, settings.secrets)

    def veiled(self, text: str) -> str:
        """Return a text as the agent may read it."""
        return self._scope.veiled(text)

    def preview(self, arguments: JobArguments, tasks: Sequence[str]) -> JobPreview:
        """Show what would be submitted.

        Raises:
            JobsError: It cannot be.
        """
        return JobPreview.of_preview(self._executor.preview(self._request(arguments, tasks)), self.veiled)

    def submit(self, arguments: JobArguments, tasks: Sequence[str] = ()) -> JobReports:
        """Submit a job, or find the one of its key.

        Raises:
            JobsError: It cannot be.
        """
        status = self._executor.submit(self._request(arguments, tasks))
        if status.phase == "ended":
            told = f"It had been submitted before and has ended; slurm_logs shows what {arguments.key!r} wrote."
        else:
            runs = "Slurm runs it" if self._executor.name == "slurm" else "It runs on this machine"
            told = f"{runs}: do other work, or wait for {arguments.key!r} with slurm_wait."
        return JobReports.of_statuses([status], self.veiled, told)

    def status(self, keys: Sequence[str], cursor: str) -> JobPage:
        """Tell where jobs stand: those named, or all, the newest first.

        Raises:
            JobsError: There is no such job.
        """
        wanted = self._keys(keys) or self._scope.own(self._executor.known())[::-1]
        shown, next_cursor = page(wanted, self._scope.prefix + cursor)
        if keys:
            statuses, troubles = self._executor.status(shown), list[str]()
        else:
            statuses, troubles = self._choice.standing(shown)
        return JobPage(
            jobs=lines_of(statuses.values(), self.veiled),
            next=" ".join([self._advice(statuses.values()), *map(self.veiled, troubles)]),
            total=len(wanted),
            next_cursor=self._scope.shown(JobKey(next_cursor)),
        )

    def wait(self, keys: Sequence[str], timeout_s: float, tick: Callable[["Statuses"], None]) -> JobReports:
        """Wait until all of some jobs have ended, or the time is up.

        Raises:
            JobsError: There is no such job.
        """
        statuses = self._executor.wait(self._keys(_named(keys)), timeout_s, tick=tick)
        return JobReports.of_statuses(statuses.values(), self.veiled, self._advice(statuses.values()))

    def logs(self, key: str, stream: StreamName, lines: int, max_bytes: int) -> JobLog:
        """Return the end of what a job wrote.

        Raises:
            JobsError: There is no such job.
        """
        wanted = self._scope.key(key)
        return JobLog.of_tail(self._executor.logs(wanted, stream, last_lines=lines, last_bytes=max_bytes))

    def cancel(self, keys: Sequence[str]) -> JobStates:
        """End jobs.

        Raises:
            JobsError: There is no such job, or the system cannot be asked.
        """
        statuses = self._executor.cancel(self._keys(_named(keys)))
        return JobStates(jobs=lines_of(statuses.values(), self.veiled))

    def cluster(self) -> Cluster:
        """Show what jobs can run on, and the agent's own that have not ended.

        Raises:
            JobsError: The system cannot be asked.
        """
        mine = self._scope.own(self._executor.known())
        statuses, _ = self._choice.standing(mine)
        unfinished = [status for status in statuses.values() if status.phase != "ended"]
        jobs = [f"{key} {line}" for key, line in lines_of(unfinished, self.veiled).items()]
        return Cluster.of_overview(look_around(self._choice), jobs)

    def _keys(self, given: Sequence[str]) -> list[JobKey]:
        return [self._scope.key(key) for key in dict.fromkeys(given)]

    def _request(self, arguments: JobArguments, tasks: Sequence[str]) -> JobRequest:
        folder = self._scope.folder(arguments.folder)
        needs = read_needs(arguments.needs)
        public, secret = self._scope.variables(arguments.env, os.environ)
        return JobRequest(
            key=self._scope.key(arguments.key),
            command=self._scope.command(arguments.command, folder),
            folder=folder,
            name=arguments.key,
            environment=public,
            secrets=secret,
            resources=self._choice.completed(needs.resources),
            tasks=tuple(map(split_task, tasks)),
            tasks_at_once=needs.at_once,
        )

    def _advice(self, statuses: Collection[JobStatus]) -> str:
        """Say what to do next with some jobs."""
        if not statuses:
            return "There is no job yet; slurm_submit makes one."
        if stuck := [self._scope.shown(status.key) for status in statuses if status.waits_for_ever]:
            return f"These will never start: cancel them, and submit what can under a new key: {_quoted(stuck)}."
        if unfinished := sum(status.phase != "ended" for status in statuses):
            return f"{unfinished} of {len(statuses)} have not ended: do other work, or call slurm_wait again."
        if bad := [self._scope.shown(status.key) for status in statuses if not ended_well(status)]:
            return (
                f"Not all ended well: {_quoted(bad)}. slurm_logs with stream 'err' shows why; to run one again, submit "
                "it under a new key."
            )
        return "All ended well; slurm_logs shows what they wrote."


def _named(keys: Sequence[str]) -> Sequence[str]:
    if not keys:
        raise JobRequestError("No job is named; slurm_status lists those there are.")
    return keys


def _quoted(keys: Sequence[str], most: int = 5) -> str:
    more = f" and {len(keys) - most} more" if len(keys) > most else ""
    return ", ".join(map(repr, keys[:most])) + more
