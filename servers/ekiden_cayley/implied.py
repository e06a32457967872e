"""Implications that are seen at a glance, so that no counterexample is looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_magma import Product, Term, Variable
from ekiden_magma.term import variables

if TYPE_CHECKING:
    from ekiden_magma import Law


def obvious_implication(law1: Law, law2: Law) -> str | None:
    """Say why law 1 plainly implies law 2, as the end of the sentence "No counterexample exists: ..."; or return None.

    None says nothing: most implications are not plain.
    """
    if law2.left == law2.right:
        return "both sides of law 2 are the same term"
    for side, other in ((law1.left, law1.right), (law1.right, law1.left)):
        if isinstance(side, Variable) and side.name not in variables(other):
            return f"law 1 makes every two elements equal, since {side.name!r} occurs on one side only"
    left, right = law2.left, law2.right
    while True:
        if _is_instance(law1, left, right) or _is_instance(law1, right, left):
            return "law 2 is an instance of law 1"
        if not (isinstance(left, Product) and isinstance(right, Product)):
            return None
        if left.left == right.left:
            left, right = left.right, right.right
        elif left.right == right.right:
            left, right = left.left, right.left
        else:
            return None


def _is_instance(law: Law, left: Term, right: Term) -> bool:
    images: dict[str, Term] = {}
    return _match(law.left, left, images) and _match(law.right, right, images)


def _match(pattern: Term, term: Term, images: dict[str, Term]) -> bool:
    if isinstance(pattern, Variable):
        return images.setdefault(pattern.name, term) == term
    return (
        isinstance(term, Product)
        and _match(pattern.left, term.left, images)
        and _match(pattern.right, term.right, images)
    )
