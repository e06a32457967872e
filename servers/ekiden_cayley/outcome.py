"""What a search for a counterexample reports: while it runs, and at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ekiden_magma.certificate import Refutation

LARGEST_MAX_ORDER = 64

Reason = Literal["refuted", "exhausted", "time", "cancelled"]
Unit = Literal["tables", "conflicts", "assignments"]


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a search is.

    Attributes:
        stage: What it does, such as "library" or "model finding".
        order: The order of the tables it tries, if they have one order.
        tried: How many units of `unit` this search has tried in this stage.
        unit: What is counted.
        no_model_up_to: No table of this order or below refutes the pair; this is proved.
    """

    stage: str
    order: int | None
    tried: int
    unit: Unit
    no_model_up_to: int

    def __str__(self) -> str:
        order = "" if self.order is None else f", order {self.order}"
        return f"{self.stage}{order}: {self.tried} {self.unit}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a search.

    Attributes:
        refutation: The counterexample, checked; None if none was found.
        method: What found it, in words.
        seconds: The time that this search worked, waiting for others not included.
        no_model_up_to: No table of this order or below refutes the pair; this is proved.
        reason: Why the search ended. "exhausted" means that all methods ran to their end; unless `implied_because`
            is set, this says nothing about the truth of the implication.
        implied_because: Set when law 1 plainly implies law 2, and says why.
        skipped_orders: Orders whose tables were not searched completely, since the clauses would be too many.
    """

    refutation: Refutation | None
    method: str | None
    seconds: float
    no_model_up_to: int
    reason: Reason
    implied_because: str | None = None
    skipped_orders: tuple[int, ...] = ()

    @property
    def is_smallest(self) -> bool:
        """Tell whether the counterexample is a table, and no smaller one exists."""
        from ekiden_magma import CayleyTable

        model = self.refutation.model if self.refutation else None
        return isinstance(model, CayleyTable) and model.order == self.no_model_up_to + 1

    @property
    def note(self) -> str:
        """Say in a sentence what the outcome means, and what could be tried next."""
        if self.refutation is not None:
            return (
                f"Law 1 does not imply law 2. Found by {self.method}; no smaller table exists."
                if (self.is_smallest)
                else f"Law 1 does not imply law 2. Found by {self.method}; a smaller table may exist."
            )
        if self.implied_because is not None:
            return f"No counterexample exists: {self.implied_because}."
        proved = (
            f"No table of order {self.no_model_up_to} or below refutes the pair. " if self.no_model_up_to > 1 else ""
        )
        skipped = (
            f"Order {', '.join(map(str, self.skipped_orders))} was too large to search completely. "
            if self.skipped_orders
            else ""
        )
        ending = {
            "time": "The time ran out; allow more time, or try to prove the implication.",
            "cancelled": "The search was cancelled.",
            "exhausted": "All methods ran to their end; raise max_order, or try to prove the implication.",
            "refuted": "",
        }[self.reason]
        return f"No counterexample found; this does not prove the implication. {proved}{skipped}{ending}"
