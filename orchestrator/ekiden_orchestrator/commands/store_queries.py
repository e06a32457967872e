"""`ekiden store`: questions that a store answers with rows."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ekiden_orchestrator.commands.store_options import (
    LOOKING,
    Csv,
    Folder,
    JsonLines,
    Out,
    open_of,
    settings_of,
)

app = typer.Typer()


@app.command(rich_help_panel=LOOKING)
def sql(
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="The query; '-': from standard input.", show_default=False)
    ],
    *,
    memory: Annotated[
        int, typer.Option(metavar="MB", min=64, help="How much memory duckdb may use; the rest goes to files.")
    ] = 512,
    threads: Annotated[int, typer.Option(metavar="N", min=1, max=256, help="How many threads it may use.")] = 2,
    out: Out = None,
    folder: Folder = None,
    as_json: JsonLines = False,
    as_csv: Csv = False,
) -> None:
    """Ask with SQL; the rows are the table `steps`, those that are not compacted among them. Secrets are struck out.

    duckdb answers, which the extra `sql` of ekiden installs; it sees nothing but the store, and changes nothing. The
    columns: `ekiden store sql 'DESCRIBE steps'`.
    """
    from ekiden_orchestrator.commands.store_display import say_written, warn_of
    from ekiden_orchestrator.commands.store_rows import form_of, write_rows
    from ekiden_store.sql import sql_rows
    from ekiden_store.views import redactor_of

    form = form_of(out, as_json=as_json, as_csv=as_csv)
    settings = settings_of(folder)
    text = sys.stdin.read() if query == "-" else query
    opened = open_of(settings)
    with opened.snapshot() as snapshot:
        warn_of([*opened.found.findings, *snapshot.findings])
        with sql_rows(snapshot, text, redactor=redactor_of(settings), memory_mb=memory, threads=threads) as reader:
            say_written(write_rows(reader, form, out), out)
