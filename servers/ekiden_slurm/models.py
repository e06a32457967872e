"""What comes out of the tools for jobs."""

import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from ekiden_jobs import JobKey, JobStatus, LogTail, Preview
from ekiden_slurm.overview import Overview
from ekiden_slurm.words import in_a_line

MAX_LISTED = 50
MAX_LINES = 40

Told = Callable[[str], str]
Next = Annotated[str, Field(description="What to do.")]


def _leave_out_description(schema: JsonDict) -> None:
    """Save the room that a listing of eight tools has little of; fields say what they are."""
    del schema["description"]


_BARE = ConfigDict(json_schema_extra=_leave_out_description)


class JobArguments(BaseModel):
    """A job as an agent describes it: the arguments of slurm_submit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    command: list[str]
    folder: str = "."
    needs: str = ""
    env: list[str] = []


class JobStates(BaseModel):
    """Jobs."""

    model_config = _BARE

    jobs: Annotated[dict[str, str], Field(description="'STATE: more' of each.")]


class JobReports(JobStates):
    """Jobs, and what to do next."""

    next: Next

    @classmethod
    def of_statuses(cls, statuses: Iterable[JobStatus], told: Told, next_: str) -> Self:
        """Show some jobs.

        Args:
            statuses: The jobs.
            told: Makes a text one for the agent.
            next_: What to do.
        """
        return cls(jobs=lines_of(statuses, told), next=next_)


class JobPage(JobReports):
    """A page of jobs."""

    total: Annotated[int, Field(description="Of all pages.")]
    next_cursor: Annotated[str, Field(description="'': no more.")]


class JobPreview(BaseModel):
    """What would be submitted."""

    model_config = _BARE

    command: Annotated[str, Field(description="As in a shell.")]
    script: Annotated[str, Field(description="Its script.")]

    @classmethod
    def of_preview(cls, preview: Preview, told: Told) -> Self:
        """Show a preview."""
        return cls(command=told(shlex.join(preview.command)), script=told(preview.script))


class JobLog(BaseModel):
    """The end of a log."""

    model_config = _BARE

    text: Annotated[str, Field(description="The end.")]
    left_out: Annotated[int, Field(description="Bytes before it.")]

    @classmethod
    def of_tail(cls, tail: LogTail) -> Self:
        """Show the end of a log, as it was written."""
        shown = len(tail.text.encode()) if tail.truncated else tail.size_bytes
        return cls(text=tail.text, left_out=max(0, tail.size_bytes - shown))


class Cluster(BaseModel):
    """What jobs can run on."""

    model_config = _BARE

    executor: Annotated[str, Field(description="slurm or local, and why.")]
    parts: Annotated[list[str], Field(description="Partitions, nodes.")]
    jobs: Annotated[list[str], Field(description="Yours, not ended.")]

    @classmethod
    def of_overview(cls, overview: Overview, jobs: Sequence[str]) -> Self:
        """Show what there is, and the agent's jobs, not more than a model reads."""
        executor = f"{overview.executor}: {overview.reason}"
        return cls(executor=executor, parts=_bounded(overview.parts), jobs=_bounded(jobs))


def lines_of(statuses: Iterable[JobStatus], told: Told) -> dict[str, str]:
    """Return a line for each job."""
    return {told(status.key): told(in_a_line(status)) for status in statuses}


def _bounded(lines: Sequence[str]) -> list[str]:
    left_out = len(lines) - MAX_LINES
    return [*lines[:MAX_LINES], *([f"... and {left_out} more"] if left_out > 0 else [])]


def page(keys: Sequence[JobKey], cursor: str, limit: int = MAX_LISTED) -> tuple[list[JobKey], str]:
    """Return the keys of a page, and the cursor of the next one.

    A cursor is the last key of the page before it, so that jobs which come meanwhile move nothing.
    """
    start = keys.index(JobKey(cursor)) + 1 if cursor in keys else 0
    shown = list(keys[start : start + limit])
    return shown, shown[-1] if start + limit < len(keys) else ""
