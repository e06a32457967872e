"""The MCP surface of jobs."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import anyio
import anyio.to_thread
from anyio import from_thread
from mcp.server.mcpserver import Context
from pydantic import Field, ValidationError

from ekiden_jobs import JobRequestError, JobsError
from ekiden_kit.build import state_of
from ekiden_kit.definition import Lifespan, ServerDefinition, ToolDefinition
from ekiden_slurm.agent_jobs import AgentJobs
from ekiden_slurm.choice import Choice, choose_executor
from ekiden_slurm.models import Cluster, JobArguments, JobLog, JobPage, JobPreview, JobReports, JobStates
from ekiden_slurm.needs import EXAMPLE

if TYPE_CHECKING:
    from ekiden_config import Settings, SlurmSettings
    from ekiden_jobs import Statuses

PATIENCE_S = 50.0
"""How long a call may take; hosts give up after 60 seconds."""
LONGEST_WAIT_S = 40.0
MAX_LOG_BYTES = 24_000

INSTRUCTIONS = f"""\
Runs programs as jobs, on a Slurm cluster or, where there is none, on this machine (slurm_cluster says which). Jobs
outlive this server. slurm_submit, then slurm_wait, then slurm_logs. You pick each job's key: the same job submitted
again under its key is found and never run twice, so repeat a call whose answer was lost. slurm_preview shows what
would be submitted. slurm_submit_array is for many like tasks. slurm_status, slurm_cancel.

States: unsubmitted (its submission is under way), pending, running, or how it ended: ok, failed, time_limit, memory,
node_failure, preempted, cancelled, rejected, lost. Folders lie in this server's workspace. A job gets few variables
besides those you give; secrets go by name, those that the settings allow. Task 0 of the array 'a' is the job 'a_0' and
finds its number in EKIDEN_TASK; 'a' is the whole. A call takes at most {PATIENCE_S:.0f} s: when slurm_wait comes
back with jobs that have not ended, do something else or call it again.
"""

Key = Annotated[str, Field(description="The job.")]
Keys = Annotated[list[str], Field(description="The jobs.")]
Arguments = Annotated[dict[str, Any], Field(description="The arguments of slurm_submit.")]

_Answer = TypeVar("_Answer")


class _Office:
    """What the server keeps between calls: who runs jobs, chosen at the first call."""

    def __init__(self, settings: "Settings", choice: Callable[["SlurmSettings"], Choice]) -> None:
        self._settings = settings
        self._choice = choice
        self._choosing = Lock()  # guards what is chosen: once
        self._jobs: AgentJobs | None = None

    def jobs(self) -> AgentJobs:
        """Return the agent's jobs; to be called on a worker thread.

        Raises:
            JobsError: Jobs cannot be run here.
        """
        with self._choosing:
            if self._jobs is None:
                self._jobs = AgentJobs(self._choice(self._settings.slurm))
            return self._jobs


class _Abandoned(Exception):  # noqa: N818  # no error of anyone's: the call was cancelled
    """Nobody waits for the answer any more."""


async def slurm_submit(  # noqa: PLR0917  # a tool's arguments are named
    key: Annotated[str, Field(description="A new job's name, for ever.")],
    command: Annotated[list[str], Field(description="No shell.")],
    ctx: Context,
    folder: Annotated[str, Field(description="In the workspace.")] = ".",
    needs: Annotated[str, Field(description=f"As '{EXAMPLE}'.")] = "",
    env: Annotated[Sequence[str], Field(description="'NAME=VALUE'; 'NAME' of a secret.")] = (),
) -> JobReports:
    """Submit a job, or find the one of that key."""
    job = JobArguments(key=key, command=command, folder=folder, needs=needs, env=list(env))
    return await _answered(ctx, lambda jobs: jobs.submit(job))


async def slurm_submit_array(
    job: Arguments,
    tasks: Annotated[list[str], Field(description="More arguments of each, quoted as in a shell.")],
    ctx: Context,
) -> JobReports:
    """Submit many like tasks as one job; `needs` is each task's, with 'at_once=8' too."""
    if not tasks:
        raise JobRequestError("There are no tasks; give each task's further arguments, or use slurm_submit.")
    described = _described(job)
    return await _answered(ctx, lambda jobs: jobs.submit(described, tasks))


async def slurm_preview(
    job: Arguments, ctx: Context, tasks: Annotated[Sequence[str], Field(description="Of an array.")] = ()
) -> JobPreview:
    """Show what would be submitted; nothing is."""
    described = _described(job)
    return await _answered(ctx, lambda jobs: jobs.preview(described, tasks))


async def slurm_status(
    ctx: Context,
    keys: Annotated[Sequence[str], Field(description="Without: all, newest first.")] = (),
    cursor: Annotated[str, Field(description="`next_cursor`.")] = "",
) -> JobPage:
    """Tell where jobs stand."""
    return await _answered(ctx, lambda jobs: jobs.status(keys, cursor))


async def slurm_wait(
    keys: Keys,
    ctx: Context,
    timeout_s: Annotated[float, Field(ge=0, le=LONGEST_WAIT_S, description="At most.")] = LONGEST_WAIT_S,
) -> JobReports:
    """Wait until all of some jobs have ended, or the time is up. SLOW."""
    began, abandoned, told = monotonic(), Event(), -1.0

    def tick(statuses: "Statuses") -> None:
        nonlocal told
        if abandoned.is_set():
            raise _Abandoned
        ended = sum(status.phase == "ended" for status in statuses.values())
        passed = min(monotonic() - began, timeout_s)
        if passed <= told:  # progress only rises
            return
        told = passed
        from_thread.run(ctx.report_progress, passed, timeout_s, f"{ended} of {len(statuses)} jobs have ended")

    try:
        return await _answered(ctx, lambda jobs: jobs.wait(keys, timeout_s, tick))
    finally:
        abandoned.set()


async def slurm_logs(
    key: Key,
    ctx: Context,
    stream: Annotated[Literal["out", "err"], Field(description="Which.")] = "out",
    lines: Annotated[int, Field(ge=1, description="How many.")] = 100,
    max_bytes: Annotated[int, Field(ge=1, le=MAX_LOG_BYTES, description="At most.")] = 8_000,
) -> JobLog:
    """Show the last lines that a job, or a task, wrote."""
    return await _answered(ctx, lambda jobs: jobs.logs(key, stream, lines, max_bytes))


async def slurm_cancel(keys: Keys, ctx: Context) -> JobStates:
    """End jobs; those that have ended stay as they are."""
    return await _answered(ctx, lambda jobs: jobs.cancel(keys))


async def slurm_cluster(ctx: Context) -> Cluster:
    """Show what jobs can run on."""
    return await _answered(ctx, AgentJobs.cluster)


async def _answered(ctx: Context, work: Callable[[AgentJobs], _Answer]) -> _Answer:
    """Do some work on a worker thread, and tell what is refused in the agent's own terms.

    What takes too long goes on by itself: whatever it does is done once, however often it is asked for.
    """
    office = state_of(ctx, _Office)

    def told() -> _Answer:
        jobs = office.jobs()
        try:
            return work(jobs)
        except JobsError as error:
            raise JobsError(jobs.veiled(str(error))) from error

    with anyio.move_on_after(PATIENCE_S):
        return await anyio.to_thread.run_sync(told, abandon_on_cancel=True)
    raise JobsError(
        f"Not done within {PATIENCE_S:.0f} s, and still being tried: the system is slow, or takes no more jobs for the "
        "moment. Make the same call again in a minute; nothing is done twice."
    )


def _described(job: dict[str, Any]) -> JobArguments:
    """Read a job that is an argument itself.

    Raises:
        JobRequestError: It is none.
    """
    try:
        return JobArguments.model_validate(job)
    except ValidationError as error:
        flaw = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in flaw["loc"])
        raise JobRequestError(f"'job' must be the arguments of slurm_submit; {where!r}: {flaw['msg']}.") from error


def slurm_server(choice: Callable[["SlurmSettings"], Choice] = choose_executor) -> ServerDefinition:
    """Return the server.

    Args:
        choice: Chooses who runs jobs.
    """
    reaching_out = {"read_only": False, "open_world": True}
    return ServerDefinition(
        name="slurm",
        title="Jobs: run programs on a cluster, or here, that outlive their starter",
        instructions=INSTRUCTIONS,
        tools=(
            ToolDefinition(slurm_preview, title="Preview"),
            ToolDefinition(slurm_submit, title="Submit a job", **reaching_out),
            ToolDefinition(slurm_submit_array, title="Submit many tasks", **reaching_out),
            ToolDefinition(slurm_status, title="See jobs", open_world=True),
            ToolDefinition(slurm_wait, title="Wait", open_world=True),
            ToolDefinition(slurm_logs, title="Read a log"),
            ToolDefinition(slurm_cancel, title="End jobs", destructive=True, **reaching_out),
            ToolDefinition(slurm_cluster, title="See the cluster", open_world=True),
        ),
        errors=(JobsError,),
        lifespan=_lifespan(choice),
    )


def _lifespan(choice: Callable[["SlurmSettings"], Choice]) -> Lifespan:
    @asynccontextmanager
    async def office(settings: "Settings") -> AsyncGenerator[_Office]:
        yield _Office(settings, choice)

    return office


SERVER = slurm_server()
