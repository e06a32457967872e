"""Equational laws `left = right`, quantified over all their variables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ekiden_magma import term as terms
from ekiden_magma.term import Term, Variable

if TYPE_CHECKING:
    from collections.abc import Mapping

CANONICAL_NAMES = "xyzwuvrstabcdefghijklmnopq"


@dataclass(frozen=True)
class Law:
    """The law `left = right` for all values of its variables.

    Two laws are equal when their texts are: `x = y` and `y = x` differ until both are `canonical`.
    """

    left: Term
    right: Term

    def __str__(self) -> str:
        return f"{self.left} = {self.right}"

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The variables in order of first appearance, left side first.

        This is the order in which a proof applies the law to arguments.
        """
        return tuple(dict.fromkeys(terms.variables(self.left) + terms.variables(self.right)))

    @cached_property
    def operations(self) -> int:
        """The number of operation signs on both sides."""
        return terms.operations(self.left) + terms.operations(self.right)

    def canonical(self) -> Law:
        """Rename the variables to x, y, z, w, u, v, r, ... in order of first appearance."""
        names = dict(zip(self.variables, CANONICAL_NAMES, strict=False))
        return self.substitute({old: Variable(new) for old, new in names.items()})

    def dual(self) -> Law:
        """Mirror every product: a table satisfies a law exactly if its transpose satisfies the dual."""
        return Law(terms.dual(self.left), terms.dual(self.right))

    def swapped(self) -> Law:
        """Exchange the two sides."""
        return Law(self.right, self.left)

    def substitute(self, images: Mapping[str, Term]) -> Law:
        """Replace variables by terms on both sides, all at once."""
        return Law(terms.substitute(self.left, images), terms.substitute(self.right, images))
