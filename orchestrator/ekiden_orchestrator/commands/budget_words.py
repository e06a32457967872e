"""Budgets in words: figures with their limits, durations, and a line for each budget."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from ekiden_policies.budget import NANO, dollars

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ekiden_budget.records import BudgetStatus
    from ekiden_policies.budget import Caps

_CENT = Decimal("0.01")
_LONGEST_S = 366 * 86_400


def usd(nanodollars: int) -> str:
    """Return a sum of money: cents, and smaller parts where there are any."""
    amount = dollars(nanodollars)
    return f"${amount:,.2f}" if amount == amount.quantize(_CENT) else f"${amount:,.9f}".rstrip("0")


def duration(seconds: float) -> str:
    """Return a time: `12 s`, `3:05`, `1:02:03`, `4 days`, `years`."""
    if seconds > _LONGEST_S:
        return "years"
    minutes, rest = divmod(int(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    if hours >= 72:
        return f"{hours // 24} days"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def caps(limits: Caps) -> str:
    """Return the caps of a budget, as `100,000 tokens, $2.50, 1:00:00`."""
    named = (
        "" if limits.tokens is None else tokens(limits.tokens),
        "" if limits.nanodollars is None else usd(limits.nanodollars),
        "" if limits.seconds is None else duration(limits.seconds),
    )
    return ", ".join(filter(None, named)) or "no caps of its own"


def tokens(number: int) -> str:
    """Return tokens, such as `1,234,567 tokens`."""
    return f"{number:,} token{'' if number == 1 else 's'}"


def whole(number: int) -> str:
    """Return a number in full, such as `1,234,567`."""
    return f"{number:,}"


def short(number: int) -> str:
    """Return a number for a narrow column, rounded down: `9,999`, `12.3k`, `1.2M`."""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= max(size, 10_000):
            return f"{number * 10 // size / 10:,.1f}".removesuffix(".0") + unit
    return whole(number)


def short_usd(nanodollars: int) -> str:
    """Return a sum of money for a narrow column, rounded down: whole cents, or four digits of less than a dollar."""
    if 0 < nanodollars < NANO // 10_000:
        return "<$0.0001"
    digits = 100 if nanodollars >= NANO else 10_000
    return usd(nanodollars * digits // NANO * (NANO // digits))


def tokens_used(status: BudgetStatus, shown: Callable[[int], str] = whole) -> str:
    """Return the tokens spent, of how many."""
    cap = status.caps.tokens
    return shown(status.settled.tokens) + ("" if cap is None else f" / {shown(cap)}")


def usd_used(status: BudgetStatus, shown: Callable[[int], str] = usd) -> str:
    """Return the dollars spent, of how many."""
    cap = status.caps.nanodollars
    return shown(status.settled.nanodollars or 0) + ("" if cap is None else f" / {shown(cap)}")


def time_used(status: BudgetStatus) -> str:
    """Return the time passed, of how much."""
    cap = status.caps.seconds
    return duration(status.elapsed_s) + ("" if cap is None else f" / {duration(cap)}")


def ends_in(status: BudgetStatus) -> str:
    """Return when a budget ends at its rate; empty if nothing makes it end."""
    if status.closed:
        return "closed"
    return "" if status.forecast is None else duration(status.forecast.in_s)


def ends_by(status: BudgetStatus) -> str:
    """Return what makes a budget end, as `by tokens`, `by usd above`; empty if nothing does."""
    if status.closed or status.forecast is None:
        return ""
    return f"by {status.forecast.limit}" + ("" if status.forecast.budget_id == status.budget else " above")


class Share(NamedTuple):
    """How much of a cap is used, from 0 to 1.

    Attributes:
        limit: Which cap.
        spent: The share that is spent, or of time, that has passed.
        reserved: The share that calls in flight may still spend.
    """

    limit: str
    spent: float
    reserved: float


def share(status: BudgetStatus) -> Share | None:
    """Return how much of the nearest of its own caps a budget has used; None without a cap."""
    caps, settled, reserved = status.caps, status.settled, status.reserved
    used = (
        ("tokens", settled.tokens, reserved.tokens, caps.tokens),
        ("usd", settled.nanodollars or 0, reserved.nanodollars or 0, caps.nanodollars),
        ("time", min(status.elapsed_s, caps.seconds or 0), 0, caps.seconds),
    )
    shares = (
        Share(limit, spent / cap, held / cap) if cap else Share(limit, 1.0, 0.0)
        for limit, spent, held, cap in used
        if cap is not None
    )
    return max(shares, key=lambda one: one.spent + one.reserved, default=None)


def depths(statuses: Sequence[BudgetStatus]) -> Iterator[tuple[int, BudgetStatus]]:
    """Return budgets, parents before children, with how deep each lies below the first of its tree."""
    known: dict[str, int] = {}
    for status in statuses:
        known[status.budget] = known.get(status.parent or "", -1) + 1
        yield known[status.budget], status


def line(status: BudgetStatus) -> str:
    """Return all about a budget in a line."""
    calls = status.calls
    failed = calls.unreadable + calls.failed + calls.unsent + calls.abandoned
    held = status.reserved.tokens
    parts = (
        f"{tokens_used(status)} tokens" + (f" (and {held:,} reserved)" if held else ""),
        usd_used(status) + (f" (without {status.unpriced_calls} unpriced)" if status.unpriced_calls else ""),
        time_used(status),
        "" if status.closed or status.rate is None else f"{status.rate.tokens_per_s * 60:,.0f} tokens/min",
        f"{calls.open} in flight" if calls.open else "",
        f"{calls.answered} answered",
        f"{failed} failed" if failed else "",
        f"{calls.refused} refused" if calls.refused else "",
        f"{status.excess.tokens:,} tokens beyond the cap" if status.excess.tokens else "",
        "closed" if status.closed else "",
    )
    ends = "" if status.closed or status.forecast is None else f"; ends in {ends_in(status)} {ends_by(status)}"
    return f"{status.name} [{status.budget}]: {', '.join(filter(None, parts))}{ends}"


def lines(statuses: Sequence[BudgetStatus]) -> Iterator[str]:
    """Return a line for each budget, children indented below their parents."""
    return (f"{'  ' * depth}{line(status)}" for depth, status in depths(statuses))
