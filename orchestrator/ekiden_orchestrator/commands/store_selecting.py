"""`ekiden store select`: which theorems come next."""

from __future__ import annotations

import json
from pathlib import Path  # typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ekiden_orchestrator.commands.store_options import MAKING, Folder, Json, open_of, settings_of
from ekiden_orchestrator.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ekiden_store.queries.selection import Selection

app = typer.Typer()


class _Left(NamedTuple):
    """What the store says of the theorems that are left out."""

    runs: Sequence[str]
    attempted: bool
    proved: bool


@app.command(rich_help_panel=MAKING)
def select(
    out: Annotated[
        Path, typer.Argument(metavar="OUT", help="The file for the names; .json holds how they were chosen, too.")
    ],
    *,
    among: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Theorems to choose from: a name a line, or a JSON index; may be repeated.",
            show_default="those of the store",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="[NAME=]FILE", help="Leave out those that this file names; may be repeated."),
    ] = None,
    without_run: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Leave out what this run attempted; may be repeated.")
    ] = None,
    without_attempted: Annotated[
        bool, typer.Option("--without-attempted", help="Leave out what any run of the store attempted.")
    ] = False,
    without_proved: Annotated[
        bool, typer.Option("--without-proved", help="Leave out what any run of the store proved.")
    ] = False,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="JSON Lines with theorem and depth: the tactics of known proofs.", exists=True
        ),
    ] = None,
    min_depth: Annotated[
        int, typer.Option(metavar="N", min=0, help="Leave out those whose deepest tactic in --pairs is less deep.")
    ] = 2,
    count: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="How many to choose.", show_default="all that remain")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed chooses others.")] = 42,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Choose theorems at random, less those that are left out, and tell how many each step leaves.

    The choice depends on the names and the seed alone. Names that are left out twice are counted once.
    """
    from ekiden_store.queries.selection import read_depths, read_index, read_names, select_theorems, write_selection

    sets: dict[str, Collection[str]] = {name: read_names(file) for name, file in _files(without or ())}
    if pairs is not None:
        depths = read_depths(pairs)
        sets[f"depth below {min_depth}"] = {name for name, depth in depths.items() if depth < min_depth}
    entries: dict[str, object] = {}
    for file in among or ():
        entries |= read_index(file)
    left = _Left(without_run or (), without_attempted, without_proved)
    theorems: Collection[str] = entries
    if any(left) or not among:
        stored, excluded = _of_store(folder, left)
        sets |= excluded
        theorems = entries if among else stored
    if not theorems:
        raise CommandError("There are no theorems to choose from: name some with --from FILE.")
    found = select_theorems(theorems, without=sets, count=count, seed=seed)
    write_selection(out, found, entries=entries if among else None)
    _show(found, out, as_json=as_json)


def _files(told: Sequence[str]) -> list[tuple[str, Path]]:
    files: list[tuple[str, Path]] = []
    for each in told:
        name, equals, rest = each.partition("=")
        if not equals or Path(each).exists():
            name, rest = Path(each).stem, each
        file = Path(rest)
        if name in {known for known, _ in files}:
            raise CommandError(f"Two sets are called {name!r}; call one of them something else: NAME={file}.")
        files.append((name, file))
    return files


def _of_store(folder: Path | None, left: _Left) -> tuple[set[str], dict[str, set[str]]]:
    """Return the theorems of the store, and those that are left out, by why."""
    from ekiden_orchestrator.commands.store_display import warn_of
    from ekiden_store import StoreError
    from ekiden_store.arrow import pc
    from ekiden_store.queries.runs import nearest_runs
    from ekiden_store.queries.selection import stored_names

    opened = open_of(settings_of(folder))
    with opened.snapshot() as snapshot:
        warn_of([*opened.found.findings, *snapshot.findings])
        excluded: dict[str, set[str]] = {}
        for run in left.runs:
            excluded[f"run {run}"] = stored_names(snapshot, attempted=True, where=pc.field("run_id") == run)
            if not excluded[f"run {run}"]:
                raise StoreError(f"There is no run {run!r} with attempts in the store{nearest_runs(snapshot, run)}.")
        if left.attempted:
            excluded["attempted"] = stored_names(snapshot, attempted=True)
        if left.proved:
            excluded["proved"] = stored_names(snapshot, proved=True)
        return stored_names(snapshot), excluded


def _show(found: Selection, out: Path, *, as_json: bool) -> None:
    """Print what each step left."""
    from dataclasses import asdict

    from ekiden_orchestrator.visible_text import visible

    if as_json:
        told = asdict(found) | {"chosen": len(found.chosen), "file": str(out)}
        typer.echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    width = max(12, *(len(visible(name)) + 2 for name in found.exclusions)) if found.exclusions else 12
    typer.echo(f"{'theorems':{width}} {found.total:>9,}")
    for name, one in found.exclusions.items():
        unknown = f", {one.named - one.found:,} more that are not among them" if one.named > one.found else ""
        typer.echo(f"  {visible(name):{width - 2}} {one.found:>9,}  ({one.alone:,} by this alone{unknown})")
    if found.exclusions:
        twice = sum(one.found for one in found.exclusions.values()) - found.excluded
        overlaps = "; ".join(f"{visible(pair)} {count:,}" for pair, count in found.overlaps.items())
        told = f"  ({twice:,} counted twice above: {overlaps})" if twice else ""
        typer.echo(f"{'left out':{width}} {found.excluded:>9,}{told}")
        typer.echo(f"{'eligible':{width}} {found.eligible:>9,}")
    typer.echo(f"{'chosen':{width}} {len(found.chosen):>9,}  (seed {found.seed})")
    typer.echo(f"{out}: {len(found.chosen):,} names")
