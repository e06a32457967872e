"""Any number of runs beside each other, each held against the first, and whether chance explains it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ekiden_store.errors import StoreError
from ekiden_store.queries.comparing import Side, Spent, names_of, read_sides
from ekiden_store.queries.paired import Interval, Paired, adjusted, share_interval
from ekiden_store.snapshot import Snapshot

_DEPTHS = (("1", 1), ("2", 2), ("3", 3), ("4 to 7", 7), ("8 to 15", 15))
NOT_TOLD, DEEPER = "not told", "16 or more"
DEPTHS = (*(name for name, _ in _DEPTHS), DEEPER, NOT_TOLD)
"""How many tactics the shortest proof of a theorem has."""


@dataclass(frozen=True, slots=True)
class SetTotal:
    """A run, or several that count as one.

    Attributes:
        name: What it is called.
        runs: The runs.
        asked: How many theorems its share is over: those that were to be proved, else those that it attempted.
        attempted: How many of those it attempted.
        proved: How many of those it proved.
        share: Where its share lies, with a confidence of 95 %.
        depths: How many it proved, by the tactics of the shortest proof.
        spent: What was spent, on other theorems too.
    """

    name: str
    runs: tuple[str, ...]
    asked: int
    attempted: int
    proved: int
    share: Interval
    depths: dict[str, int]
    spent: Spent


@dataclass(frozen=True, slots=True)
class Pair:
    """The first run and another, over the theorems that were asked of both.

    Attributes:
        first: The one.
        second: The other.
        table: What became of those theorems.
        difference: By how much the second's share is larger.
        interval: Where that difference lies, with a confidence of 95 %.
        p_value: How likely chance alone makes it as large: McNemar's exact test.
        adjusted_p_value: The same, when there are several comparisons: Holm's method.
        lost: The theorems that the first alone proved.
        newly_proved: Those that the second alone proved.
        left_out: How many theorems the first, and the second, alone attempted: no share of these is compared.
    """

    first: str
    second: str
    table: Paired
    difference: float | None
    interval: Interval | None
    p_value: float
    adjusted_p_value: float
    lost: tuple[str, ...]
    newly_proved: tuple[str, ...]
    left_out: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SetComparison:
    """Runs beside each other.

    Attributes:
        totals: Each of them.
        pairs: Each against the first.
        is_same: Whether all were asked the same theorems.
    """

    totals: list[SetTotal]
    pairs: list[Pair]
    is_same: bool


def compare_sets(
    snapshot: Snapshot,
    sets: Mapping[str, Collection[str]],
    *,
    asked: Collection[str] | None = None,
    where: Any = None,
) -> SetComparison:
    """Compare runs: a theorem is proved where a proof was completed; copied proofs are left out.

    Shares are compared over theorems that were asked of both alone: a run that was stopped early is not held against
    the easy theorems of another.

    Args:
        snapshot: The store.
        sets: What is compared, by what it is called: the names of runs, those of one set count as one run.
        asked: The theorems that were to be proved by all; None: those that each attempted.
        where: Which rows: a pyarrow expression; None: all.

    Raises:
        StoreError: A run is not there, or counts twice, or there is only one.
    """
    if len(sets) < 2:
        raise StoreError("There is nothing to compare: name two runs at least.")
    names = [names_of(runs) for runs in sets.values()]
    sides = read_sides(snapshot, names, where=where)
    spent = [_spent(side) for side in sides]
    for side in sides:
        side.pop("", None)  # what belongs to a run as a whole
    wanted = None if asked is None else set(asked)
    over = [side.keys() if wanted is None else wanted for side in sides]
    totals = [
        _total(name, runs, side, of, cost)
        for name, runs, side, of, cost in zip(sets, names, sides, over, spent, strict=True)
    ]
    first, *others = zip(sets, sides, over, strict=True)
    tables = [_table(first[1], side, first[2] & of) for _, side, of in others]
    p_values = adjusted([table.p_value for table in tables])
    pairs = [
        _pair(first, other, table, p_value) for other, table, p_value in zip(others, tables, p_values, strict=True)
    ]
    return SetComparison(totals, pairs, is_same=all(of == over[0] for of in over))


def depth_range(depth: int | None) -> str:
    """Return which of `DEPTHS` a proof belongs to."""
    if not depth:
        return NOT_TOLD
    return next((name for name, most in _DEPTHS if depth <= most), DEEPER)


_Named = tuple[str, dict[str, Side], Collection[str]]


def _total(name: str, runs: tuple[str, ...], side: Mapping[str, Side], of: Collection[str], spent: Spent) -> SetTotal:
    proved = [side[theorem] for theorem in of if theorem in side and side[theorem].proved]
    depths = dict.fromkeys(DEPTHS, 0)
    for each in proved:
        depths[depth_range(each.depth)] += 1
    return SetTotal(
        name=name,
        runs=runs,
        asked=len(of),
        attempted=sum(theorem in side for theorem in of),
        proved=len(proved),
        share=share_interval(len(proved), len(of)),
        depths={depth: count for depth, count in depths.items() if count},
        spent=spent,
    )


def _spent(side: Mapping[str, Side]) -> Spent:
    spent = Spent()
    for each in side.values():
        spent.add(each.spent)
    return spent


def _is_proved(side: Mapping[str, Side], theorem: str) -> bool:
    return theorem in side and side[theorem].proved


def _table(first: Mapping[str, Side], second: Mapping[str, Side], theorems: Collection[str]) -> Paired:
    proved = [(_is_proved(first, theorem), _is_proved(second, theorem)) for theorem in theorems]
    return Paired(
        both=proved.count((True, True)),
        only_first=proved.count((True, False)),
        only_second=proved.count((False, True)),
        neither=proved.count((False, False)),
    )


def _pair(first: _Named, second: _Named, table: Paired, adjusted_p_value: float) -> Pair:
    (one, sides, of), (other, other_sides, other_of) = first, second
    shared = sorted(set(of) & set(other_of))
    changed = [name for name in shared if _is_proved(sides, name) != _is_proved(other_sides, name)]
    return Pair(
        first=one,
        second=other,
        table=table,
        difference=table.difference,
        interval=table.interval,
        p_value=table.p_value,
        adjusted_p_value=adjusted_p_value,
        lost=tuple(name for name in changed if _is_proved(sides, name)),
        newly_proved=tuple(name for name in changed if _is_proved(other_sides, name)),
        left_out=(len(of) - len(shared), len(other_of) - len(shared)),
    )
