"""How the outcome of a counterexample search looks on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_magma import CayleyTable

if TYPE_CHECKING:
    from rich.table import Table

    from ekiden_cayley.outcome import Outcome
    from ekiden_magma.certificate import Refutation
    from ekiden_magma.natural import ResidueModel


def show_outcome(outcome: Outcome) -> None:
    """Print an outcome on standard output: the model, where law 2 fails in it, and what it means."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=True)
    refutation = outcome.refutation
    if refutation is not None:
        model = refutation.model
        console.print(_table(model) if isinstance(model, CayleyTable) else _rules(model))
        console.print(_failure(refutation), markup=False)
    console.print(outcome.note, markup=False)
    console.print(f"{outcome.seconds:.3f} seconds", style="dim")


def _failure(refutation: Refutation) -> str:
    left, right = refutation.model.evaluate(refutation.law2, refutation.assignment)
    values = ", ".join(f"{name} = {value}" for name, value in refutation.assignment.items())
    return (
        f"{refutation.law1} holds in this magma.\n"
        f"{refutation.law2} fails at {values}: the left side is {left}, the right side is {right}."
    )


def _table(magma: CayleyTable) -> Table:
    from rich import box
    from rich.table import Table

    table = Table("◇", *map(str, range(magma.order)), box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1))
    table.columns[0].style = "bold"
    for row, values in enumerate(magma.rows):
        table.add_row(str(row), *map(str, values))
    return table


def _rules(model: ResidueModel) -> Table:
    from rich import box
    from rich.table import Table

    m = model.modulus
    table = Table(
        f"x mod {m}", f"y mod {m}", "x ◇ y on 0, 1, 2, ...", box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1)
    )
    for place, (a, b, c) in enumerate(model.rules):
        table.add_row(str(place // m), str(place % m), f"max(0, {a}*x + {b}*y + {c})".replace("+ -", "- "))
    return table
