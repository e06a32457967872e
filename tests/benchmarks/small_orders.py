"""Exhaustive search of orders 2 and 3: Ekiden against a plain Python loop over all tables.

Run: python tests/benchmarks/small_orders.py [--pairs N]

Both sides run in this process on the same pairs. Easy pairs are refuted by a magma of order 2 or 3, hard ones by none,
so that both sides look at everything.
"""

from __future__ import annotations

import argparse
import itertools
import random
import statistics
import time
from typing import TYPE_CHECKING

import plain_python

from ekiden_cayley.kernels import first_refuting
from ekiden_cayley.law_list import all_laws
from ekiden_cayley.small_orders import all_magmas

if TYPE_CHECKING:
    from ekiden_magma import Law

ORDERS = (2, 3)


def search(law1: Law, law2: Law) -> bool:
    return any(first_refuting(law1, law2, all_magmas(order)) is not None for order in ORDERS)


def plain_search(law1: Law, law2: Law) -> bool:
    tables = itertools.chain.from_iterable(plain_python.all_tables(order) for order in ORDERS)
    return plain_python.first_refuting(law1, law2, tables) is not None


def sampled_pairs(size: int, *, refuted: bool) -> list[tuple[Law, Law]]:
    draw = random.Random(1)
    laws = all_laws(4)
    pairs: list[tuple[Law, Law]] = []
    while len(pairs) < size:
        law1, law2 = draw.choice(laws), draw.choice(laws)
        if law1 != law2 and search(law1, law2) == refuted:
            pairs.append((law1, law2))
    return pairs


def measure(title: str, pairs: list[tuple[Law, Law]]) -> None:
    ratios: list[float] = []
    ours = plain = 0.0
    for law1, law2 in pairs:
        started = time.perf_counter()
        found = search(law1, law2)
        middle = time.perf_counter()
        assert plain_search(law1, law2) == found
        ended = time.perf_counter()
        ours += middle - started
        plain += ended - middle
        ratios.append((ended - middle) / (middle - started))
    print(f"{title}: {len(pairs)} pairs")
    print(f"  Ekiden       {1000 * ours / len(pairs):10.3f} ms a pair")
    print(f"  plain Python {1000 * plain / len(pairs):10.3f} ms a pair")
    print(
        f"  ratio {plain / ours:.0f} in all; per pair median {statistics.median(ratios):.0f}, least {min(ratios):.1f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=30, help="how many easy and how many hard pairs")
    size = parser.parse_args().pairs
    measure("easy, refuted by a magma of order 2 or 3", sampled_pairs(size, refuted=True))
    measure("hard, refuted by none of them", sampled_pairs(size, refuted=False))


if __name__ == "__main__":
    main()
