"""How much wall time and how many tokens a marathon may use."""

import math
from dataclasses import dataclass


class MarathonBudgetError(ValueError):
    """A budget that cannot be; the message names the flag to change."""


@dataclass(frozen=True, slots=True)
class MarathonBudget:
    """The limits of one run and how they came about.

    Attributes:
        seconds: Wall time of the solver over all attempts.
        tokens: Language-model tokens; 0 denies every call.
        origin: Where the two figures come from, for the printed budget line.
    """

    seconds: float
    tokens: int
    origin: str


def marathon_budget(
    problems: int,
    *,
    seconds: float | None,
    tokens: int,
    compression_ratio: float,
    seconds_per_problem: float,
) -> MarathonBudget:
    """Decide the budget of a run.

    An explicit `seconds` replaces the formula `compression_ratio * problems * seconds_per_problem`. Tokens have no
    formula yet: without a proxy for language models, 0 is the only budget that can be kept.

    Raises:
        MarathonBudgetError: A figure is not positive and finite, or tokens are asked for.
    """
    if tokens != 0:
        raise MarathonBudgetError(
            f"A budget of {tokens!r} tokens cannot be granted: this version has no proxy for language models. "
            "Leave --budget-tokens out or set it to 0."
        )
    if not (math.isfinite(compression_ratio) and compression_ratio > 0):
        raise MarathonBudgetError(
            f"The compression ratio is {compression_ratio!r}; --compression-ratio needs a number above 0."
        )
    if seconds is not None:
        if not (math.isfinite(seconds) and seconds > 0):
            raise MarathonBudgetError(f"The budget is {seconds!r} seconds; --budget-seconds needs a number above 0.")
        return MarathonBudget(seconds, 0, "wall time as given; no tokens: there is no proxy for language models yet")
    origin = (
        f"{compression_ratio:g} x {problems} problems x {seconds_per_problem:g} s; no tokens: there is no proxy for "
    )
    return MarathonBudget(compression_ratio * problems * seconds_per_problem, 0, origin + "language models yet")
