"""How much two shares over the same theorems differ, and whether chance explains it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

_Z = 1.959963984540054  # 95 %
FEWEST_TO_TELL = 6
"""On fewer theorems than these two runs cannot differ so that p is below 0.05: 2 · (1/2)⁵ is more."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From where to where a share, or a difference of shares, lies with a confidence of 95 %."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Paired:
    """What became of the same theorems in two runs.

    Attributes:
        both: How many both proved.
        only_first: How many the first alone proved.
        only_second: How many the second alone proved.
        neither: How many neither proved.
    """

    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def total(self) -> int:
        """How many theorems there are."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def difference(self) -> float | None:
        """By how much the second's share is larger; None: there is no theorem."""
        return (self.only_second - self.only_first) / self.total if self.total else None

    @property
    def p_value(self) -> float:
        """How likely chance alone makes a difference as large, either way: McNemar's exact test."""
        differing = self.only_first + self.only_second
        least = min(self.only_first, self.only_second)
        if self.only_first == self.only_second:
            return 1.0
        return min(1.0, 2 * math.fsum(_chance(taken, differing) for taken in range(least + 1)))

    @property
    def interval(self) -> Interval | None:
        """Where the difference lies: Newcombe's interval for paired shares (1998, method 10); None: no theorem."""
        total = self.total
        if not total:
            return None
        first, second = (self.both + self.only_first) / total, (self.both + self.only_second) / total
        of_first, of_second = share_interval(round(first * total), total), share_interval(round(second * total), total)
        related = self._correlation()
        down = _distance(second - of_second.low, of_first.high - first, related)
        up = _distance(of_second.high - second, first - of_first.low, related)
        return Interval(second - first - down, second - first + up)

    def _correlation(self) -> float:
        """Return how much the two go together, from -1 to 1; a little less than it seems, as so few are counted."""
        sums = (self.both + self.only_first, self.only_second + self.neither)
        sums += (self.both + self.only_second, self.only_first + self.neither)
        if not all(sums):
            return 0.0
        product = self.both * self.neither - self.only_first * self.only_second
        if product > 0:
            product = max(product - self.total / 2, 0)
        return product / math.sqrt(math.prod(sums))


def share_interval(part: int, of: int) -> Interval:
    """Return where a share lies: Wilson's interval. Of nothing it may be anything."""
    if not of:
        return Interval(0.0, 1.0)
    share = part / of
    middle = share + _Z**2 / (2 * of)
    spread = _Z * math.sqrt(share * (1 - share) / of + _Z**2 / (4 * of**2))
    whole = 1 + _Z**2 / of
    low = 0.0 if part == 0 else (middle - spread) / whole
    return Interval(low, 1.0 if part == of else (middle + spread) / whole)


def adjusted(p_values: Sequence[float]) -> list[float]:
    """Return p-values that allow for there being several, in the same order: Holm's method.

    Of twenty comparisons of what is alike, one comes out below 0.05 by chance.
    """
    found = [0.0] * len(p_values)
    least = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, p_values[place] * (len(p_values) - rank)))
        found[place] = least
    return found


def _distance(one: float, other: float, related: float) -> float:
    return math.sqrt(max(one**2 - 2 * related * one * other + other**2, 0.0))


def _chance(heads: int, tosses: int) -> float:
    """Return how likely so many heads are; logarithms, as the numbers of ways are too large for floats."""
    ways = math.lgamma(tosses + 1) - math.lgamma(heads + 1) - math.lgamma(tosses - heads + 1)
    return math.exp(ways - tosses * math.log(2))
