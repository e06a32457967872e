"""How runs and their comparison look on a terminal, and to programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from ekiden_orchestrator.commands.budget_words import duration, short, short_usd
from ekiden_orchestrator.commands.store_rows import print_table
from ekiden_orchestrator.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_store.queries.comparing_sets import Pair, SetComparison, SetTotal
    from ekiden_store.queries.runs import RunSummary

_NAMES = 5
_UNLIKELY = 0.05


def show_runs(runs: Sequence[RunSummary], *, as_json: bool) -> None:
    """Print runs as a table."""
    if as_json:
        typer.echo(json.dumps([asdict(run) for run in runs], ensure_ascii=False, indent=2))
        return
    if not runs:
        typer.echo("The store holds no rows yet.")
        return
    rows = [
        (
            run.run or "(no run id)",
            f"{run.attempted:,}",
            f"{run.proved:,}",
            _percent(run.proved, run.attempted),
            _money(run.cost_nanodollars),
            f"{run.rows:,}",
            _when(run.last_ms),
        )
        for run in runs
    ]
    _print(("run", "attempted", "proved", "share", "cost", "rows", "last row (UTC)"), rows)


def show_comparison(found: SetComparison, *, as_json: bool) -> None:
    """Print runs beside each other."""
    if as_json:
        typer.echo(json.dumps(asdict(found), ensure_ascii=False, indent=2))
        return
    _show_totals(found.totals)
    _show_depths(found.totals)
    for pair in found.pairs:
        _show_pair(pair, several=len(found.pairs) > 1)
    if not found.is_same:
        typer.echo(
            "\nThe runs were not asked the same theorems: only shares over those that both were asked are compared. "
            "--asked FILE names those that all were to prove."
        )


def _show_totals(totals: Sequence[SetTotal]) -> None:
    rows: list[tuple[str, ...]] = []
    is_plain = all(total.asked == total.attempted for total in totals)
    for total in totals:
        spent = total.spent
        tokens = None if spent.tokens_in is None and spent.tokens_out is None else spent.tokens_in or 0
        rows.append(
            (
                total.name,
                "" if is_plain else f"{total.asked:,}",
                f"{total.attempted:,}",
                f"{total.proved:,}",
                _percent(total.proved, total.asked),
                f"{100 * total.share.low:.0f}-{total.share.high:.0%}" if total.asked else "",
                _money(spent.cost_nanodollars),
                _money(spent.cost_nanodollars and total.proved and spent.cost_nanodollars // total.proved),
                "" if tokens is None else short(tokens + (spent.tokens_out or 0)),
                "" if spent.duration_ms is None else duration(spent.duration_ms / 1000),
            )
        )
    titles = ("run", "asked", "attempted", "proved", "share", "95 %", "cost", "a proof", "tokens", "time")
    _print(titles, rows)


def _show_depths(totals: Sequence[SetTotal]) -> None:
    from ekiden_store.queries.comparing_sets import DEPTHS, NOT_TOLD

    depths = [depth for depth in DEPTHS if any(depth in total.depths for total in totals)]
    if depths and depths != [NOT_TOLD]:
        typer.echo("\nProved, by the tactics of the shortest proof:")
        rows = [(total.name, *(f"{total.depths.get(depth, 0):,}" for depth in depths)) for total in totals]
        _print(("run", *depths), rows)


def _show_pair(pair: Pair, *, several: bool) -> None:
    table = pair.table
    typer.echo(f"\n{visible(pair.second)} against {visible(pair.first)}, over {_theorems(table.total)} asked of both:")
    if pair.difference is None or pair.interval is None:
        typer.echo("  nothing to compare.")
    else:
        typer.echo(
            f"  proved by both {table.both:,}, by neither {table.neither:,}, by {visible(pair.first)} alone "
            f"{table.only_first:,}, by {visible(pair.second)} alone {table.only_second:,}"
        )
        low, high = (100 * end for end in (pair.interval.low, pair.interval.high))
        allowed = f", {_chance(pair.adjusted_p_value)} as one of several (Holm)" if several else ""
        typer.echo(
            f"  difference {100 * pair.difference:+.1f} points (95 %: {low:+.1f} to {high:+.1f}); "
            f"{_chance(pair.p_value)} (McNemar){allowed}"
        )
        typer.echo(f"  {_reading(pair)}")
        _show_names(f"by {visible(pair.first)} alone", pair.lost)
        _show_names(f"by {visible(pair.second)} alone", pair.newly_proved)
    for name, alone in zip((pair.first, pair.second), pair.left_out, strict=True):
        if alone:
            typer.echo(f"  left out: {_theorems(alone)} asked of {visible(name)} alone")


def _reading(pair: Pair) -> str:
    """Say what the figures mean."""
    from ekiden_store.queries.paired import FEWEST_TO_TELL

    differing = pair.table.only_first + pair.table.only_second
    if pair.adjusted_p_value < _UNLIKELY:
        better = pair.second if pair.table.only_second > pair.table.only_first else pair.first
        return f"{visible(better)} proves more; chance alone hardly makes such a difference."
    if not differing:
        return "They proved the same."
    if differing < FEWEST_TO_TELL:
        return f"Chance may make such a difference: with fewer than {FEWEST_TO_TELL} theorems apart none can be told."
    return "Chance may make such a difference."


def _show_names(title: str, names: Sequence[str]) -> None:
    if names:
        more = f" and {len(names) - _NAMES:,} more (--json names all)" if len(names) > _NAMES else ""
        typer.echo(f"  {title}: {', '.join(map(visible, names[:_NAMES]))}{more}")


def _print(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table without the columns that say nothing."""
    told = [place for place in range(len(titles)) if place == 0 or any(row[place] for row in rows)]
    names = [titles[place] for place in told]
    print_table(names, [[row[place] for place in told] for row in rows], right=frozenset(names[1:]))


def _percent(part: int, of: int) -> str:
    return f"{part / of:.1%}" if of else ""


def _money(nanodollars: int | None) -> str:
    return "" if nanodollars is None else short_usd(nanodollars)


def _chance(p_value: float) -> str:
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def _theorems(number: int) -> str:
    return f"{number:,} theorem{'' if number == 1 else 's'}"


def _when(milliseconds: int | None) -> str:
    if milliseconds is None:
        return ""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return ""
