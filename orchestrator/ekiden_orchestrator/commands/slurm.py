"""`ekiden slurm`: run programs as jobs, on a Slurm cluster or on this machine, and see what became of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ekiden_orchestrator.commands.slurm_options import takes_job

if TYPE_CHECKING:
    from ekiden_config import Settings
    from ekiden_jobs import JobKey, Statuses
    from ekiden_orchestrator.job_options import JobOptions
    from ekiden_slurm.choice import Choice

app = typer.Typer(name="slurm", help="Run programs as jobs, on a Slurm cluster or here.", no_args_is_help=True)

NOT_OK = 1
BAD = 2
_OPTIONS_FIRST = {"allow_interspersed_args": False}

_By = Annotated[
    Literal["auto", "slurm", "local"] | None,
    typer.Option("--executor", help="Who runs jobs.", show_default="the settings' slurm.executor"),
]
_Jobs = Annotated[
    Path | None,
    typer.Option("--jobs", metavar="DIR", help="The folder of jobs.", show_default="the settings' slurm.jobs_dir"),
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_Keys = Annotated[list[str], typer.Argument(metavar="KEY...", help="Jobs, or tasks as KEY_0.", show_default=False)]
_AnyKeys = Annotated[
    list[str] | None,
    typer.Argument(metavar="[KEY]...", help="Jobs, or tasks as KEY_0; without, the latest.", show_default=False),
]
_OneKey = Annotated[str, typer.Argument(metavar="KEY", help="A job, or a task as KEY_0.", show_default=False)]


@app.callback()
def slurm() -> None:
    """Run programs as jobs, on a Slurm cluster or, where there is none, on this machine.

    A job outlives whoever submits it. Exit status: 0 when all is well; 1 when a job that was named did not end well, or
    was waited for and has not ended; 2 for bad input, or when the system cannot be asked.
    """


@app.command(context_settings=_OPTIONS_FIRST)
@takes_job
def submit(
    job: "JobOptions",
    *,
    wait_for_it: Annotated[bool, typer.Option("--wait", help="Wait until it has ended.")] = False,
    by: _By = None,
    jobs: _Jobs = None,
    as_json: _Json = False,
) -> None:
    """Submit a job, or find the one of its key: the same job is never submitted twice under one key.

    Options come before COMMAND. No shell reads it; give `bash -c '...'` for that.
    """
    from ekiden_orchestrator.commands.slurm_display import say_submitted, show_statuses, waiting

    settings, choice = _chosen(by, jobs)
    status = choice.executor.submit(job.request(settings, choice))
    if not as_json:
        say_submitted(status, choice, waited_for=wait_for_it)
    elif not wait_for_it:
        show_statuses([status], as_json=True)
    if not wait_for_it:
        return
    with waiting(as_json=as_json) as tick:
        statuses = choice.executor.wait([status.key], tick=tick)
    show_statuses(statuses.values(), as_json=as_json)
    _end(statuses)


@app.command(context_settings=_OPTIONS_FIRST)
@takes_job
def preview(job: "JobOptions", *, by: _By = None, jobs: _Jobs = None, as_json: _Json = False) -> None:
    """Show the command line and the script that `submit` with the same options would use; nothing is submitted."""
    from ekiden_orchestrator.commands.slurm_display import show_preview

    settings, choice = _chosen(by, jobs)
    request = job.request(settings, choice)
    show_preview(choice.executor.preview(request), request, choice, as_json=as_json)


@app.command()
def status(
    keys: _AnyKeys = None,
    *,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Without keys: how many jobs.")] = 20,
    by: _By = None,
    jobs: _Jobs = None,
    as_json: _Json = False,
) -> None:
    """Say where jobs stand, the newest first. With keys, ends with 1 when one of them has ended and not well."""
    from ekiden_orchestrator.commands.slurm_display import say_left_out, show_statuses

    _, choice = _chosen(by, jobs)
    known = [] if keys else choice.executor.known()[::-1]
    statuses, troubles = (choice.executor.status(_keys(keys, choice)), []) if keys else choice.standing(known[:limit])
    show_statuses(statuses.values(), as_json=as_json)
    _tell(troubles)
    if not as_json:
        say_left_out(len(known), limit, choice)
    if keys and any(status.phase == "ended" and status.outcome != "ok" for status in statuses.values()):
        raise typer.Exit(NOT_OK)


@app.command()
def wait(
    keys: _Keys,
    *,
    timeout: Annotated[
        float | None, typer.Option(min=0, metavar="S", help="Seconds to wait at most.", show_default="no end")
    ] = None,
    by: _By = None,
    jobs: _Jobs = None,
    as_json: _Json = False,
) -> None:
    """Wait until jobs have ended; Ctrl-C ends the waiting and no job.

    Ends with 1 when one did not end well, or not in time.
    """
    from ekiden_orchestrator.commands.slurm_display import show_statuses, waiting

    _, choice = _chosen(by, jobs)
    with waiting(as_json=as_json) as tick:
        statuses = choice.executor.wait(_keys(keys, choice), timeout, tick=tick)
    show_statuses(statuses.values(), as_json=as_json)
    _end(statuses)


@app.command()
def logs(
    key: _OneKey,
    *,
    errors: Annotated[bool, typer.Option("--err", help="What it wrote to its standard error.")] = False,
    lines: Annotated[int | None, typer.Option("--lines", "-n", min=1, metavar="N", help="Only the last lines.")] = None,
    most: Annotated[int, typer.Option("--bytes", min=1, metavar="N", help="Only the last bytes.")] = 65_536,
    by: _By = None,
    jobs: _Jobs = None,
    as_json: _Json = False,
) -> None:
    """Print the end of what a job, or a task of an array, has written so far."""
    from ekiden_orchestrator.commands.slurm_display import show_log

    _, choice = _chosen(by, jobs)
    [wanted] = _keys([key], choice)
    tail = choice.executor.logs(wanted, "err" if errors else "out", last_lines=lines, last_bytes=most)
    show_log(tail, as_json=as_json)


@app.command()
def cancel(keys: _Keys, *, by: _By = None, jobs: _Jobs = None, as_json: _Json = False) -> None:
    """End jobs; those that have ended stay as they are."""
    from ekiden_orchestrator.commands.slurm_display import show_statuses

    _, choice = _chosen(by, jobs)
    show_statuses(choice.executor.cancel(_keys(keys, choice)).values(), as_json=as_json)


@app.command()
def cluster(*, by: _By = None, jobs: _Jobs = None, as_json: _Json = False) -> None:
    """Say who runs jobs here and why, what they can run on, and which of yours have not ended."""
    from ekiden_orchestrator.commands.slurm_display import show_cluster
    from ekiden_slurm.overview import look_around

    _, choice = _chosen(by, jobs)
    overview = look_around(choice)
    known = choice.executor.known()
    statuses, troubles = choice.standing(known)
    unfinished = [status for status in statuses.values() if status.phase != "ended"]
    show_cluster(overview, unfinished, as_json=as_json)
    _tell(troubles)


def _chosen(by: str | None, jobs: Path | None) -> "tuple[Settings, Choice]":
    from ekiden_config import load_settings
    from ekiden_slurm.choice import choose_executor

    settings = load_settings({"slurm": {"executor": by, "jobs_dir": None if jobs is None else str(jobs)}})
    return settings, choose_executor(settings.slurm)


def _keys(given: Sequence[str], choice: "Choice") -> "list[JobKey]":
    """Return the keys of jobs that are there, each once.

    Raises:
        UnknownJobError: One is not; the message names the nearest that is.
    """
    from difflib import get_close_matches

    from ekiden_jobs import JobKey, UnknownJobError
    from ekiden_jobs.folder import find_job

    keys = [JobKey(key) for key in dict.fromkeys(given)]
    for key in keys:
        try:
            find_job(choice.jobs_folder, key)
        except UnknownJobError as error:
            near = get_close_matches(key, choice.executor.known(), n=1, cutoff=0.5)
            hint = f"Did you mean {near[0]!r}?" if near else "`ekiden slurm status` lists those there are."
            raise UnknownJobError(f"{error} {hint}") from error
    return keys


def _tell(troubles: Sequence[str]) -> None:
    """Say which jobs cannot be shown."""
    for trouble in troubles:
        typer.echo(f"ekiden: {trouble}", err=True)
    if troubles:
        raise typer.Exit(BAD)


def _end(statuses: "Statuses") -> None:
    if any(status.phase != "ended" or status.outcome != "ok" for status in statuses.values()):
        raise typer.Exit(NOT_OK)
