"""How search time is shared over a batch."""

import pytest
from ekiden_policies.schedule import Slices, time_pool
from hypothesis import given
from hypothesis import strategies as st


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


@given(st.integers(0, 30), st.floats(0, 100), st.integers(0, 1000))
def test_a_slice_is_never_more_than_what_is_left(round_number: int, remaining_s: float, open_problems: int) -> None:
    slice_s = Slices().slice_s(round_number, remaining_s=remaining_s, open_problems=open_problems)
    assert 0 <= slice_s <= remaining_s


@given(st.integers(0, 10), st.integers(1, 100))
def test_slices_rise_from_round_to_round(round_number: int, open_problems: int) -> None:
    plenty = 1e9
    slices = Slices()
    first = slices.slice_s(round_number, remaining_s=plenty, open_problems=open_problems)
    second = slices.slice_s(round_number + 1, remaining_s=plenty, open_problems=open_problems)
    assert second == pytest.approx(first * slices.growth)


def test_nothing_is_left_when_the_pool_is_spent_or_every_problem_is_done() -> None:
    assert Slices().slice_s(0, remaining_s=0.0, open_problems=3) == 0.0
    assert Slices().slice_s(0, remaining_s=3.0, open_problems=0) == 0.0
