"""How search time is shared over a batch of problems."""

FLOOR_S = 5.0
SMALL_BATCH_S_PER_PROBLEM = 0.25
SMALL_BATCH_CEILING_S = 40.0
S_PER_PROBLEM = 0.04
TAIL_SHARE = 0.1
MAX_TAIL_S = 5.0


def time_pool(problems: int, *, budget_s: float, problem_s: float | None = None) -> float:
    """Return the seconds that the built-in solver may search over a whole batch.

    A small batch gets 0.25 s a problem up to 40 s in all, a large one at least 0.04 s a problem, any batch at least
    5 s; `problem_s` replaces the rule by that many seconds a problem. The budget bounds it all.
    """
    if problem_s is not None:
        return min(problem_s * problems, budget_s)
    small = min(SMALL_BATCH_S_PER_PROBLEM * problems, SMALL_BATCH_CEILING_S)
    return min(max(FLOOR_S, small, S_PER_PROBLEM * problems), budget_s)


def search_limit_s(pool_s: float, *, budget_s: float, elapsed_s: float) -> float:
    """Return the seconds that a solver may search, `elapsed_s` after it was started.

    The pool is search alone: what a solver needs to load does not count. The deadline does, with a tail margin before
    it. The margin is a tenth of the budget, but no more than `MAX_TAIL_S`: time to write the last answer and to end.
    """
    deadline_s = budget_s - min(TAIL_SHARE * budget_s, MAX_TAIL_S)
    return max(0.0, min(pool_s, deadline_s - elapsed_s))
