"""How jobs look on a terminal, and to programs."""

from __future__ import annotations

import json
import shlex
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from ekiden_orchestrator.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from rich.table import Table

    from ekiden_jobs import JobKey, JobRequest, JobStatus, LogTail, Preview, Statuses
    from ekiden_slurm.choice import Choice
    from ekiden_slurm.overview import Overview

INTERRUPTED = 130
_STYLES = {"ok": "green", "running": "cyan", "pending": "yellow", "unsubmitted": "yellow", "cancelled": "dim"}


def say_submitted(status: JobStatus, choice: Choice, *, waited_for: bool) -> None:
    """Say that a job is submitted, and how to follow it if nobody waits for it."""
    from ekiden_slurm.words import in_a_line

    where = "to Slurm" if choice.executor.name == "slurm" else f"to this machine ({choice.reason})"
    typer.echo(f"{status.key}: {'being ' if status.phase == 'unsubmitted' else ''}submitted {where}")
    if waited_for:
        return
    typer.echo(f"  {visible(in_a_line(status))}")
    if status.phase != "ended":
        typer.echo(f"  follow it: ekiden slurm wait {status.key}")


def show_statuses(statuses: Iterable[JobStatus], *, as_json: bool) -> None:
    """Print where jobs stand: a table on a terminal, a line for each elsewhere, a list of objects as JSON."""
    from rich.console import Console

    from ekiden_slurm.words import in_a_line

    statuses = list(statuses)
    if as_json:
        typer.echo(json.dumps([_record(status) for status in statuses], ensure_ascii=False, indent=2))
        return
    console = Console(highlight=False)
    if not statuses:
        typer.echo("No job has been submitted here yet: ekiden slurm submit COMMAND...")
    elif console.is_terminal:
        console.print(_table(statuses))
    else:
        for status in statuses:
            typer.echo(f"{status.key}: {visible(in_a_line(status))}")


def say_left_out(known: int, limit: int, choice: Choice) -> None:
    """Say how many jobs are not shown."""
    if known > limit:
        typer.echo(f"... and {known - limit} older ones; --limit {known} shows all that {choice.executor.name} ran.")


def show_preview(preview: Preview, request: JobRequest, choice: Choice, *, as_json: bool) -> None:
    """Print what would be submitted."""
    if as_json:
        shown = {"executor": choice.executor.name, "command": preview.command, "script": preview.script}
        typer.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        return
    typer.echo(f"# executor: {choice.executor.name}, {choice.reason}")
    typer.echo(f"# the job: {shlex.join(request.command)}, in {request.folder}")
    typer.echo(f"$ {shlex.join(preview.command)}")
    typer.echo(preview.script, nl=not preview.script.endswith("\n"))


def show_log(tail: LogTail, *, as_json: bool) -> None:
    """Print the end of what a job wrote, as it is; what is left out is said on standard error."""
    if as_json:
        typer.echo(json.dumps(asdict(tail), ensure_ascii=False))
        return
    if tail.truncated:
        shown = len(tail.text.encode())
        typer.echo(f"... the last {shown:,} of {tail.size_bytes:,} bytes; --bytes and --lines show more", err=True)
    typer.echo(tail.text, nl=False)


def show_cluster(overview: Overview, unfinished: Sequence[JobStatus], *, as_json: bool) -> None:
    """Print what jobs can run on."""
    if as_json:
        shown = asdict(overview) | {"jobs": [_record(status) for status in unfinished]}
        typer.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        return
    typer.echo(f"{overview.executor}: {overview.reason}")
    for part in overview.parts:
        typer.echo(f"  {visible(part)}")
    if unfinished:
        typer.echo("jobs that have not ended:")
        show_statuses(unfinished, as_json=False)
    else:
        typer.echo("no job that has not ended")


@contextmanager
def waiting(*, as_json: bool) -> Generator[Callable[[Statuses], None]]:
    """Show jobs while somebody waits for them: a table that moves on a terminal, else a line for each change."""
    from rich.console import Console
    from rich.live import Live

    console = Console(highlight=False, stderr=True)
    try:
        if as_json or not console.is_terminal:
            yield _told_changes(silent=as_json)
        else:
            with Live(console=console, auto_refresh=False, transient=True) as live:
                yield lambda statuses: live.update(_table(list(statuses.values())), refresh=True)
    except KeyboardInterrupt:
        typer.echo("Nobody waits any more; the jobs go on, and `ekiden slurm cancel` ends them.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _told_changes(*, silent: bool) -> Callable[[Statuses], None]:
    from ekiden_slurm.words import state_of_job

    seen: dict[JobKey, str] = {}

    def tick(statuses: Statuses) -> None:
        for key, status in statuses.items():
            state = state_of_job(status)
            if not silent and status.phase != "ended" and seen.get(key) != state:
                typer.echo(f"{key}: {state}", err=True)
            seen[key] = state

    return tick


def _table(statuses: Sequence[JobStatus]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from ekiden_slurm.words import duration, more_of, ran_for, state_of_job

    now = datetime.now(UTC)
    table = Table("job", "state", "exit", "time", "more", box=box.SIMPLE_HEAD, pad_edge=False)
    table.columns[3].justify = "right"
    for status in statuses:
        state = state_of_job(status)
        seconds = ran_for(status, now)
        exit_code = "" if status.exit_code is None else str(status.exit_code)
        table.add_row(
            Text(status.key, overflow="fold"),
            Text(state, style=_STYLES.get(state, "red")),
            exit_code,
            "" if seconds is None else duration(seconds),
            Text(visible(more_of(status, now, with_time=False))),
        )
    return table


def _record(status: JobStatus) -> dict[str, object]:
    fields = asdict(status)
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in fields.items()}
