"""An executor that runs nothing: it remembers what it was given, and jobs are what a test says they are."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from ekiden_jobs import (
    JobKey,
    JobRequest,
    JobRequestError,
    JobStatus,
    LogTail,
    Preview,
    Statuses,
    StreamName,
    UnknownJobError,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class RememberedJobs:
    """Jobs in memory.

    Attributes:
        requests: What was submitted.
        jobs: Where jobs stand; a test changes it as it likes.
        written: What jobs wrote, by key and stream.
        troubles: What the next questions are answered with in place of an answer.
        waits: How long anybody waited.
    """

    def __init__(self, name: Literal["local", "slurm"] = "slurm") -> None:
        self._name: Literal["local", "slurm"] = name
        self.requests: dict[JobKey, JobRequest] = {}
        self.jobs: dict[JobKey, JobStatus] = {}
        self.written: dict[tuple[JobKey, StreamName], str] = {}
        self.troubles: list[Exception] = []
        self.waits: list[float | None] = []

    @property
    def name(self) -> Literal["local", "slurm"]:
        return self._name

    def preview(self, request: JobRequest) -> Preview:
        self._stumble()
        return Preview(("sbatch", "--parsable"), f"#!/bin/sh\ncd {request.folder}\n{' '.join(request.command)}\n")

    def submit(self, request: JobRequest) -> JobStatus:
        self._stumble()
        if self.requests.setdefault(request.key, request) != request:
            raise JobRequestError(f"The key {request.key!r} belongs to another job.")
        waiting = JobStatus(request.key, "pending", native_id="7", reason="Resources")
        return self.jobs.setdefault(request.key, waiting)

    def status(self, keys: Sequence[JobKey]) -> Statuses:
        self._stumble()
        for key in keys:
            if key not in self.jobs:
                raise UnknownJobError(f"There is no job {key!r}.")
        return {key: self.jobs[key] for key in keys}

    def wait(
        self,
        keys: Sequence[JobKey],
        timeout_s: float | None = None,
        *,
        tick: Callable[[Statuses], None] | None = None,
    ) -> Statuses:
        self.waits.append(timeout_s)
        seen = self.status(keys)
        if tick is not None:
            tick(seen)
        return seen

    def logs(
        self, key: JobKey, stream: StreamName, *, last_lines: int | None = None, last_bytes: int = 65_536
    ) -> LogTail:
        self.status([key])
        data = self.written.get((key, stream), "").encode()
        shown = data[-last_bytes:]
        if last_lines is not None:
            shown = b"".join(shown.splitlines(keepends=True)[-last_lines:])
        return LogTail(shown.decode("utf-8", "replace"), len(data), len(shown) < len(data))

    def cancel(self, keys: Sequence[JobKey]) -> Statuses:
        for key, status in self.status(keys).items():
            if status.phase != "ended":
                self.end(key, outcome="cancelled")
        return self.status(keys)

    def known(self) -> list[JobKey]:
        return list(self.jobs)

    def end(self, key: JobKey, **changes: object) -> None:
        """Have a job end."""
        over = {"phase": "ended", "outcome": "ok", "reason": "", "started_at": NOON, "ended_at": NOON} | changes
        self.jobs[key] = replace(self.jobs[key], **over)  # pyright: ignore[reportArgumentType]  # fields by name

    def _stumble(self) -> None:
        if self.troubles:
            raise self.troubles.pop(0)
