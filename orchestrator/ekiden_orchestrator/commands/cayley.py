"""`ekiden cayley`: countermodel search from the shell."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path  # noqa: TC003  # typer reads annotations at run time
from typing import TYPE_CHECKING, Annotated

import typer

from ekiden_orchestrator.commands.cayley_outcome import show_outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ekiden_cayley.outcome import Progress as SearchProgress
    from ekiden_cayley.scan import ScanProgress, ScanReport

    ShowProgress = Callable[[ScanProgress], None]

app = typer.Typer(name="cayley", help="Search magmas that satisfy one law and not another.", no_args_is_help=True)


@app.callback()
def cayley() -> None:
    """Search magmas that satisfy one law and not another."""


@app.command()
def scan(
    laws_file: Annotated[Path, typer.Argument(help="One law a line, such as 'x ◇ y = y ◇ x'.")],
    out: Annotated[Path, typer.Option(help="The folder for refuted.npy (packed bits), scan.json and refuted.parquet.")],
    *,
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Write also one row (law1, law2) per refuted pair.")
    ] = False,
    time_limit: Annotated[float | None, typer.Option(min=0, help="Seconds after which to keep what was found.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Refute all ordered pairs of a list of laws at once.

    Uses all magmas of order 2 and 3 and the packaged library. What is not refuted may still be false.
    """
    from ekiden_cayley.scan import scan as run_scan
    from ekiden_magma import read_laws

    laws = read_laws(laws_file)
    with _progress_bar() as show:
        report = run_scan(laws, out, time_limit_s=time_limit, parquet=parquet, progress=show)
    typer.echo(report.model_dump_json() if as_json else _described(report, out))


@app.command()
def refute(
    law1: Annotated[str, typer.Argument(help="The premise, such as 'x ◇ y = y ◇ x'; * may stand for ◇.")],
    law2: Annotated[str, typer.Argument(help="The conclusion, written like the premise.")],
    *,
    time_limit: Annotated[float | None, typer.Option(min=0, help="Seconds for the search.")] = None,
    max_order: Annotated[int | None, typer.Option(min=2, help="The largest order for SAT model finding.")] = None,
    smallest: Annotated[bool, typer.Option("--smallest", help="Find a smallest table, and prove it so.")] = False,
    seed: Annotated[int | None, typer.Option(min=0, help="Chooses among equal ways to search.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    lean: Annotated[bool, typer.Option("--lean", help="Print the answer as a Lean file for the judge.")] = False,
) -> None:
    """Search a magma that satisfies LAW1 and breaks LAW2.

    Exits with 0 when one is found, with 1 when none is found (which proves nothing), with 2 on input that is no law.
    """
    from ekiden_cayley.models import RefutationReport
    from ekiden_cayley.refuter import Refuter
    from ekiden_config import load_settings
    from ekiden_magma import parse_law

    premise, conclusion = parse_law(law1), parse_law(law2)
    settings = load_settings().cayley
    with _search_status() as show:
        outcome = Refuter().refute(
            premise,
            conclusion,
            time_limit_s=settings.time_limit_s if time_limit is None else time_limit,
            max_order=settings.max_order if max_order is None else max_order,
            smallest=smallest,
            seed=settings.seed if seed is None else seed,
            progress=show,
        )
    report = RefutationReport.of_search(outcome, include_lean=lean)
    if as_json:
        typer.echo(report.model_dump_json())
    elif lean and report.code:
        typer.echo(report.code, nl=False)
    else:
        show_outcome(outcome)
        if lean and outcome.refutation is not None:
            typer.echo(report.note, err=True)
    raise typer.Exit(0 if outcome.refutation else 1)


def _described(report: ScanReport, out: Path) -> str:
    share = 100 * report.refuted / report.pairs
    lines = [
        f"{report.pairs:,} ordered pairs of {report.laws:,} laws",
        f"{report.refuted:,} refuted ({share:.2f} %) with {report.magmas:,} magmas",
        f"{report.seconds:.2f} seconds",
        f"written to {out / report.matrix}",
    ]
    if not report.complete:
        lines.append("The time limit ended the scan before all magmas were used.")
    return "\n".join(lines)


@contextmanager
def _progress_bar() -> Generator[ShowProgress]:
    """Show a bar for each phase of a scan on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        names = {"evaluate": "Evaluating laws on magmas", "join": "Joining signatures"}
        tasks = {phase: bars.add_task(name, total=None) for phase, name in names.items()}
        yield lambda at: bars.update(tasks[at.phase], completed=at.done, total=at.total)


@contextmanager
def _search_status() -> Generator[Callable[[SearchProgress], None]]:
    """Show on standard error what a search does."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("Searching") as status:
        yield lambda at: status.update(f"Searching: {at}")
