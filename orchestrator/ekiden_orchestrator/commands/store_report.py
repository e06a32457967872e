"""`ekiden store report`: how far attempts have come, as a page, a picture, or data."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003  # typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated

import typer

from ekiden_orchestrator.commands.store_options import LOOKING, Asked, Folder, Json, Run, open_of, settings_of
from ekiden_orchestrator.errors import CommandError

if TYPE_CHECKING:
    from ekiden_orchestrator.reports.store_page import Report

app = typer.Typer()


@app.command(rich_help_panel=LOOKING)
def report(
    out: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="The page, HTML; or the picture, if it ends in .png.")
    ] = None,
    *,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the charts as one picture, PNG.")] = None,
    run: Run = "",
    asked: Asked = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Make a page of how far attempts have come: success over iterations, depth, label balance, cost of a proof.

    The page is one file that needs no network. It takes matplotlib and jinja2, which the extra `report` of ekiden
    installs; --json tells the figures without them. Secrets are struck out.
    """
    from ekiden_orchestrator.commands.store_display import warn_of
    from ekiden_orchestrator.reports.store_page import Report, data_of, without_secrets
    from ekiden_store.queries.progress import read_progress
    from ekiden_store.queries.row_filter import RowFilter
    from ekiden_store.queries.selection import read_names
    from ekiden_store.serving.views import redactor_of

    if out is None and png is None and not as_json:
        raise CommandError("Name the page or the picture to make, as in `ekiden store report report.html`; or --json.")
    if out is not None and out.suffix.lower() == ".png":
        if png is not None:
            raise CommandError(f"Two pictures are named: {str(out)!r} and {str(png)!r}.")
        out, png = None, out
    _refuse_folders(out, png)
    settings = settings_of(folder)
    opened = open_of(settings)
    where = RowFilter(runs=(run,) if run else ())
    names = None if asked is None else read_names(asked)
    with opened.snapshot() as snapshot:
        progress = read_progress(snapshot, where=where.expression(), asked=names)
        findings = [*opened.found.findings, *snapshot.findings]
    warn_of(findings)
    redactor = redactor_of(settings)
    name = opened.folder.resolve().name
    made = Report(redactor.redact(name), redactor.redact(run), without_secrets(progress, redactor), findings)
    _write(made, out, png, is_silent=as_json)
    if as_json:
        typer.echo(json.dumps(data_of(made), ensure_ascii=False, indent=2))


def _refuse_folders(*files: Path | None) -> None:
    for file in files:
        if file is not None and file.is_dir():
            raise CommandError(f"{str(file)!r} is a folder. Name a file.")


def _write(made: Report, out: Path | None, png: Path | None, *, is_silent: bool) -> None:
    from ekiden_files import write_whole
    from ekiden_orchestrator.reports.store_page import page_of, picture_of

    contents: list[tuple[Path, str | bytes]] = []
    if out is not None:
        contents.append((out, page_of(made)))
    if png is not None:
        contents.append((png, picture_of(made)))
    success = made.progress.whole.success
    for file, content in contents:
        try:
            write_whole(file, content)
        except OSError as error:
            raise CommandError(f"{str(file)!r} cannot be written: {error.strerror}.") from error
        if not is_silent:
            of = "attempted" if made.progress.asked is None else "asked for"
            typer.echo(f"{file}: {made.progress.whole.rows:,} rows, proved {success.part:,} of {success.whole:,} {of}")
