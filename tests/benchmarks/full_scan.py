"""All ordered pairs of the 4,694 laws with up to four operations: Ekiden against one plain search per pair.

Run: python tests/benchmarks/full_scan.py [--sample N]

The plain side looks, for each of a sample of pairs, for the first of the same magmas that satisfies law 1 and not law
2.
"""

from __future__ import annotations

import time

STARTED = time.perf_counter()

import argparse  # noqa: E402  # imports are part of what is measured
import random  # noqa: E402
import resource  # noqa: E402
import tempfile  # noqa: E402
from pathlib import Path  # noqa: E402

import plain_python  # noqa: E402

from ekiden_cayley.law_list import all_laws  # noqa: E402
from ekiden_cayley.scan import scan, useful_magmas  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=200, help="how many pairs the plain side searches")
    size = parser.parse_args().sample
    laws = all_laws(4)
    with tempfile.TemporaryDirectory() as folder:
        report = scan(laws, Path(folder))
    total = time.perf_counter() - STARTED
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{report.pairs:,} ordered pairs, {report.refuted:,} refuted, {report.magmas:,} magmas")
    print(f"  Ekiden: {report.seconds:.2f} s, {total:.2f} s with imports and compiling, {memory:.0f} MiB at the most")
    print(f"  {report.pairs / total:,.0f} pairs a second")

    tables = [table.tolist() for stack in useful_magmas() for table in stack]
    draw = random.Random(1)
    started = time.perf_counter()
    for _ in range(size):
        plain_python.first_refuting(draw.choice(laws), draw.choice(laws), tables)
    plain = (time.perf_counter() - started) / size
    print(f"  plain Python: {1 / plain:,.1f} pairs a second on {size} pairs")
    print(f"  ratio {plain * report.pairs / total:,.0f}")


if __name__ == "__main__":
    main()
