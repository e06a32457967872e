"""How a run's budget is decided."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_policies.marathon_budget import MarathonBudget, MarathonBudgetError, marathon_budget


def budget(seconds: float | None = None, tokens: int = 0, ratio: float = 0.5, problems: int = 100) -> MarathonBudget:
    return marathon_budget(problems, seconds=seconds, tokens=tokens, compression_ratio=ratio, seconds_per_problem=600.0)


def test_half_the_reference_time_is_the_default() -> None:
    given_by_formula = budget()
    assert (given_by_formula.seconds, given_by_formula.tokens) == (30_000.0, 0)
    assert given_by_formula.origin.startswith("0.5 x 100 problems x 600 s")


def test_explicit_seconds_replace_the_formula_and_the_origin_says_so() -> None:
    explicit = budget(seconds=12.5)
    assert explicit.seconds == 12.5
    assert "as given" in explicit.origin


@pytest.mark.parametrize("tokens", [1, -1, 3_276_800])
def test_any_token_budget_but_zero_is_refused_with_its_value(tokens: int) -> None:
    with pytest.raises(MarathonBudgetError, match=rf"{tokens} tokens .* no proxy"):
        budget(tokens=tokens)


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_budget_that_is_no_positive_number_is_refused(value: float) -> None:
    with pytest.raises(MarathonBudgetError, match="--budget-seconds"):
        budget(seconds=value)
    with pytest.raises(MarathonBudgetError, match="--compression-ratio"):
        budget(ratio=value)


@given(st.integers(1, 10_000), st.floats(0.01, 10))
def test_the_formula_grows_with_problems(problems: int, ratio: float) -> None:
    assert budget(ratio=ratio, problems=problems).seconds < budget(ratio=ratio, problems=problems + 1).seconds
