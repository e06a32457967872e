"""Refuting one pair of laws: Ekiden's search against plain SAT model finding, on generated pairs.

Run: python tests/benchmarks/refute.py [--pairs N] [--seed S] [--limit SECONDS]

Easy pairs are random pairs of laws with up to four operations that a table of order 2 refutes. Hard pairs are random
pairs that linear magmas of order 5 to 8 refute, but no table of order 2 to 4. The plain side grounds both laws over
order 2, 3, ... in pure Python, one node per subterm instance, without symmetry breaking or derived clauses, and gives
the clauses to the same solver. Both sides run in turns in this one process.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import time
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from pysat.solvers import Glucose4  # pyright: ignore[reportMissingTypeStubs]  # python-sat ships no types

from ekiden_cayley.kernels import compile_law, satisfied_many
from ekiden_cayley.law_list import all_laws
from ekiden_cayley.refuter import Refuter
from ekiden_cayley.sat import find_model
from ekiden_cayley.small_orders import all_magmas
from ekiden_cayley.stop import Stop
from ekiden_magma import CayleyTable, Law, parse_law, straight_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Pair = tuple[Law, Law]

LARGEST_ORDER = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=30, help="how many pairs of each kind")
    parser.add_argument("--seed", type=int, default=1, help="chooses the pairs")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for one search")
    options = parser.parse_args()
    easy, hard = generated_pairs(options.pairs, options.seed)
    refuter = Refuter()
    refuter.refute(parse_law("x ◇ y = y ◇ x"), parse_law("x ◇ (y ◇ z) = (x ◇ y) ◇ z"))
    for what in ("laws not seen before", "laws seen before"):
        warm = [timed(lambda pair=pair: refuter.refute(*pair).refutation is not None, options.limit) for pair in easy]
        report(f"easy pairs, {what}", warm)

    sides: dict[str, Callable[[Pair], bool]] = {
        "Ekiden, whole portfolio": lambda pair: (
            refuter.refute(*pair, time_limit_s=options.limit).refutation is not None
        ),
        "Ekiden, SAT alone": lambda pair: ascending(pair, options.limit),
        "plain SAT": lambda pair: plain(pair, options.limit),
    }
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for pair in hard:
        for name, search in sides.items():
            seconds[name].append(timed(lambda search=search, pair=pair: search(pair), options.limit))
    for name, figures in seconds.items():
        report(f"hard pairs, {name}", figures)
    base = seconds["plain SAT"]
    for name in list(sides)[:2]:
        ratios = [b / a for a, b in zip(seconds[name], base, strict=True)]
        total = sum(base) / sum(seconds[name])
        print(f"{name}: {statistics.median(ratios):.0f}x faster than plain SAT at the median, {total:.0f}x in total")


def generated_pairs(count: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    laws = all_laws(4)
    codes = [compile_law(law) for law in laws]
    two, three = (satisfied_many(codes, all_magmas(order)) for order in (2, 3))
    linear = np.concatenate([satisfied_many(codes, linear_magmas(order)) for order in (5, 6, 7, 8)], axis=1)
    draw = random.Random(seed)
    easy: list[Pair] = []
    hard: list[Pair] = []
    while len(easy) < count or len(hard) < count:
        i, j = draw.randrange(len(laws)), draw.randrange(len(laws))
        if (two[i] & ~two[j]).any():
            easy.append((laws[i], laws[j]))
        elif (
            len(hard) < count
            and not (three[i] & ~three[j]).any()
            and (linear[i] & ~linear[j]).any()
            and find_model(laws[i], laws[j], 4, Stop(5.0)) == "none"
        ):
            hard.append((laws[i], laws[j]))
    return easy[:count], hard


def linear_magmas(order: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    x, y = np.indices((order, order))
    rows = [(a * x + b * y + c) % order for a, b, c in itertools.product(range(order), range(order), (0, 1))]
    return np.array(rows, dtype=np.uint8)


def timed(search: Callable[[], bool], limit: float) -> float:
    began = time.perf_counter()
    found = search()
    return time.perf_counter() - began if found else limit


def report(what: str, seconds: list[float]) -> None:
    ordered = sorted(seconds)
    p90 = ordered[int(0.9 * len(ordered))]
    print(
        f"{what}: median {1000 * statistics.median(ordered):.2f} ms, p90 {1000 * p90:.2f} ms, "
        f"max {1000 * ordered[-1]:.2f} ms, total {sum(ordered):.2f} s, {len(ordered)} pairs"
    )


def ascending(pair: Pair, limit: float) -> bool:
    stop = Stop(limit)
    return any(isinstance(find_model(*pair, order, stop), CayleyTable) for order in range(2, LARGEST_ORDER + 1))


def plain(pair: Pair, limit: float) -> bool:
    stop = Stop(limit)
    for order in range(2, LARGEST_ORDER + 1):
        solver = cast("Any", Glucose4)()
        try:
            for clause in plain_clauses(*pair, order):
                solver.add_clause(clause)
            answer = None
            while answer is None and not stop.expired():
                solver.conf_budget(500)
                answer = solver.solve_limited()
        finally:
            solver.delete()
        if answer is None or answer:
            return bool(answer)
    return False


def plain_clauses(law1: Law, law2: Law, order: int) -> Iterator[list[int]]:
    """Yield what says that an operation satisfies law 1 and breaks law 2, in the simplest way."""
    numbers = itertools.count(1)
    elements = range(order)

    def one_hot() -> list[int]:
        return [next(numbers) for _ in elements]

    def exactly_one(literals: list[int]) -> Iterator[list[int]]:
        yield literals
        yield from ([-a, -b] for a, b in itertools.combinations(literals, 2))

    cells = [[one_hot() for _ in elements] for _ in elements]
    for row in cells:
        for cell in row:
            yield from exactly_one(cell)

    def evaluated(law: Law, slots: list[list[int]]) -> Iterator[list[int]]:
        for left, right in straight_line(law).steps:
            result = one_hot()
            slots.append(result)
            yield from exactly_one(result)
            for i, j, k in itertools.product(elements, repeat=3):
                yield [-slots[left][i], -slots[right][j], -cells[i][j][k], result[k]]

    values: list[list[int]] = []
    for _ in elements:
        values.append(one_hot())
    for element, literals in enumerate(values):
        yield from ([literal if k == element else -literal] for k, literal in enumerate(literals))
    for instance in itertools.product(elements, repeat=len(law1.variables)):
        slots = [values[element] for element in instance]
        yield from evaluated(law1, slots)
        program = straight_line(law1)
        yield from ([-a, b] for a, b in zip(slots[program.left], slots[program.right], strict=True))
    constants = [one_hot() for _ in law2.variables]
    for constant in constants:
        yield from exactly_one(constant)
    yield from evaluated(law2, constants)
    program = straight_line(law2)
    yield from ([-a, -b] for a, b in zip(constants[program.left], constants[program.right], strict=True))


if __name__ == "__main__":
    main()
