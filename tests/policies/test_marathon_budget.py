"""How a run's budget is decided."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_policies.marathon_budget import MarathonBudget, MarathonBudgetError, MarathonReference, marathon_budget

REFERENCE = MarathonReference(seconds=600.0, tokens=65_536)


def budget(
    seconds: float | None = None,
    tokens: int | None = None,
    usd: Decimal | None = None,
    ratio: float = 0.5,
    problems: int = 100,
    *,
    models: bool = True,
) -> MarathonBudget:
    return marathon_budget(
        problems,
        seconds=seconds,
        tokens=tokens,
        usd=usd,
        compression_ratio=ratio,
        reference=REFERENCE,
        models=models,
    )


def test_half_the_reference_is_the_default() -> None:
    assert budget() == MarathonBudget(
        30_000.0, 3_276_800, None, "0.5 x 100 problems x 600 s; 0.5 x 100 problems x 65536 tokens"
    )


def test_without_models_there_are_no_tokens_and_the_origin_says_why() -> None:
    assert budget(models=False) == MarathonBudget(
        30_000.0, 0, None, "0.5 x 100 problems x 600 s; no tokens: no language model can be reached"
    )


def test_the_formula_for_tokens_cuts_off_what_is_no_whole_token() -> None:
    assert budget(ratio=0.00001, problems=1).tokens == 0
    assert budget(ratio=1 / 3, problems=5).tokens == int(1 / 3 * 5 * 65_536)


def test_explicit_figures_replace_the_formula_each_by_itself() -> None:
    assert (budget(seconds=12.5).seconds, budget(seconds=12.5).tokens) == (12.5, 3_276_800)
    assert (budget(tokens=7).seconds, budget(tokens=7).tokens) == (30_000.0, 7)
    assert budget(seconds=12.5).origin.startswith("wall time as given; 0.5 x 100")


@pytest.mark.parametrize(
    ("tokens", "meaning"),
    [
        (1, "; tokens as given"),
        (0, "; 0 tokens as given: every call is denied"),
        (-1, "; no cap on tokens, as given"),
    ],
)
def test_tokens_have_three_meanings(tokens: int, meaning: str) -> None:
    assert (budget(tokens=tokens).tokens, budget(tokens=tokens).origin) == (
        tokens,
        f"0.5 x 100 problems x 600 s{meaning}",
    )


def test_tokens_that_nobody_can_use_stay_what_they_are() -> None:
    unusable = budget(tokens=5, models=False)
    assert unusable.tokens == 5
    assert unusable.origin.endswith("tokens as given, but no language model can be reached")


def test_dollars_are_a_cap_beside_the_tokens() -> None:
    both = budget(usd=Decimal("0.25"))
    assert (both.tokens, both.usd) == (3_276_800, Decimal("0.25"))
    assert both.origin.endswith("; dollars as given")
    assert budget(usd=Decimal(0)).usd == 0


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_budget_that_is_no_positive_number_is_refused(value: float) -> None:
    with pytest.raises(MarathonBudgetError, match="--budget-seconds"):
        budget(seconds=value)
    with pytest.raises(MarathonBudgetError, match="--compression-ratio"):
        budget(ratio=value)


@pytest.mark.parametrize("value", ["-0.01", "NaN", "Infinity"])
def test_dollars_that_are_no_amount_are_refused_with_their_value(value: str) -> None:
    with pytest.raises(MarathonBudgetError, match=rf"'{value}' dollars; --budget-usd"):
        budget(usd=Decimal(value))


@given(st.integers(1, 10_000), st.floats(0.01, 10))
def test_the_formula_grows_with_problems(problems: int, ratio: float) -> None:
    fewer, more = budget(ratio=ratio, problems=problems), budget(ratio=ratio, problems=problems + 1)
    assert fewer.seconds < more.seconds
    assert fewer.tokens < more.tokens
