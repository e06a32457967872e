"""Proofs that need no search: law 2 is an instance of law 1, or law 1 makes all elements equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_magma import term as terms
from ekiden_magma.certificate import EquationalProof
from ekiden_magma.chain import steps_along
from ekiden_magma.term import Product, Term, Variable

if TYPE_CHECKING:
    from ekiden_magma.law import Law


def direct_proof(law1: Law, law2: Law) -> EquationalProof | None:
    """Return a proof that law 1 implies law 2 in at most two steps, or None if there is none that needs no search."""
    left, right = law2.left, law2.right
    if left == right:
        return EquationalProof(law1, law2, ())
    for law in (law1, law1.swapped()):
        images: dict[str, Term] = {}
        if _matches(law.left, left, images) and _matches(law.right, right, images):
            arguments = tuple(images[name] for name in law1.variables)
            return EquationalProof(law1, law2, steps_along([law1], [left, right], [(0, arguments)]))
    lonely = _lonely_variable(law1)
    if lonely is None:
        return None
    # Any term equals the other side, whatever stands for the other variables: one and the same for both terms here.
    others = Variable(law2.variables[0])
    ends = [tuple(end if name == lonely else others for name in law1.variables) for end in (left, right)]
    other_side = law1.right if law1.left == Variable(lonely) else law1.left
    middle = terms.substitute(other_side, dict(zip(law1.variables, ends[0], strict=True)))
    return EquationalProof(law1, law2, steps_along([law1], [left, middle, right], [(0, ends[0]), (0, ends[1])]))


def _lonely_variable(law: Law) -> str | None:
    """Return the variable that is one side of a law and does not occur on the other, or None."""
    for side, other in ((law.left, law.right), (law.right, law.left)):
        if isinstance(side, Variable) and side.name not in terms.variables(other):
            return side.name
    return None


def _matches(pattern: Term, term: Term, images: dict[str, Term]) -> bool:
    """Tell whether a term is a pattern with terms put for its variables, and note these."""
    if isinstance(pattern, Variable):
        return images.setdefault(pattern.name, term) == term
    return (
        isinstance(term, Product)
        and _matches(pattern.left, term.left, images)
        and _matches(pattern.right, term.right, images)
    )
