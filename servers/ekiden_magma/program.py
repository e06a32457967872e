"""Laws as straight-line programs: the form that fast evaluators and SAT encoders read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ekiden_magma.term import Term, Variable

if TYPE_CHECKING:
    from ekiden_magma.law import Law


@dataclass(frozen=True, slots=True)
class StraightLine:
    """A law as a list of products over numbered slots; equal subterms share a slot.

    Slots 0, ..., `variables` - 1 hold the variables in the order of `Law.variables`; step k fills slot
    `variables` + k with the product of two earlier slots.

    Attributes:
        variables: The number of variables.
        steps: The slots of the two arguments of each product.
        left: The slot that holds the left side.
        right: The slot that holds the right side.
    """

    variables: int
    steps: tuple[tuple[int, int], ...]
    left: int
    right: int


@lru_cache(maxsize=65536)
def straight_line(law: Law) -> StraightLine:
    """Compile a law to a straight-line program with shared subterms."""
    slots: dict[Term, int] = {Variable(name): slot for slot, name in enumerate(law.variables)}
    steps: list[tuple[int, int]] = []

    def slot_of(term: Term) -> int:
        known = slots.get(term)
        if known is None:
            assert not isinstance(term, Variable)
            steps.append((slot_of(term.left), slot_of(term.right)))
            known = slots[term] = len(law.variables) + len(steps) - 1
        return known

    left, right = slot_of(law.left), slot_of(law.right)
    return StraightLine(len(law.variables), tuple(steps), left, right)
