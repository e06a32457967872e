"""How search time is shared over a batch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_policies.schedule import search_limit_s, time_pool


@pytest.mark.parametrize(
    ("problems", "pool_s"), [(1, 5.0), (20, 5.0), (100, 25.0), (160, 40.0), (1000, 40.0), (2000, 80.0)]
)
def test_the_pool_of_a_batch(problems: int, pool_s: float) -> None:
    assert time_pool(problems, budget_s=1e9) == pool_s


def test_seconds_a_problem_replace_the_rule_and_the_budget_bounds_both() -> None:
    assert time_pool(1000, budget_s=1e9, problem_s=2.0) == 2000.0
    assert time_pool(1000, budget_s=100.0, problem_s=2.0) == 100.0
    assert time_pool(1000, budget_s=7.0) == 7.0


@given(st.integers(1, 5000), st.floats(1, 1000))
def test_the_pool_never_shrinks_with_the_batch(problems: int, budget_s: float) -> None:
    assert time_pool(problems, budget_s=budget_s) <= time_pool(problems + 1, budget_s=budget_s) <= budget_s


@given(st.floats(0, 1000), st.floats(0.1, 1000), st.floats(0, 1000))
def test_a_search_ends_before_the_deadline_and_within_the_pool(
    pool_s: float, budget_s: float, elapsed_s: float
) -> None:
    limit_s = search_limit_s(pool_s, budget_s=budget_s, elapsed_s=elapsed_s)
    assert 0 <= limit_s <= pool_s
    assert limit_s == 0 or elapsed_s + limit_s <= budget_s


def test_the_tail_margin_is_a_tenth_of_the_budget_up_to_five_seconds() -> None:
    assert search_limit_s(1e9, budget_s=10.0, elapsed_s=0.0) == 9.0
    assert search_limit_s(1e9, budget_s=1000.0, elapsed_s=100.0) == 895.0
    assert search_limit_s(20.0, budget_s=1000.0, elapsed_s=985.0) == 10.0


def test_what_a_solver_needs_to_load_is_not_taken_from_its_search() -> None:
    assert search_limit_s(0.5, budget_s=1000.0, elapsed_s=3.0) == 0.5
