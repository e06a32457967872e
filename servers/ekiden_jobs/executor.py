"""What runs jobs: the same few questions, whoever answers them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ekiden_jobs.request import JobKey, JobRequest
from ekiden_jobs.status import JobStatus

StreamName = Literal["out", "err"]
Statuses = Mapping[JobKey, JobStatus]


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be submitted.

    Attributes:
        command: The command line.
        script: The job's script.
    """

    command: tuple[str, ...]
    script: str


@dataclass(frozen=True, slots=True)
class LogTail:
    """The end of what a job wrote.

    Attributes:
        text: The end; bytes that are no UTF-8 are replaced.
        size_bytes: How much there is in all.
        truncated: Whether something before the text was left out.
    """

    text: str
    size_bytes: int
    truncated: bool


class Executor(Protocol):
    """Runs jobs that outlive whoever submits them. Threads and processes may share a jobs folder."""

    @property
    def name(self) -> Literal["local", "slurm"]:
        """Which one it is."""
        ...

    def preview(self, request: JobRequest) -> Preview:
        """Return what would be submitted; nothing is.

        Raises:
            JobRequestError: No job can be like that.
        """
        ...

    def submit(self, request: JobRequest) -> JobStatus:
        """Submit a job, or find the one of that key: a key is one job, however often and by whom it is submitted.

        Raises:
            JobRequestError: No job can be like that, or another job has its key.
            SubmissionError: The system turns it away.
            ExecutorUnavailableError: The system cannot be asked; to submit again with the same key is safe.
        """
        ...

    def status(self, keys: Sequence[JobKey]) -> Statuses:
        """Tell where jobs stand, all of them by one question to the system.

        Raises:
            UnknownJobError: There is none of a key.
        """
        ...

    def wait(
        self,
        keys: Sequence[JobKey],
        timeout_s: float | None = None,
        *,
        tick: Callable[[Statuses], None] | None = None,
    ) -> Statuses:
        """Wait until all of some jobs have ended, or the time is up.

        Args:
            keys: The jobs.
            timeout_s: How long to wait; None: as long as it takes.
            tick: Called with what is known after each look.

        Raises:
            UnknownJobError: There is none of a key.
        """
        ...

    def logs(
        self, key: JobKey, stream: StreamName, *, last_lines: int | None = None, last_bytes: int = 65_536
    ) -> LogTail:
        """Return the end of what a job, or a task of an array, wrote.

        Raises:
            UnknownJobError: There is none of that key.
        """
        ...

    def cancel(self, keys: Sequence[JobKey]) -> Statuses:
        """End jobs; those that have ended stay as they are.

        Raises:
            UnknownJobError: There is none of a key.
            ExecutorUnavailableError: The system cannot be asked.
        """
        ...

    def known(self) -> list[JobKey]:
        """Return the keys of all jobs of the jobs folder, whoever submitted them, the oldest first."""
        ...
