"""The live burn-down: a table that moves on a terminal, plain lines elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ekiden_orchestrator.commands import budget_words as words
from ekiden_orchestrator.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType
    from typing import Self

    from rich.console import Console

    from ekiden_budget.records import BudgetStatus
    from ekiden_policies.burn_rate import Rate

_BAR_WIDTH = 12
_GAP = 2
_SHORTEST_NAME = 12
_OPTIONAL = ("used", "id", "per min", "calls", "time")
"""What is left out, in this order, where there is no room."""
_CAPTION = "+ reserved by calls in flight; calls: ended, + in flight, - refused"


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


def burn_table(statuses: Sequence[BudgetStatus], *, width: int) -> Table:
    """Return budgets as a table, two lines each, children below their parents.

    No figure is cut: where there is no room, columns are left out, and names end in an ellipsis.

    Args:
        statuses: The budgets, parents before children.
        width: The columns there are.
    """
    columns = {title: cells for title, cells in _columns(statuses).items() if any(map(len, cells))}
    indents = [2 * depth for depth, _ in words.depths(statuses)]
    room_for_id = max(indent + len(status.budget) for indent, status in zip(indents, statuses, strict=True))
    hidden: list[str] = []
    while (room := width - _width(columns)) < (_SHORTEST_NAME if "id" in hidden else room_for_id) and (
        len(hidden) < len(_OPTIONAL)
    ):
        hidden.append(_OPTIONAL[len(hidden)])
        columns.pop(hidden[-1], None)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, _GAP - 1, 0, 0), show_edge=False, pad_edge=False)
    table.caption, table.caption_justify = _CAPTION, "left"
    table.add_column("budget", no_wrap=True)
    for title in columns:
        table.add_column(title, justify="left" if title == "used" else "right", no_wrap=True)
    for row, (indent, status) in enumerate(zip(indents, statuses, strict=True)):
        name = _name(status, indent, room, with_id="id" not in hidden)
        table.add_row(name, *(cells[row] for cells in columns.values()))
    return table


def _name(status: BudgetStatus, indent: int, room: int, *, with_id: bool) -> Text:
    name = Text(" " * indent + visible(status.name), style="dim" if status.closed else "bold")
    name.truncate(max(room, _SHORTEST_NAME), overflow="ellipsis")
    return name.append(f"\n{' ' * indent}{status.budget}", style="not bold dim") if with_id else name


def _columns(statuses: Sequence[BudgetStatus]) -> dict[str, list[Text]]:
    """Return the cells of each column but the first, by its title; a figure, and below it what adds to it."""
    columns: dict[str, list[Text]] = {}
    for status in statuses:
        calls, rate, limit = status.calls, status.rate, status.caps.seconds
        done = calls.answered + calls.unreadable + calls.failed + calls.unsent + calls.abandoned
        cells = {
            "tokens": (words.tokens_used(status, words.short), *_held(status.reserved.tokens, words.short)),
            "dollars": _dollars(status),
            "time": (words.duration(status.elapsed_s), "" if limit is None else f"of {words.duration(limit)}"),
            "per min": () if rate is None or status.closed else _rate(rate),
            "ends in": (words.ends_in(status), words.ends_by(status)),
            "calls": (str(done), *_held(calls.open, str), f"-{calls.refused}" if calls.refused else ""),
        }
        for title, (first, *below) in ((title, lines or ("",)) for title, lines in cells.items()):
            rest = " ".join(filter(None, below))
            columns.setdefault(title, []).append(Text(f"{first}\n{rest}" if rest else first))
        columns.setdefault("used", []).append(_bar(words.share(status)))
    return columns


def _held(amount: int | None, shown: Callable[[int], str]) -> tuple[str, ...]:
    return (f"+{shown(amount)}",) if amount else ()


def _dollars(status: BudgetStatus) -> tuple[str, ...]:
    held, unpriced = _held(status.reserved.nanodollars, words.short_usd), status.unpriced_calls
    if not status.settled.nanodollars and not held and not unpriced and status.caps.nanodollars is None:
        return ()
    return (words.usd_used(status, words.short_usd), *held, f"{unpriced} unpriced" if unpriced else "")


def _rate(rate: Rate) -> tuple[str, str]:
    nanodollars = round(rate.nanodollars_per_s * 60)
    return words.short(round(rate.tokens_per_s * 60)), words.short_usd(nanodollars) if nanodollars else ""


def _width(columns: Mapping[str, Sequence[Text]]) -> int:
    """Return what columns take, with the gap before each."""
    lines = ([title, *(line for cell in cells for line in cell.plain.splitlines())] for title, cells in columns.items())
    return sum(_GAP + max(map(cell_len, of_one)) for of_one in lines)


def _bar(share: words.Share | None) -> Text:
    if share is None:
        return Text("no cap", style="dim")
    used = share.spent + share.reserved
    spent, filled = int(_BAR_WIDTH * share.spent), int(_BAR_WIDTH * used)
    style = "green" if used < 0.8 else "yellow" if used < 1 else "red"
    bar = Text("━" * spent, style=style) + Text("╍" * (filled - spent), style=style)
    bar += Text("─" * (_BAR_WIDTH - filled), style="dim")
    return bar.append(f"\n{int(100 * share.spent)}% of {share.limit}", style="dim")
