"""What a law forces in finite magmas beyond what it says: lines of the table that are permutations.

In a finite magma a map is onto exactly if it is one to one. From `x = t ◇ s`, where the term t does not mention x,
multiplying by a value of t on the left is onto, so it is a permutation, and `s` as a function of x is its inverse: the
law with `t ◇ x` put for x in s, `x = s[x := t ◇ x]`, holds as well. The mirror image holds for `x = s ◇ t`.
"""

from __future__ import annotations

from typing import NamedTuple

from ekiden_magma import Law, Product, Term, Variable
from ekiden_magma.term import operations, substitute, subterms, variables

MAX_DERIVED = 24


class PermutedLines(NamedTuple):
    """Which lines of every finite table of a law are permutations."""

    rows: bool
    columns: bool


def permuted_lines(law: Law) -> PermutedLines:
    """Derive which lines are permutations in every finite magma that satisfies the law.

    The answer errs on the side of "no".
    """
    rows = columns = False
    for name, term in _derived(law):
        if isinstance(term.left, Variable) and term.left.name != name:
            rows = True
        if isinstance(term.right, Variable) and term.right.name != name:
            columns = True
        left, right = _one_to_one(name, term)
        rows, columns = rows or right, columns or left
        if rows and columns:
            break
    return PermutedLines(rows, columns)


def _derived(law: Law) -> list[tuple[str, Product]]:
    """The law as `variable = product`, and what follows from it in finite magmas, smallest steps first."""
    found: dict[tuple[str, Product], None] = {}
    for side, other in ((law.left, law.right), (law.right, law.left)):
        if isinstance(side, Variable) and isinstance(other, Product):
            found[side.name, other] = None
    bound = 2 * law.operations + 4
    queue = list(found)
    for name, term in queue:
        for factor, rest, swap in ((term.left, term.right, False), (term.right, term.left, True)):
            if name in variables(factor) or len(found) >= MAX_DERIVED:
                continue
            image = Product(Variable(name), factor) if swap else Product(factor, Variable(name))
            derived = substitute(rest, {name: image})
            if isinstance(derived, Product) and operations(derived) <= bound and (name, derived) not in found:
                found[name, derived] = None
                queue.append((name, derived))
    return queue


def _one_to_one(name: str, term: Term) -> tuple[bool, bool]:
    """Tell whether x occurs only inside `x ◇ y`, or only inside `y ◇ x`, for one variable y other than x."""
    total = sum(part == Variable(name) for part in subterms(term))
    left = right = False
    for other in variables(term):
        if other != name:
            parts = list(subterms(term))
            left = left or parts.count(Product(Variable(name), Variable(other))) == total > 0
            right = right or parts.count(Product(Variable(other), Variable(name))) == total > 0
    return left, right
