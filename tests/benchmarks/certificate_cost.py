"""What a certificate costs in each checker: milliseconds by kind, order and number of variables.

Run: python tests/benchmarks/certificate_cost.py [--checker NAME ...] [--copies N]

Tables are projections `x ◇ y = x`, which satisfy laws in any number of variables, so that law 1 is checked on all
order ** variables assignments. Models are taken by their modulus, proofs by their steps. Each cell is the median over
copies of one certificate in a batch of all of them; the first figure of a checker is the time of a batch of one,
which is its start-up.
"""

from __future__ import annotations

import argparse
import atexit
import statistics
import time
from typing import TYPE_CHECKING

from ekiden_config import load_settings
from ekiden_judge import Checker, CheckItem, ExactChecker, Problem
from ekiden_judge.coq_checker import MAX_PRODUCTS, CoqChecker
from ekiden_judge.lean_checker import LeanChecker
from ekiden_lean import ProofChecker, find_toolchain
from ekiden_magma import (
    AffineRule,
    CayleyTable,
    EquationalProof,
    Law,
    Product,
    Refutation,
    ResidueModel,
    Step,
    Variable,
    parse_law,
    straight_line,
    to_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Certificate = Refutation | EquationalProof

MAX_LEAN_INSTANCES = 5_000


def lean() -> Checker:
    toolchain = find_toolchain(load_settings().lean)
    prover = ProofChecker(toolchain)
    atexit.register(prover.close)
    return LeanChecker(prover, toolchain=prover.identity)


CHECKERS: dict[str, Callable[[], Checker]] = {"exact": ExactChecker, "coq": CoqChecker, "lean": lean}
ORDERS = (2, 3, 4, 6, 8, 12, 16, 32)
LAWS = tuple(
    map(
        parse_law,
        (
            "x = x ◇ (x ◇ (x ◇ x))",
            "x ◇ y = x ◇ (y ◇ x)",
            "x ◇ y = x ◇ (y ◇ z)",
            "x ◇ y = (x ◇ z) ◇ (y ◇ w)",
            "x ◇ y = (x ◇ z) ◇ (w ◇ u)",
        ),
    )
)
MODULI = (1, 2, 3, 4)
STEPS = (1, 10, 100, 500)
COMMUTES = parse_law("x ◇ y = y ◇ x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checker", nargs="+", choices=CHECKERS, default=list(CHECKERS), help="which to measure")
    parser.add_argument("--copies", type=int, default=5, help="how often each certificate stands in the batch")
    options = parser.parse_args()
    for name in options.checker:
        report(name, CHECKERS[name](), options.copies)


def report(name: str, checker: Checker, copies: int) -> None:
    began = time.perf_counter()
    costs(checker, [table(2, LAWS[0])], 1)
    print(f"\n{name}: {time.perf_counter() - began:.2f} s for a batch of one\n")

    grid = {(order, law): table(order, law) for order in ORDERS for law in LAWS if fits(name, order, law)}
    cell = dict(zip(grid, costs(checker, list(grid.values()), copies), strict=True))
    print("order | " + " | ".join(f"{len(law.variables)} variables" for law in LAWS) + "   (ms a table)")
    for order in ORDERS:
        shown = [f"{cell[order, law]:11.1f}" if (order, law) in cell else f"{'-':>11}" for law in LAWS]
        print(f"{order:5} | " + " | ".join(shown))
    for what, numbers, make in (("modulus", MODULI, model), ("steps", STEPS, proof)):
        figures = costs(checker, [make(number) for number in numbers], copies)
        print(", ".join(f"{what} {n}: {ms:.1f} ms" for n, ms in zip(numbers, figures, strict=True)))


def costs(checker: Checker, certificates: list[Certificate], copies: int) -> list[float]:
    """Return the milliseconds of each certificate."""
    items = [item(certificate) for certificate in certificates for _ in range(copies)]
    results = checker.check_batch(items)
    assert {result.error_code for result in results} == {"ACCEPTED"}
    seconds = [result.seconds for result in results]
    return [1000 * statistics.median(part) for part in chunks(seconds, copies)]


def chunks(values: list[float], size: int) -> Iterator[list[float]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def item(certificate: Certificate) -> CheckItem:
    law1, law2 = str(certificate.law1), str(certificate.law2)
    problem = Problem(id="p", eq1_id=1, eq2_id=2, equation1=law1, equation2=law2)
    return CheckItem(problem, "true" if isinstance(certificate, EquationalProof) else "false", to_json(certificate))


def fits(name: str, order: int, law: Law) -> bool:
    instances = order ** len(law.variables)
    if name == "lean":
        return instances <= MAX_LEAN_INSTANCES
    return instances * len(straight_line(law).steps) <= min(MAX_PRODUCTS, 5_000_000)


def table(order: int, law: Law) -> Refutation:
    rows = tuple((k,) * order for k in range(order))
    return Refutation(law, COMMUTES, CayleyTable(rows), {"x": 0, "y": 1})


def model(modulus: int) -> Refutation:
    """A model in which the right argument counts only by its residue."""
    rules = tuple(AffineRule(1, 0, (place % modulus) * modulus) for place in range(modulus**2))
    law1 = parse_law("(x ◇ y) ◇ z = (x ◇ z) ◇ y")
    return Refutation(law1, parse_law("x ◇ y = z ◇ y"), ResidueModel(modulus, rules), {"x": 0, "y": 0, "z": 1})


def proof(steps: int) -> EquationalProof:
    x, y = Variable("x"), Variable("y")
    there, back = Step(0, (x, y)), Step(0, (x, y), reverse=True)
    left = Product(x, y)
    law2 = Law(left, Product(y, x) if steps % 2 else left)
    return EquationalProof(COMMUTES, law2, tuple((there, back)[k % 2] for k in range(steps)))


if __name__ == "__main__":
    main()
