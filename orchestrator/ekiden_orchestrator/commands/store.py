"""`ekiden store`: what became of every attempt, from the shell."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  # typer reads annotations at run time
from typing import Annotated, Literal

import typer

from ekiden_orchestrator.commands import store_queries, store_report, store_runs, store_selecting
from ekiden_orchestrator.commands.store_options import (
    FILLING,
    KEEPING,
    LOOKING,
    MAKING,
    NOT_OK,
    Asked,
    Folder,
    Json,
    Run,
    open_of,
    settings_of,
)
from ekiden_orchestrator.errors import CommandError

app = typer.Typer(name="store", help="Keep, count, show and hand on attempts at proofs.", no_args_is_help=True)

app.add_typer(store_runs.app)
app.add_typer(store_queries.app)
app.add_typer(store_report.app)
app.add_typer(store_selecting.app)


@app.callback()
def store() -> None:
    """Keep, count, show and hand on attempts at proofs.

    Exit status: 0 when all is well; 1 when a file could not be imported, something was damaged, or another process was
    at work; 2 for bad input, or a store that cannot be used.
    """


@app.command(name="import", rich_help_panel=FILLING)
def import_(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Files, stores, or folders of files.", exists=True)
    ],
    *,
    theorem: Annotated[str, typer.Option(metavar="NAME", help="What sessions and ATIF files tried to prove.")] = "",
    run: Annotated[str, typer.Option(metavar="ID", help="The run of the rows.", show_default="the file's")] = "",
    iteration: Annotated[int | None, typer.Option(metavar="N", help="The iteration that sessions belong to.")] = None,
    origin: Annotated[
        Literal["import", "search", "harvest", "ground_truth", "probe"],
        typer.Option(help="Where the rows of Parquet files come from, if they do not say."),
    ] = "import",
    state_pp: Annotated[
        Literal["after", "before", "mixed"],
        typer.Option(
            help="Whether state_pp of Parquet files is the state after the tactic, before it, or mixed as in files of "
            "negatives for known proofs."
        ),
    ] = "after",
    over: Annotated[
        bool, typer.Option("--over", help="The sessions are over: calls without a result have failed.")
    ] = False,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Add files of attempts, told apart by what they hold; nothing is added twice.

    Parquet files of expert iteration with 12 or 14 columns, parts of other stores, trajectories of ATIF, session files
    of Codex and Claude Code. A session that has grown may be imported again.
    """
    from ekiden_orchestrator.commands.store_display import show_imports
    from ekiden_orchestrator.commands.store_files import ImportOptions, files_below, import_file

    options = ImportOptions(theorem, run, iteration, origin, state_pp, over)
    found = files_below(files)
    opened = open_of(settings_of(folder), create=True)
    done = [import_file(opened, file, options) for file in found]
    show_imports(done, as_json=as_json)
    if any(one.error for one in done):
        raise typer.Exit(NOT_OK)


@app.command(rich_help_panel=LOOKING)
def stats(
    *,
    run: Run = "",
    theorem: Annotated[str, typer.Option(metavar="NAME", help="Only of this theorem.", show_default="all")] = "",
    asked: Asked = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Count what the store holds: rows by kind, labels, depths, theorems, candidates in a state, proofs."""
    from ekiden_orchestrator.commands.store_display import show_stats, warn_of
    from ekiden_store.queries.row_filter import RowFilter
    from ekiden_store.queries.runs import require_runs
    from ekiden_store.queries.selection import read_names
    from ekiden_store.queries.stats import read_stats

    opened = open_of(settings_of(folder))
    where = RowFilter(runs=(run,) if run else (), theorems=(theorem,) if theorem else ())
    names = None if asked is None else read_names(asked)
    with opened.snapshot() as snapshot:
        warn_of([*opened.found.findings, *snapshot.findings])
        require_runs(snapshot, (run,))
        show_stats(read_stats(snapshot, where=where.expression(), asked=names), as_json=as_json)


@app.command(rich_help_panel=LOOKING)
def tree(
    theorem: Annotated[str, typer.Argument(metavar="THEOREM", help="Its name.", show_default=False)],
    *,
    run: Run = "",
    attempt: Annotated[str, typer.Option(metavar="ID", help="Only this attempt.", show_default="all")] = "",
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Show the attempts at a theorem, each as a tree of states and tactics. Secrets are struck out.

    Where no attempt has any, their calls, messages and verdicts are listed. Ends with 1 if there is no such attempt.
    """
    from ekiden_orchestrator.commands.store_display import show_attempts, warn_of
    from ekiden_store.queries.runs import nearest, require_runs
    from ekiden_store.queries.selection import stored_names
    from ekiden_store.serving.views import redactor_of, shown_attempts

    settings = settings_of(folder)
    opened = open_of(settings)
    with opened.snapshot() as snapshot:
        warn_of([*opened.found.findings, *snapshot.findings])
        require_runs(snapshot, (run,))
        found = shown_attempts(snapshot, theorem, run_id=run, attempt_id=attempt)
        known = set[str]() if found else stored_names(snapshot)
    show_attempts(found, theorem, redactor_of(settings), as_json=as_json)
    if not found:
        near = "" if theorem in known else nearest(theorem, known)
        typer.echo(f"ekiden: The store has no such attempt at {theorem!r}{near}.", err=True)
        raise typer.Exit(NOT_OK)


@app.command(rich_help_panel=MAKING)
def export(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new folder for a data set, or a file for an attempt.")],
    *,
    mix: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Make the data set that this TOML or JSON file describes.", exists=True),
    ] = None,
    attempt: Annotated[str, typer.Option(metavar="ID", help="Write this attempt as a trajectory of ATIF.")] = "",
    run: Annotated[str, typer.Option(metavar="ID", help="The run of the attempt.", show_default="any")] = "",
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Make a data set for training, or write one attempt for other tools. Secrets are struck out.

    The same mix of the same rows makes the same bytes; `manifest.json` in the folder holds their hashes.
    """
    from ekiden_orchestrator.commands.store_display import show_data_set, show_exported
    from ekiden_orchestrator.commands.store_export import export_attempt_to, export_data_set

    if (mix is None) == (not attempt):
        raise CommandError("Name a mix or an attempt: --mix FILE, or --attempt ID.")
    settings = settings_of(folder)
    if mix is not None:
        show_data_set(export_data_set(settings, mix, out), out, as_json=as_json)
    else:
        show_exported(export_attempt_to(settings, attempt, run, out), out, as_json=as_json)


@app.command(rich_help_panel=MAKING)
def verify(
    data_set: Annotated[Path, typer.Argument(metavar="OUT", help="The folder of a data set.", show_default=False)],
    *,
    as_json: Json = False,
) -> None:
    """Tell whether a data set is still what its manifest says. Ends with 1 if it is not."""
    from ekiden_orchestrator.commands.store_display import show_verified
    from ekiden_store.data_sets.exports_verify import verify_data_set

    problems = verify_data_set(data_set)
    show_verified(problems, data_set, as_json=as_json)
    if problems:
        raise typer.Exit(NOT_OK)


@app.command(rich_help_panel=MAKING)
def embed(
    *,
    hashes: Annotated[
        bool, typer.Option("--hashes", help="Make vectors of hashes, which mean nothing: to try things out.")
    ] = False,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Take vectors over from this Parquet file, with `state_pp` and `embedding`, and encode nothing.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Encode the states that have no vector yet; a run that is ended keeps what it has.

    The vectors go to the folder `embeddings` of the store. A file does not tell which encoder made its vectors: they
    are taken for those of the encoder of the settings.
    """
    from functools import partial

    import anyio

    from ekiden_orchestrator.commands.store_display import show_fill
    from ekiden_store.serving.views_states import embed_states, import_embeddings

    settings = settings_of(folder)
    if cache is None:
        show_fill(anyio.run(partial(embed_states, open_of(settings), settings, hashes=hashes)), as_json=as_json)
    elif hashes:
        raise CommandError("Say one of --hashes and --from.")
    else:
        show_fill(
            import_embeddings(open_of(settings, create=True), settings, cache), as_json=as_json, verb="taken over"
        )


@app.command(rich_help_panel=KEEPING)
def compact(*, folder: Folder = None, as_json: Json = False) -> None:
    """Make Parquet parts of what was appended, and larger parts of small ones; may run beside writers and readers.

    Ends with 1 if another process compacts the store now, or files of it were damaged.
    """
    from ekiden_orchestrator.commands.store_display import show_compaction

    settings = settings_of(folder)
    done = open_of(settings).compact(part_rows=settings.part_rows)
    show_compaction(done, as_json=as_json)
    if done.is_busy or done.findings:
        raise typer.Exit(NOT_OK)


@app.command(rich_help_panel=KEEPING)
def check(*, folder: Folder = None, as_json: Json = False) -> None:
    """Read all of the store, put right what a crash left behind, and move damaged parts aside.

    Ends with 1 if something was found, or if not all could be looked at.
    """
    from ekiden_orchestrator.commands.store_display import show_report

    opened = open_of(settings_of(folder))
    report = opened.check()
    report.findings[:0] = opened.found.findings
    show_report(report, as_json=as_json)
    if report.findings or not report.is_complete:
        raise typer.Exit(NOT_OK)
