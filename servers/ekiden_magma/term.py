"""Terms over one binary operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

OPERATOR = "◇"


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, named by one lower-case letter."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Product:
    """The product `left ◇ right`."""

    left: Term
    right: Term

    def __str__(self) -> str:
        return f"{_operand(self.left)} {OPERATOR} {_operand(self.right)}"


Term = Variable | Product


def _operand(term: Term) -> str:
    return f"({term})" if isinstance(term, Product) else term.name


def subterms(term: Term) -> Iterator[Term]:
    """Yield every occurrence of a subterm, arguments before products, left before right."""
    if isinstance(term, Product):
        yield from subterms(term.left)
        yield from subterms(term.right)
    yield term


def variables(term: Term) -> tuple[str, ...]:
    """Return the variables of a term in order of first appearance."""
    return tuple(dict.fromkeys(t.name for t in subterms(term) if isinstance(t, Variable)))


def operations(term: Term) -> int:
    """Count the operation signs of a term."""
    return sum(isinstance(t, Product) for t in subterms(term))


def substitute(term: Term, images: Mapping[str, Term]) -> Term:
    """Replace variables by terms, all at once; variables without an image stay."""
    if isinstance(term, Variable):
        return images.get(term.name, term)
    return Product(substitute(term.left, images), substitute(term.right, images))


def dual(term: Term) -> Term:
    """Mirror a term: every `a ◇ b` becomes `b ◇ a`."""
    if isinstance(term, Variable):
        return term
    return Product(dual(term.right), dual(term.left))
