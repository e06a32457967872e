"""Whether two runs differ, held against what can be counted out."""

import math
from itertools import product

import pytest

from ekiden_store.queries.paired import FEWEST_TO_TELL, Interval, Paired, adjusted, share_interval


@pytest.mark.parametrize(("first", "second"), list(product(range(7), repeat=2)))
def test_the_p_value_is_the_share_of_coins_that_fall_as_unevenly(first: int, second: int):
    tosses = first + second
    uneven = sum(abs(2 * sum(coins) - tosses) >= abs(first - second) for coins in product((0, 1), repeat=tosses))
    assert Paired(3, first, second, 4).p_value == pytest.approx(uneven / 2**tosses)


def test_large_numbers_are_no_trouble():
    assert Paired(0, 100_000, 100_000, 0).p_value == 1.0
    assert Paired(0, 0, 5_000, 0).p_value < 1e-300
    assert Paired(0, 480, 520, 0).p_value == pytest.approx(0.2174, abs=1e-4)


def test_on_how_few_theorems_a_difference_can_be_told():
    assert Paired(10, 0, FEWEST_TO_TELL, 0).p_value < 0.05 < Paired(10, 0, FEWEST_TO_TELL - 1, 0).p_value


def test_intervals_are_those_of_the_papers():
    wilson = share_interval(81, 263)
    assert (round(wilson.low, 4), round(wilson.high, 4)) == (0.2553, 0.3662)
    found = Paired(both=36, only_first=2, only_second=12, neither=0).interval
    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (0.0569, 0.3404)
    assert (share_interval(0, 9).low, share_interval(9, 9).high) == (0.0, 1.0)
    assert share_interval(0, 0) == Interval(0.0, 1.0)


def test_the_interval_turns_round_with_the_runs_and_holds_the_difference():
    for cells in product((0, 1, 5), repeat=4):
        both, first, second, neither = cells
        one, other = Paired(both, first, second, neither), Paired(both, second, first, neither)
        if one.interval is None or one.difference is None or other.interval is None:
            assert sum(cells) == 0
            continue
        assert (one.interval.low, one.interval.high) == pytest.approx((-other.interval.high, -other.interval.low))
        assert one.interval.low - 1e-9 <= one.difference <= one.interval.high + 1e-9


@pytest.mark.parametrize("chances", [(0.3, 0.1, 0.2, 0.4), (0.1, 0.05, 0.05, 0.8), (0.6, 0.0, 0.1, 0.3)])
def test_the_interval_holds_the_true_difference_nineteen_times_in_twenty(chances: tuple[float, ...]):
    total, truth = 24, chances[2] - chances[1]
    covered = 0.0
    for both, first, second in product(range(total + 1), repeat=3):
        neither = total - both - first - second
        if neither < 0:
            continue
        cells = (both, first, second, neither)
        ways = math.factorial(total) // math.prod(map(math.factorial, cells))
        found = Paired(*cells).interval
        assert found is not None
        if found.low <= truth <= found.high:
            covered += ways * math.prod(chance**cell for chance, cell in zip(chances, cells, strict=True))
    assert covered > 0.93


def test_several_comparisons_are_allowed_for():
    assert adjusted([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert adjusted([0.5, 0.9]) == [1.0, 1.0]
    assert adjusted([0.2]) == [0.2]
    assert adjusted([]) == []
