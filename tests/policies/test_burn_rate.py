"""What is left of budgets, and when they end."""

from hypothesis import given
from hypothesis import strategies as st

from ekiden_policies.budget import NOTHING, Amount, Caps, Standing
from ekiden_policies.burn_rate import SHORTEST_WINDOW_S, Forecast, Left, Rate, forecast, left, measured

STILL = Rate(300.0, 0.0, 0.0)


def standing(caps: Caps, settled: Amount = NOTHING, reserved: Amount = NOTHING, elapsed_s: float = 0.0) -> Standing:
    return Standing("a", "a", caps, settled, reserved, elapsed_s, closed=False)


def test_what_is_left_is_the_least_of_the_chain_limit_by_limit():
    own = standing(Caps(tokens=100, seconds=50.0), Amount(30), Amount(20))
    above = standing(Caps(tokens=1000, nanodollars=70, seconds=20.0), Amount(990, 40), Amount(0, 10), elapsed_s=25.0)
    assert left([own]) == Left(50, None, 50.0)
    assert left([own, above]) == Left(10, 20, 0.0)
    assert left([standing(Caps())]) == Left(None, None, None)


def test_a_budget_ends_with_what_runs_out_first():
    one = standing(Caps(tokens=100, nanodollars=1000, seconds=90.0), Amount(50, 0), elapsed_s=10.0)
    assert forecast([one], [STILL]) == Forecast(80.0, "seconds", "a")
    assert forecast([one], [Rate(60.0, 1.0, 0.0)]) == Forecast(50.0, "tokens", "a")
    assert forecast([one], [Rate(60.0, 1.0, 50.0)]) == Forecast(20.0, "usd", "a")
    assert forecast([standing(Caps())], [Rate(60.0, 5.0, 5.0)]) is None
    assert forecast([standing(Caps(tokens=9))], [STILL]) is None


def test_no_rate_and_no_end_by_it_is_told_before_enough_time_has_passed_to_tell():
    assert measured(SHORTEST_WINDOW_S, 60, 90) == Rate(30.0, 2.0, 3.0)
    assert measured(SHORTEST_WINDOW_S - 0.1, 60, 90) is None
    one = standing(Caps(tokens=100, nanodollars=9, seconds=90.0), Amount(50, 5))
    assert forecast([one], [None]) == Forecast(90.0, "seconds", "a")
    assert forecast([standing(Caps(tokens=100), Amount(50))], [None]) is None
    assert forecast([standing(Caps(tokens=9), Amount(9))], [None]) == Forecast(0.0, "tokens", "a")


def test_a_budget_that_is_full_has_ended_whatever_its_rate():
    assert forecast([standing(Caps(tokens=9), Amount(9))], [STILL]) == Forecast(0.0, "tokens", "a")


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_faster_rate_never_ends_later(cap: int, used: int, slow: float, extra: float):
    one = standing(Caps(tokens=cap), Amount(min(cap, used)))
    ends = [forecast([one], [Rate(60.0, speed, 0.0)]) for speed in (slow, slow + extra)]
    assert ends[0] is None or (ends[1] is not None and ends[1].in_s <= ends[0].in_s)
