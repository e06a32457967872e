"""How search time is shared over a batch of problems."""

from dataclasses import dataclass

FLOOR_S = 5.0
SMALL_BATCH_S_PER_PROBLEM = 0.25
SMALL_BATCH_CEILING_S = 40.0
S_PER_PROBLEM = 0.04


def time_pool(problems: int, *, budget_s: float, problem_s: float | None = None) -> float:
    """Return the seconds that the built-in solver may search over a whole batch.

    A small batch gets 0.25 s a problem up to 40 s in all, a large one at least 0.04 s a problem, any batch at least
    5 s; `problem_s` replaces the rule by that many seconds a problem. The budget bounds it all.
    """
    if problem_s is not None:
        return min(problem_s * problems, budget_s)
    small = min(SMALL_BATCH_S_PER_PROBLEM * problems, SMALL_BATCH_CEILING_S)
    return min(max(FLOOR_S, small, S_PER_PROBLEM * problems), budget_s)


@dataclass(frozen=True, slots=True)
class Slices:
    """Rising time slices: every open problem gets one slice a round, each round's slice is longer than the last.

    Attributes:
        first_s: The slice of the first round.
        growth: How much longer each round's slice is.
    """

    first_s: float = 0.02
    growth: float = 2.0

    def slice_s(self, round_number: int, *, remaining_s: float, open_problems: int) -> float:
        """Return the slice of a round, 0-based, when so much time is left for so many problems.

        A slice is never longer than an equal share of what is left, but at least the first slice: a share too thin to
        search in is better given whole to the problems that come first.
        """
        if remaining_s <= 0 or open_problems <= 0:
            return 0.0
        wanted = self.first_s * self.growth**round_number
        share = max(remaining_s / open_problems, self.first_s)
        return min(wanted, share, remaining_s)
