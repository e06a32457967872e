"""`ekiden store`: questions that a store answers with rows."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003  # typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, Literal, cast, get_args

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
from ekiden_orchestrator.errors import CommandError
from ekiden_store.columns import Kind, Label, Origin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ekiden_store.queries.asking import Answer

app = typer.Typer()

_FEW = 20
_WHICH, _HOW_MANY, _AS_WHAT = "Which rows", "How many", "As what"


@app.command(rich_help_panel=LOOKING)
def query(
    *,
    run: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only of this run; may be repeated.", rich_help_panel=_WHICH)
    ] = None,
    attempt: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Only of this attempt; may be repeated.", rich_help_panel=_WHICH),
    ] = None,
    theorem: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only of this theorem; may be repeated.", rich_help_panel=_WHICH),
    ] = None,
    among: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Only of the theorems that this file names.", rich_help_panel=_WHICH, exists=True
        ),
    ] = None,
    without: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Not of the theorems that this file names.", rich_help_panel=_WHICH, exists=True
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND,...",
            help="Only search_node, tactic, tool_call, model_call, message, verdict.",
            rich_help_panel=_WHICH,
        ),
    ] = "",
    label: Annotated[
        str, typer.Option(metavar="LABEL,...", help="Only positive, negative, unknown.", rich_help_panel=_WHICH)
    ] = "",
    origin: Annotated[
        str,
        typer.Option(
            metavar="ORIGIN,...",
            help="Only from search, harvest, ground_truth, probe, agent, solver, import.",
            rich_help_panel=_WHICH,
        ),
    ] = "",
    iteration: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Only of this iteration; may be repeated.", rich_help_panel=_WHICH),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only of this model; may be repeated.", rich_help_panel=_WHICH),
    ] = None,
    min_depth: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Only so many tactics below the root.", rich_help_panel=_WHICH),
    ] = None,
    max_depth: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Only at most so many.", rich_help_panel=_WHICH)
    ] = None,
    text: Annotated[
        str,
        typer.Option(metavar="TEXT", help="Only what says this somewhere, in any case.", rich_help_panel=_WHICH),
    ] = "",
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="At most so many.",
            show_default=f"{_FEW}, all with --out",
            rich_help_panel=_HOW_MANY,
        ),
    ] = None,
    after: Annotated[
        str, typer.Option(metavar="CURSOR", help="Go on where the page before ended.", rich_help_panel=_HOW_MANY)
    ] = "",
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="So many at random, the same for a seed.", rich_help_panel=_HOW_MANY),
    ] = None,
    each: Annotated[
        Literal["label", "depth", "theorem", "kind", "origin", "run"] | None,
        typer.Option(
            metavar="WHAT",
            help="Sample so many for each label, depth, theorem, kind, origin or run.",
            rich_help_panel=_HOW_MANY,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed samples others.", rich_help_panel=_HOW_MANY)] = 0,
    unique: Annotated[
        str,
        typer.Option(
            metavar="COLUMN,...",
            help="No two that are alike in these, as theorem_name,state_pp,tactic_applied.",
            rich_help_panel=_HOW_MANY,
        ),
    ] = "",
    show: Annotated[
        Literal["rows", "tactics", "proofs", "pairs"],
        typer.Option(
            help="Rows; tactics, each with the state before it; completed proofs; pairs of a tactic on a proof and "
            "one not, in the same state.",
            rich_help_panel=_AS_WHAT,
        ),
    ] = "rows",
    failed: Annotated[
        bool, typer.Option("--failed", help="Pairs with tactics that failed, too.", rich_help_panel=_AS_WHAT)
    ] = False,
    min_steps: Annotated[
        int, typer.Option(metavar="N", min=1, help="Only proofs of so many tactics.", rich_help_panel=_AS_WHAT)
    ] = 1,
    columns: Annotated[
        str, typer.Option(metavar="COLUMN,...", help="Only these columns of rows.", rich_help_panel=_AS_WHAT)
    ] = "",
    out: Out = None,
    folder: Folder = None,
    as_json: JsonLines = False,
    as_csv: Csv = False,
) -> None:
    """List rows, the newest first; or tactics, proofs, pairs; or a sample. Secrets are struck out.

    Filters of different kinds must all hold; of those that are repeated, or listed with commas, one.
    """
    from ekiden_orchestrator.commands.store_display import say_written, warn_of
    from ekiden_orchestrator.commands.store_rows import form_of, write_rows
    from ekiden_store.queries.asking import Question, answer
    from ekiden_store.queries.row_filter import RowFilter
    from ekiden_store.queries.runs import require_runs
    from ekiden_store.queries.selection import read_names
    from ekiden_store.serving.views import redactor_of

    form = form_of(out, as_json=as_json, as_csv=as_csv)
    named = [*(theorem or ()), *(sorted(read_names(among)) if among else ())]
    asked = Question(
        rows=RowFilter(
            runs=tuple(run or ()),
            attempts=tuple(attempt or ()),
            theorems=tuple(named),
            without_theorems=tuple(sorted(read_names(without))) if without else (),
            kinds=cast("tuple[Kind, ...]", _chosen("kind", kind, get_args(Kind))),
            labels=cast("tuple[Label, ...]", _chosen("label", label, get_args(Label))),
            origins=cast("tuple[Origin, ...]", _chosen("origin", origin, get_args(Origin))),
            iterations=tuple(iteration or ()),
            models=tuple(model or ()),
            min_depth=min_depth,
            max_depth=max_depth,
        ),
        text=text,
        show=show,
        limit=limit or (None if out or sample else _FEW),
        cursor=after,
        sample=sample,
        each=each,
        seed=seed,
        unique=_listed(unique),
        columns=_listed(columns),
        failed=failed,
        min_steps=min_steps,
    )
    settings = settings_of(folder)
    opened = open_of(settings)
    with opened.snapshot() as snapshot:
        warn_of([*opened.found.findings, *snapshot.findings])
        require_runs(snapshot, run or ())
        found = answer(snapshot, asked, redactor=redactor_of(settings))
        if form == "table" and show == "rows" and not columns:
            count = _show_steps(found)
        else:
            count = write_rows(found.reader, form, out)
    say_written(count, out)
    _say_what_is_missing(found)


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
    from ekiden_store.queries.sql import sql_rows
    from ekiden_store.serving.views import redactor_of

    form = form_of(out, as_json=as_json, as_csv=as_csv)
    settings = settings_of(folder)
    text = sys.stdin.read() if query == "-" else query
    opened = open_of(settings)
    with opened.snapshot() as snapshot:
        warn_of([*opened.found.findings, *snapshot.findings])
        with sql_rows(snapshot, text, redactor=redactor_of(settings), memory_mb=memory, threads=threads) as reader:
            say_written(write_rows(reader, form, out), out)


def _chosen(what: str, told: str, choices: tuple[str, ...]) -> tuple[str, ...]:
    chosen = _listed(told)
    if unknown := [each for each in chosen if each not in choices]:
        raise CommandError(f"There is no {what} {unknown[0]!r}. Say one or more of {', '.join(choices)}.")
    return chosen


def _listed(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _say_what_is_missing(found: Answer) -> None:
    if found.tally is not None and found.tally.unusable:
        left_out = ", ".join(f"{rows:,} {reason}" for reason, rows in found.tally.unusable.most_common())
        typer.echo(f"Left out: {left_out}", err=True)
    if found.next_cursor:
        typer.echo(f"There is more: --after {found.next_cursor}", err=True)


def _show_steps(found: Answer) -> int:
    """Print rows so that each says on a line what happened."""
    from ekiden_orchestrator.commands.store_rows import print_table
    from ekiden_store.serving.views import line_of_step, place_of_step, steps_of

    shown = 0

    def lines() -> Iterator[tuple[Any, ...]]:
        nonlocal shown
        for batch in found.reader:
            for step in steps_of(batch):
                shown += 1
                what = line_of_step(step).split(" ", 2)[2]
                yield step.theorem_name, step.run_id, step.attempt_id, place_of_step(step), step.kind, what

    print_table(("theorem", "run", "attempt", "step", "kind", "what"), lines(), right=frozenset({"step"}))
    return shown
