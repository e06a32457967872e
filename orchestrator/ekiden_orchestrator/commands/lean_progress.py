"""How an installation looks while it goes on: a line that moves on a terminal, plain lines elsewhere."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Generator

    from rich.progress import Progress

    from ekiden_lean.install import Report, Step


@contextmanager
def reporting() -> Generator[Report]:
    """Show the steps of an installation on standard error."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield _Lines()
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Column

    # all of it fits into 80 columns
    elapsed = TimeElapsedColumn(table_column=Column(min_width=7))
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=8), elapsed)
    with Progress(*columns, console=console) as progress:
        yield _Moving(progress)


class _Lines:
    """A line for each step, none for how far it is."""

    def __init__(self) -> None:
        self._last: str = ""

    def __call__(self, step: Step) -> None:
        if step.what != self._last:
            self._last = step.what
            typer.echo(step.what, err=True)


class _Moving:
    """A row for each step, with a bar where it is known how far it is."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last: str = ""
        self._row = None

    def __call__(self, step: Step) -> None:
        if self._row is None or step.what != self._last:
            if self._row is not None:
                self._progress.update(self._row, total=1, completed=1)
            self._last = step.what
            self._row = self._progress.add_task(step.what, total=None)
        self._progress.update(self._row, total=step.total, completed=step.done)
