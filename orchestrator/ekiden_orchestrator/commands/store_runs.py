"""`ekiden store`: the runs of a store, and runs beside each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ekiden_orchestrator.commands.store_options import LOOKING, Asked, Folder, Json, open_of, settings_of
from ekiden_orchestrator.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Sequence

app = typer.Typer()


@app.command(rich_help_panel=LOOKING)
def runs(*, folder: Folder = None, as_json: Json = False) -> None:
    """List the runs, the newest first: what they attempted, proved and cost."""
    from ekiden_orchestrator.commands.store_display import warn_of
    from ekiden_orchestrator.commands.store_runs_display import show_runs
    from ekiden_store.queries.runs import read_runs

    opened = open_of(settings_of(folder))
    with opened.snapshot() as snapshot:
        warn_of([*opened.found.findings, *snapshot.findings])
        show_runs(read_runs(snapshot), as_json=as_json)


@app.command(rich_help_panel=LOOKING)
def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...", help="Two or more; RUN,RUN counts as one, NAME=RUN,RUN too.", show_default=False
        ),
    ],
    *,
    asked: Asked = None,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Set runs beside each other: what each proved, by depth, and cost; each is held against the first.

    Shares are compared over the theorems that were asked of both. A difference comes with its interval of 95 % and the
    p-value of McNemar's exact test, so that nobody takes chance for progress. Copied proofs count for nobody.
    """
    from ekiden_orchestrator.commands.store_display import warn_of
    from ekiden_orchestrator.commands.store_runs_display import show_comparison
    from ekiden_store.queries.comparing_sets import compare_sets
    from ekiden_store.queries.selection import read_names

    sets = _sets(runs)
    names = None if asked is None else read_names(asked)
    opened = open_of(settings_of(folder))
    with opened.snapshot() as snapshot:
        warn_of([*opened.found.findings, *snapshot.findings])
        show_comparison(compare_sets(snapshot, sets, asked=names), as_json=as_json)


def _sets(told: Sequence[str]) -> dict[str, list[str]]:
    """Return what is compared, by name: `RUN`, `RUN,RUN`, or `NAME=RUN,RUN`."""
    sets: dict[str, list[str]] = {}
    for each in told:
        name, equals, listed = each.partition("=")
        names = [run for run in (listed if equals else each).split(",") if run]
        if not name or not names:
            raise CommandError(f"{each!r} names no run: RUN, RUN,RUN or NAME=RUN,RUN.")
        if name in sets:
            raise CommandError(f"{name!r} is named twice; call one of them something else: NAME=RUN.")
        sets[name] = names
    return sets
