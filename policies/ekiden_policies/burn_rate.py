"""How fast a budget is spent, what is left of it, and when it ends at that rate."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ekiden_policies.budget import Standing

SHORTEST_WINDOW_S = 30.0
"""What was settled in less time says nothing of how fast a budget is spent: the first call alone would tell."""


@dataclass(frozen=True, slots=True)
class Rate:
    """What was settled lately.

    Attributes:
        window_s: The seconds looked back on.
        tokens_per_s: Tokens a second.
        nanodollars_per_s: Nano-dollars a second, of calls whose price is known.
    """

    window_s: float
    tokens_per_s: float
    nanodollars_per_s: float


@dataclass(frozen=True, slots=True)
class Left:
    """What may still be used; None is no limit."""

    tokens: int | None
    nanodollars: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Forecast:
    """The end of a budget, should its rate stay.

    Attributes:
        in_s: Seconds from now.
        limit: What runs out.
        budget_id: The budget in which it does: the one asked about, or one above.
    """

    in_s: float
    limit: Literal["tokens", "usd", "seconds"]
    budget_id: str


def left(chain: Sequence[Standing]) -> Left:
    """Return what a budget may still use: the least that any budget of its chain has left."""
    tokens = [s.caps.tokens - s.settled.tokens - s.reserved.tokens for s in chain if s.caps.tokens is not None]
    seconds = [max(0.0, s.caps.seconds - s.elapsed_s) for s in chain if s.caps.seconds is not None]
    prices = [
        s.caps.nanodollars - (s.settled.nanodollars or 0) - (s.reserved.nanodollars or 0)
        for s in chain
        if s.caps.nanodollars is not None
    ]
    return Left(min(tokens, default=None), min(prices, default=None), min(seconds, default=None))


def measured(window_s: float, tokens: int, nanodollars: int) -> Rate | None:
    """Return how fast a budget is spent; None while the time looked back on is too short to tell.

    Args:
        window_s: The seconds looked back on.
        tokens: The tokens settled in them.
        nanodollars: The same for nano-dollars.
    """
    return None if window_s < SHORTEST_WINDOW_S else Rate(window_s, tokens / window_s, nanodollars / window_s)


def forecast(chain: Sequence[Standing], rates: Sequence[Rate | None]) -> Forecast | None:
    """Return when a budget ends at the rates of its chain; None when nothing makes it end.

    Args:
        chain: The budget first, the root last.
        rates: The rate of each of them, in the same order, as far as there is one.
    """
    ends = [end for standing, rate in zip(chain, rates, strict=True) for end in _ends(standing, rate)]
    return min(ends, key=lambda end: end.in_s, default=None)


def _ends(standing: Standing, rate: Rate | None) -> Iterator[Forecast]:
    own = left((standing,))
    tokens_per_s, nanodollars_per_s = (0.0, 0.0) if rate is None else (rate.tokens_per_s, rate.nanodollars_per_s)
    if own.seconds is not None:
        yield Forecast(own.seconds, "seconds", standing.budget_id)
    if own.tokens is not None and (own.tokens == 0 or tokens_per_s > 0):
        yield Forecast(own.tokens / tokens_per_s if own.tokens else 0.0, "tokens", standing.budget_id)
    if own.nanodollars is not None and (own.nanodollars == 0 or nanodollars_per_s > 0):
        in_s = own.nanodollars / nanodollars_per_s if own.nanodollars else 0.0
        yield Forecast(in_s, "usd", standing.budget_id)
