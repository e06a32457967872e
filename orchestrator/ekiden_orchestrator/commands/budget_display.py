"""The live burn-down: a table that moves on a terminal, plain lines elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ekiden_orchestrator.commands import budget_words as words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from rich.console import Console

    from ekiden_budget.records import BudgetStatus

_WIDE = 100
_BAR_WIDTH = 12
_CALLS = "calls: ended, + in flight, - refused"


class BurnDown:
    """Shows budgets again and again on a console; a context manager.

    Without a terminal it prints the lines that changed, and nothing while only time passes.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self._printed: dict[str, tuple[object, ...]] = {}

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, statuses: Sequence[BudgetStatus]) -> None:
        """Show how budgets stand now."""
        if self._live is not None:
            self._live.update(burn_table(statuses, width=self._console.width), refresh=True)
            return
        for text, status in zip(words.lines(statuses), statuses, strict=True):
            figures = (status.settled, status.reserved, status.calls, status.closed)
            if self._printed.get(status.budget) != figures:
                self._printed[status.budget] = figures
                self._console.print(Text(visible(text)), soft_wrap=True)


def burn_table(statuses: Sequence[BudgetStatus], *, width: int = _WIDE) -> Table:
    """Return budgets as a table, children below their parents.

    Args:
        statuses: The budgets, parents before children.
        width: The columns there are; few hold no bars.
    """
    wide = width >= _WIDE
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, caption=_CALLS, caption_justify="left")
    table.add_column("budget", min_width=8)
    for title in ("tokens", "dollars", "time", "per min", "ends in", "calls"):
        table.add_column(title, justify="right", no_wrap=True)
    if wide:
        table.add_column("used", no_wrap=True)
    for depth, status in words.depths(statuses):
        calls = status.calls
        done = calls.answered + calls.unreadable + calls.failed + calls.unsent + calls.abandoned
        cells = (
            Text("  " * depth + visible(status.name), style="dim" if status.closed else ""),
            words.tokens_used(status, words.short),
            words.usd_used(status),
            words.time_used(status),
            "" if status.rate is None else words.short(round(status.rate.tokens_per_s * 60)),
            words.end(status, by=wide),
            str(done) + (f" +{calls.open}" if calls.open else "") + (f" -{calls.refused}" if calls.refused else ""),
        )
        table.add_row(*cells, *((_bar(words.share(status)),) if wide else ()))
    return table


def _bar(share: float | None) -> Text:
    if share is None:
        return Text("no cap", style="dim")
    filled = min(_BAR_WIDTH, round(_BAR_WIDTH * share))
    style = "green" if share < 0.8 else "yellow" if share < 1 else "red"
    return Text("━" * filled, style=style) + Text("━" * (_BAR_WIDTH - filled), style="dim")


def visible(text: str) -> str:
    """Make control characters visible: names come from agents, and must not paint the terminal."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
