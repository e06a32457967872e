"""The portfolio for one pair of laws, cheapest methods first, as a search that can be put down and taken up again.

A search is a generator of short steps; `advance` runs steps until a `Stop` expires. Nothing that was tried is tried
again, except that a search whose solvers were given back (`release`) solves its open orders anew.

Stages: plain implications; all tables of order 2 and 3; the packaged library; model finding in orders 4 and 5 with few
conflicts; structured families; then infinite models and model finding in all orders take turns with rising budgets.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, NamedTuple

from ekiden_cayley.errors import CayleyError, StoppedError
from ekiden_cayley.implied import obvious_implication
from ekiden_cayley.kernels import first_refuting
from ekiden_cayley.outcome import LARGEST_MAX_ORDER, Outcome, Progress, Reason, Unit
from ekiden_cayley.sat import SatSearch
from ekiden_cayley.signatures import Signatures, Tables, is_affordable
from ekiden_magma import CayleyTable, Law
from ekiden_magma.certificate import Refutation
from ekiden_magma.check import check

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from ekiden_cayley.families import Families
    from ekiden_cayley.infinite import InfiniteSearch
    from ekiden_cayley.stop import Stop
    from ekiden_magma import Assignment
    from ekiden_magma.natural import ResidueModel

    Steps = Generator[None, None, None]
    Model = CayleyTable | ResidueModel

FIRST_SAT_ORDER = 4
QUICK_ORDERS = (4, 5)
QUICK_CONFLICTS = 2_000
FIRST_CONFLICTS = 4_000
FIRST_ASSIGNMENTS = 200_000
ASSIGNMENTS_PER_STEP = 100_000
RISE = 4
HEAVY = 2_000_000
RANDOM_ASSIGNMENTS = 512
FEW_ASSIGNMENTS = 5_000


class Shelf(NamedTuple):
    """What all searches share: the small tables, the library, the families."""

    small: Signatures
    library: Signatures
    families: Families


class Search:
    """The search for a counterexample to "law 1 implies law 2"."""

    def __init__(self, law1: Law, law2: Law, shelf: Shelf, *, max_order: int, smallest: bool, seed: int) -> None:
        if not 2 <= max_order <= LARGEST_MAX_ORDER:
            raise CayleyError(f"max_order is {max_order!r}; it must be 2..{LARGEST_MAX_ORDER}.")
        self.law1, self.law2 = law1, law2
        self.outcome: Outcome | None = None
        self.seconds = 0.0
        self.cheap_stages_done = False
        self.progress = Progress("start", None, 0, "tables", 1)
        self._shelf = shelf
        self._max_order = max_order
        self._smallest = smallest
        self._seed = seed
        self._stop: Stop
        self._proved: set[int] = set()
        self._skipped: set[int] = set()
        self._open: dict[int, SatSearch] = {}
        self._best: tuple[CayleyTable, str] | None = None
        self._implied: str | None = None
        self._families_done = self._families_tried = 0
        self._began = time.perf_counter()
        self._stages: tuple[Callable[[], Steps], ...] = (
            self._look,
            self._small_tables,
            self._library,
            self._quick_orders,
            self._try_families,
            self._ascend,
            self._take_turns,
        )
        self._stage = 0
        self._steps = self._look()

    def advance(
        self, stop: Stop, *, cheap_only: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> Outcome | None:
        """Work until the outcome is known or `stop` expires; with `cheap_only` at most until the cheap stages are done.

        `progress` is told after each piece of work what the search does.

        Returns:
            The outcome, which stays in `outcome` as well; None if the search can go on.
        """
        self._began = time.perf_counter()
        self._stop = stop
        try:
            while self.outcome is None and not stop.expired() and not (cheap_only and self.cheap_stages_done):
                self._step()
                if progress is not None:
                    progress(self.progress)
        finally:
            now = time.perf_counter()
            self.seconds, self._began = self.seconds + now - self._began, now
        return self.outcome

    def interrupted(self, reason: Reason) -> Outcome:
        """Return the outcome of a search that is left unfinished."""
        self._began = time.perf_counter()
        if self._best is not None:
            model, method = self._best
            return self._refuted(model, method)
        return self._ended(reason)

    @property
    def no_model_up_to(self) -> int:
        """The largest order up to which it is proved that no table refutes the pair."""
        order = 1
        while order + 1 in self._proved:
            order += 1
        return order

    @property
    def weight(self) -> int:
        """How many clauses the search keeps in memory."""
        return sum(search.clauses for search in self._open.values())

    def release(self) -> None:
        """Give the solvers' memory back. The search can go on, but solves its open orders anew."""
        for search in self._open.values():
            search.close()
        self._open.clear()

    def _step(self) -> None:
        """Do one piece of work of the current stage, or go on to the next stage."""
        try:
            next(self._steps)
        except StopIteration:
            self._stage += 1
            if self._stage < len(self._stages):
                self._steps = self._stages[self._stage]()
            elif self.outcome is None:
                self.outcome = self.interrupted("exhausted")
        except StoppedError:
            # A compiled loop gave up because of `stop`; the stage goes on from what it has noted in `self`.
            self._steps = self._stages[self._stage]()
        if self.outcome is not None:
            self.release()

    def _look(self) -> Steps:
        self._implied = obvious_implication(self.law1, self.law2)
        if self._implied is not None:
            self._proved.update(range(2, self._max_order + 1))
            self.outcome = self._ended("exhausted")
        yield

    def _small_tables(self) -> Steps:
        self._report("small tables", 3, self._shelf.small.tables, "tables")
        found = self._shelf.small.first_refuting(self.law1, self.law2, self._stop)
        self._proved.update((2, 3) if found is None else range(2, len(found)))
        if found is not None:
            self._found(_table(found), "trying all tables of order 2 and 3")
        yield

    def _library(self) -> Steps:
        self._report("library", None, self._shelf.library.tables, "tables")
        found = self._shelf.library.first_refuting(self.law1, self.law2, self._stop)
        if found is not None:
            self._found(_table(found), "a look into the library of magmas")
        self.cheap_stages_done = True
        yield

    def _quick_orders(self) -> Steps:
        if not self._smallest:
            for order in QUICK_ORDERS:
                yield from self._solve(order, QUICK_CONFLICTS)

    def _try_families(self) -> Steps:
        for place, piece in enumerate(self._shelf.families):
            if place < self._families_done:
                continue
            order = piece.tables.shape[1]
            if is_affordable(self.law1, order) and is_affordable(self.law2, order) and self._would_help(order):
                self._report("families", order, self._families_tried, "tables")
                found = first_refuting(self.law1, self.law2, piece.tables, stop=self._stop)
                self._families_tried += len(piece.tables)
                if found is not None:
                    self._found(_table(piece.tables[found]), f"trying the family {piece.method}")
            self._families_done = place + 1
            yield

    def _ascend(self) -> Steps:
        """For the smallest table: order by order, each to its end."""
        while self._smallest and self.outcome is None:
            order = self.no_model_up_to + 1
            if self._best is not None and order == self._best[0].order:
                self.outcome = self._refuted(*self._best)
            elif order > self._max_order or order in self._skipped:
                return
            else:
                yield from self._solve(order, None)

    def _take_turns(self) -> Steps:
        from ekiden_cayley.infinite import RULE_SPACES, InfiniteSearch

        conflicts, assignments = FIRST_CONFLICTS, FIRST_ASSIGNMENTS
        infinite = [InfiniteSearch(self.law1, self.law2, space) for space in RULE_SPACES]
        while self._best is None and (self._open_orders() or not all(search.exhausted for search in infinite)):
            if self.outcome is not None:
                return
            for search in infinite:
                yield from self._explore(search, assignments)
            for order in self._open_orders():
                yield from self._solve(order, conflicts)
                if self.weight > HEAVY:
                    self._drop(order)
            conflicts, assignments = conflicts * RISE, assignments * RISE

    def _open_orders(self) -> list[int]:
        closed = self._proved | self._skipped
        return [order for order in range(FIRST_SAT_ORDER, self._max_order + 1) if order not in closed]

    def _solve(self, order: int, conflicts: int | None) -> Steps:
        """Look for a table of one order until there is a result or the conflicts are used; None for no limit."""
        if order > self._max_order or order in self._proved or order in self._skipped:
            return
        if not is_affordable(self.law1, order):
            self._skipped.add(order)
            return
        while self.outcome is None:
            search = self._open.get(order)
            if search is None:
                search = self._open[order] = SatSearch(self.law1, self.law2, order, seed=self._seed)
            if conflicts is not None and search.conflicts >= conflicts:
                return
            self._report("model finding", order, search.conflicts, "conflicts")
            result = search.step()
            if result is not None:
                self._drop(order)
                if isinstance(result, CayleyTable):
                    self._found(result, "SAT model finding", search.witness)
                else:
                    (self._proved if result == "none" else self._skipped).add(order)
                return
            yield

    def _explore(self, search: InfiniteSearch, assignments: int) -> Steps:
        for tried in range(0, assignments, ASSIGNMENTS_PER_STEP):
            if search.exhausted or self.outcome is not None:
                return
            self._report(f"infinite models of modulus {search.space.modulus}", None, tried, "assignments")
            found = search.advance(ASSIGNMENTS_PER_STEP)
            if found is not None:
                self.outcome = self._refuted(found.model, "searching infinite models on the naturals", found.assignment)
            yield

    def _drop(self, order: int) -> None:
        search = self._open.pop(order, None)
        if search is not None:
            search.close()

    def _would_help(self, order: int) -> bool:
        return self._best is None or order < self._best[0].order

    def _report(self, stage: str, order: int | None, tried: int, unit: Unit) -> None:
        self.progress = Progress(stage, order, tried, unit, self.no_model_up_to)

    def _found(self, table: CayleyTable, method: str, assignment: Assignment | None = None) -> None:
        """Take a table that refutes the pair: as the outcome, or as the best so far while a smaller one may exist."""
        if self._smallest and table.order > self.no_model_up_to + 1:
            if self._would_help(table.order):
                self._best = (table, method)
        else:
            self.outcome = self._refuted(table, method, assignment)

    def _refuted(self, model: Model, method: str, assignment: Assignment | None = None) -> Outcome:
        if assignment is None:
            assert isinstance(model, CayleyTable)
            assignment = failing_assignment(model, self.law2, self._seed)
        refutation = Refutation(self.law1, self.law2, model, assignment)
        check(refutation)
        return self._ended("refuted", refutation, method)

    def _ended(self, reason: Reason, refutation: Refutation | None = None, method: str | None = None) -> Outcome:
        return Outcome(
            refutation=refutation,
            method=method,
            seconds=self.seconds + time.perf_counter() - self._began,
            no_model_up_to=self.no_model_up_to,
            reason=reason,
            implied_because=self._implied,
            skipped_orders=tuple(sorted(self._skipped)),
        )


def _table(cells: Tables) -> CayleyTable:
    return CayleyTable(tuple(tuple(row) for row in cells.tolist()))


def failing_assignment(table: CayleyTable, law: Law, seed: int = 0) -> Assignment:
    """Return an assignment under which the law fails: the first one, unless there are too many to try in order."""
    if table.order ** len(law.variables) > FEW_ASSIGNMENTS:
        draw = random.Random(seed)
        for _ in range(RANDOM_ASSIGNMENTS):
            assignment = {name: draw.randrange(table.order) for name in law.variables}
            left, right = table.evaluate(law, assignment)
            if left != right:
                return assignment
    found = table.counterexample(law)
    assert found is not None, "a table that satisfies law 2 was taken for a counterexample"
    return found
