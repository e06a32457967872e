"""Numbers as people read them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ekiden_orchestrator import visible_text

if TYPE_CHECKING:
    from ekiden_store.queries.progress_figures import Share

NONE, UNKNOWN = "–", "unknown"
NO_ITERATION = "no iteration"
_NANO = 10**9
_LAST_MS = 253_402_300_799_999


def share_words(share: Share) -> str:
    """Say a share in percent."""
    return NONE if share.value is None else f"{share.value:.1%}"


def interval_words(share: Share) -> str:
    """Say between which shares the true one is to be expected."""
    return NONE if share.low is None or share.high is None else f"{share.low:.1%} to {share.high:.1%}"


def percent(part: int, whole: int) -> str:
    """Say a part of a whole in percent."""
    return f"{part / whole:.1%}" if whole else NONE


def money(nanodollars: float | None, *, nothing: str = UNKNOWN) -> str:
    """Say an amount in US dollars, to two digits at least and to a cent where it is a dollar or more."""
    if nanodollars is None:
        return nothing
    dollars = nanodollars / _NANO
    if dollars == 0 or abs(dollars) >= 1:
        return f"${dollars:,.2f}"
    return f"${dollars:.{1 - math.floor(math.log10(abs(dollars)))}f}"


def amount(number: float | None, *, nothing: str = UNKNOWN) -> str:
    """Say a large number in few digits."""
    if number is None:
        return nothing
    for least, size, unit in ((10**9, 10**9, "G"), (10**6, 10**6, "M"), (10**4, 10**3, "K")):
        if number >= least:
            return f"{_few_digits(number / size)} {unit}"
    return f"{number:,.0f}"


def _few_digits(number: float) -> str:
    shown = f"{number:,.{max(0, 2 - int(math.log10(number)))}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def duration(milliseconds: float | None, *, nothing: str = UNKNOWN) -> str:
    """Say how long something took."""
    if milliseconds is None:
        return nothing
    seconds = milliseconds / 1000
    if seconds < 1:
        return f"{milliseconds:,.0f} ms"
    if seconds < 120:
        return f"{seconds:,.1f} s"
    minutes = seconds / 60
    return f"{minutes:,.0f} min" if minutes < 120 else f"{minutes / 60:,.1f} h"


def day(milliseconds: int | None) -> str:
    """Say on which day something was, in universal time."""
    if milliseconds is None or milliseconds > _LAST_MS:
        return NONE
    return datetime.fromtimestamp(milliseconds / 1000, UTC).date().isoformat()


def iteration_words(number: int | None) -> str:
    """Say which iteration."""
    return NO_ITERATION if number is None else str(number)


def theorems(count: int) -> str:
    """Say how many theorems."""
    return f"{count:,} theorem" if count == 1 else f"{count:,} theorems"


def visible(text: str, longest: int = 120) -> str:
    """Make signs visible that would not be, and cut what is long: names come from agents."""
    shown = visible_text.visible(text)
    return shown if len(shown) <= longest else f"{shown[:longest]}…"
