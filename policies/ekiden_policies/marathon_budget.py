"""How much wall time, how many tokens and how many dollars a marathon may use."""

import math
from dataclasses import dataclass
from decimal import Decimal


class MarathonBudgetError(ValueError):
    """A budget that cannot be; the message names the flag to change."""


@dataclass(frozen=True, slots=True)
class MarathonReference:
    """What one problem gets at a compression ratio of 1."""

    seconds: float
    tokens: int


@dataclass(frozen=True, slots=True)
class MarathonBudget:
    """The limits of one run and how they came about.

    Attributes:
        seconds: Wall time of the solver over all attempts.
        tokens: Tokens of language models: above 0 a cap, 0 denies every call, below 0 is no cap.
        usd: Dollars for language models; None is no cap.
        origin: Where the figures come from, for the printed budget line.
    """

    seconds: float
    tokens: int
    usd: Decimal | None
    origin: str


def marathon_budget(
    problems: int,
    *,
    seconds: float | None,
    tokens: int | None,
    usd: Decimal | None,
    compression_ratio: float,
    reference: MarathonReference,
    models: bool,
) -> MarathonBudget:
    """Decide the budget of a run.

    Explicit `seconds` and `tokens` replace the formula `compression_ratio * problems * reference`, each by itself.
    Without `models` to ask, the formula grants no tokens.

    Raises:
        MarathonBudgetError: A figure is not one that can be kept.
    """
    if not (math.isfinite(compression_ratio) and compression_ratio > 0):
        raise MarathonBudgetError(
            f"The compression ratio is {compression_ratio!r}; --compression-ratio needs a number above 0."
        )
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        raise MarathonBudgetError(f"The budget is {seconds!r} seconds; --budget-seconds needs a number above 0.")
    if usd is not None and not (usd.is_finite() and usd >= 0):
        raise MarathonBudgetError(f"The budget is {str(usd)!r} dollars; --budget-usd needs 0 or a number above it.")
    share = f"{compression_ratio:g} x {problems} problems x"
    origins = ["wall time as given" if seconds is not None else f"{share} {reference.seconds:g} s"]
    if seconds is None:
        seconds = compression_ratio * problems * reference.seconds
    if tokens is not None:
        origins.append(_meaning(tokens, models=models))
    elif models:
        tokens = int(compression_ratio * problems * reference.tokens)
        origins.append(f"{share} {reference.tokens} tokens")
    else:
        tokens = 0
        origins.append("no tokens: no language model can be reached")
    if usd is not None:
        origins.append("dollars as given")
    return MarathonBudget(seconds, tokens, usd, "; ".join(origins))


def _meaning(tokens: int, *, models: bool) -> str:
    """Say what a number of tokens that was given means."""
    if tokens == 0:
        return "0 tokens as given: every call is denied"
    said = "tokens as given" if tokens > 0 else "no cap on tokens, as given"
    return said if models else f"{said}, but no language model can be reached"
