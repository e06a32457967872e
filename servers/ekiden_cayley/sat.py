"""Model finding by SAT: is there a magma of order n that satisfies law 1 and breaks law 2?"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Literal, cast

from ekiden_cayley.clauses import Formula
from ekiden_magma import CayleyTable, Law

if TYPE_CHECKING:
    from collections.abc import Generator

    from ekiden_cayley.stop import Stop
    from ekiden_magma import Assignment

ORDER_LIMIT = 20
CLAUSE_LIMIT = 3_000_000
CONFLICTS_PER_STEP = 400
PROPAGATIONS_PER_STEP = 400_000
CLAUSES_OF_FULL_STEPS = 20_000

SatResult = CayleyTable | Literal["none", "too large"]
"""A table; or "none", a proof that no counterexample is generated with this order; or "too large" to be tried."""


def find_model(law1: Law, law2: Law, order: int, stop: Stop, *, seed: int = 0) -> SatResult | Literal["stopped"]:
    """Search a table of one order that satisfies law 1 and breaks law 2.

    "none" for each of the orders 2, ..., n means that no table of order up to n refutes the pair; see `clauses`
    for why it says a little less about a single order.
    """
    search = SatSearch(law1, law2, order, seed=seed)
    try:
        while not stop.expired():
            result = search.step()
            if result is not None:
                return result
        return "stopped"
    finally:
        search.close()


class SatSearch:
    """The search in one order, advanced by steps of a few hundredths of a second; what was learnt is kept.

    Attributes:
        order: The order.
        conflicts: How many conflicts the solver has met.
        clauses: How many clauses are kept in memory.
        witness: With a table found, an assignment under which law 2 fails in it.
    """

    def __init__(self, law1: Law, law2: Law, order: int, *, seed: int = 0) -> None:
        self.order = order
        self.conflicts = 0
        self.clauses = 0
        self.witness: Assignment | None = None
        self._laws = (law1, law2)
        self._seed = seed
        self._solver: Any = None
        self._steps = self._run()

    def step(self) -> SatResult | None:
        """Work for a moment; return the result when it is known."""
        try:
            next(self._steps)
        except StopIteration as end:
            self.close()
            return cast("SatResult", end.value)
        return None

    def close(self) -> None:
        """Give the solver's memory back; the search cannot go on."""
        self._steps.close()
        if self._solver is not None:
            self._solver.delete()
            self._solver = None
        self.clauses = 0

    def _run(self) -> Generator[None, None, SatResult]:
        from pysat.solvers import Glucose4  # pyright: ignore[reportMissingTypeStubs]  # python-sat ships no types

        if self.order > ORDER_LIMIT:
            return "too large"
        formula = Formula(*self._laws, self.order)
        if formula.clauses > CLAUSE_LIMIT:
            return "too large"
        self._solver = solver = cast("Any", Glucose4)()
        add = solver.add_clause
        for chunk in formula.chunks():
            for clause in chunk:
                add(clause)
            self.clauses += len(chunk)
            yield
        self._diversify(formula)
        share = min(1.0, CLAUSES_OF_FULL_STEPS / self.clauses)
        conflicts, propagations = max(8, round(CONFLICTS_PER_STEP * share)), round(PROPAGATIONS_PER_STEP * share)
        while True:
            solver.conf_budget(conflicts)
            solver.prop_budget(propagations)
            answer = solver.solve_limited(expect_interrupt=True)
            if answer is not None:
                return self._read(formula) if answer else "none"
            self.conflicts += conflicts
            yield

    def _diversify(self, formula: Formula) -> None:
        """Let a seed other than 0 choose which values are tried first."""
        if self._seed:
            draw = random.Random(self._seed)
            literals = formula.cells().ravel().tolist()
            self._solver.set_phases([literal if draw.random() < 1 / self.order else -literal for literal in literals])

    def _read(self, formula: Formula) -> CayleyTable:
        true = {literal for literal in cast("list[int]", self._solver.get_model()) if literal > 0}
        self.witness = {
            name: next(value for value, literal in enumerate(literals) if literal in true)
            for name, literals in formula.constants().items()
        }
        rows = cast("list[list[list[int]]]", formula.cells().tolist())
        return CayleyTable(
            tuple(tuple(next(k for k, literal in enumerate(cell) if literal in true) for cell in row) for row in rows)
        )
