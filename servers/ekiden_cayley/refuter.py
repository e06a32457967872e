"""The counterexample search as a service: one pair, or a batch that shares its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_cayley.families import Families
from ekiden_cayley.library import library
from ekiden_cayley.search import Search, Shelf
from ekiden_cayley.signatures import Signatures
from ekiden_cayley.small_orders import all_magmas
from ekiden_cayley.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ekiden_cayley.outcome import Outcome, Progress
    from ekiden_magma import Law

FIRST_SLICE_S = 0.05
KEPT_CLAUSES = 5_000_000


class Refuter:
    """Finds counterexamples, and remembers what helps with the next pair. Threads may share one."""

    def __init__(self, *, seed: int = 0) -> None:
        self._seed = seed
        self._shelf = Shelf(
            small=Signatures([all_magmas(2), all_magmas(3)]),
            library=Signatures([tables for order, tables in library().items() if order > 3]),
            families=Families(),
        )

    def search(
        self, law1: Law, law2: Law, *, max_order: int = 8, smallest: bool = False, seed: int | None = None
    ) -> Search:
        """Return a search that has not begun, to be advanced by slices of time.

        Args:
            law1: The law that the counterexample satisfies.
            law2: The law that it breaks.
            max_order: The largest order for model finding; the library and the families hold a few larger tables.
            smallest: Look for a table of the smallest order there is, and prove it if there is time.
            seed: Chooses among equals, in place of the refuter's own seed.

        Raises:
            CayleyError: `max_order` is out of range.
        """
        chosen = self._seed if seed is None else seed
        return Search(law1, law2, self._shelf, max_order=max_order, smallest=smallest, seed=chosen)

    def refute(
        self,
        law1: Law,
        law2: Law,
        *,
        time_limit_s: float = 10.0,
        max_order: int = 8,
        smallest: bool = False,
        seed: int | None = None,
        stop: Stop | None = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Outcome:
        """Look for a magma that satisfies law 1 and breaks law 2.

        Args:
            law1: The law that the counterexample satisfies.
            law2: The law that it breaks.
            time_limit_s: Seconds, counted from now.
            max_order: The largest order for model finding; the library and the families hold a few larger tables.
            smallest: Look for a table of the smallest order there is, and prove it if there is time.
            seed: Chooses among equals, in place of the refuter's own seed.
            stop: Ends the search early when it expires.
            progress: Told, many times a second, what the search does; runs on the calling thread.

        Raises:
            CayleyError: `max_order` or `time_limit_s` is out of range.
        """
        search = self.search(law1, law2, max_order=max_order, smallest=smallest, seed=seed)
        limit = Stop(time_limit_s, parent=stop)
        try:
            outcome = search.advance(limit, progress=progress)
            return outcome or search.interrupted("cancelled" if limit.cancelled else "time")
        finally:
            search.release()

    def refute_batch(
        self,
        pairs: Sequence[tuple[Law, Law]],
        *,
        time_limit_s: float = 60.0,
        max_order: int = 8,
        smallest: bool = False,
        seed: int | None = None,
        stop: Stop | None = None,
        on_outcome: Callable[[int, Outcome], None] | None = None,
    ) -> list[Outcome]:
        """Look for counterexamples to many pairs under one time limit.

        All pairs get the cheap stages first, then those that are left get rising slices of time in turns.

        Args:
            pairs: Pairs of law 1 and law 2.
            time_limit_s: Seconds for the whole batch, counted from now.
            max_order: As for `refute`.
            smallest: As for `refute`.
            seed: As for `refute`.
            stop: Ends the batch early when it expires.
            on_outcome: Told the place of a pair and its outcome as soon as it is known; runs on the calling thread.

        Returns:
            The outcomes in the order of the pairs.

        Raises:
            CayleyError: `max_order` or `time_limit_s` is out of range.
        """
        searches = [self.search(*pair, max_order=max_order, smallest=smallest, seed=seed) for pair in pairs]
        limit = Stop(time_limit_s, parent=stop)
        outcomes: dict[int, Outcome] = {}

        def settle(place: int, outcome: Outcome) -> None:
            outcomes[place] = outcome
            if on_outcome is not None:
                on_outcome(place, outcome)

        try:
            for place, outcome in take_turns(searches, limit):
                settle(place, outcome)
            for place, search in enumerate(searches):
                if place not in outcomes:
                    settle(place, search.interrupted("cancelled" if limit.cancelled else "time"))
        finally:
            for search in searches:
                search.release()
        return [outcomes[place] for place in range(len(searches))]


def take_turns(searches: Sequence[Search], limit: Stop) -> Iterable[tuple[int, Outcome]]:
    """Advance searches until all have ended or `limit` expires; yield the place and outcome of each that ends.

    The cheap stages of all come first, then rising slices. The slice of a search does not exceed its share of the
    remaining time. A search whose clauses no longer fit in memory gives them back after its slice.
    """
    waiting = list(range(len(searches)))
    kept = 0
    slice_s = 0.0
    while waiting and not limit.expired():
        still: list[int] = []
        for position, place in enumerate(waiting):
            search = searches[place]
            if limit.expired():
                return
            kept -= search.weight
            share = limit.remaining_s / (len(waiting) - position)
            if slice_s:
                outcome = search.advance(Stop(min(slice_s, max(share, FIRST_SLICE_S)), parent=limit))
            else:
                outcome = search.advance(Stop(max(share, FIRST_SLICE_S), parent=limit), cheap_only=True)
            if outcome is None:
                still.append(place)
                if kept + search.weight > KEPT_CLAUSES:
                    search.release()
            else:
                yield place, outcome
            kept += search.weight
        waiting = still
        slice_s = slice_s * 2 or FIRST_SLICE_S
