"""The list of all laws with a bounded number of operations, up to renaming variables and exchanging sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_magma import Law, Product, Term, Variable
from ekiden_magma.law import CANONICAL_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator


def all_laws(operations: int) -> list[Law]:
    """Return the laws with at most so many operations; 4,694 for four.

    Variables are named in order of first appearance, the side with fewer operations is the left one, and of the laws
    whose two sides are the same only `x = x` is kept.
    """
    laws: list[Law] = []
    for total in range(operations + 1):
        for left in range(total // 2 + 1):
            laws.extend(_laws(left, total - left))
    return laws


def _laws(left: int, right: int) -> Iterator[Law]:
    for left_shape in _shapes(left):
        for right_shape in _shapes(right):
            for names in _patterns(left + right + 2):
                law = Law(_fill(left_shape, names[: left + 1]), _fill(right_shape, names[left + 1 :]))
                if law.left == law.right:
                    if left == 0:
                        yield law
                elif left < right or _key(law) <= _key(law.swapped().canonical()):
                    yield law


_Shape = tuple["_Shape", "_Shape"] | None


def _shapes(operations: int) -> Iterator[_Shape]:
    """Yield the binary trees with so many inner nodes."""
    if operations == 0:
        yield None
    for left in range(operations):
        for left_shape in _shapes(left):
            for right_shape in _shapes(operations - 1 - left):
                yield left_shape, right_shape


def _patterns(leaves: int, used: int = 0) -> Iterator[str]:
    """Yield the ways to name leaves such that names appear in their order."""
    if leaves == 0:
        yield ""
        return
    for name in range(used + 1):
        for rest in _patterns(leaves - 1, max(used, name + 1)):
            yield CANONICAL_NAMES[name] + rest


def _fill(shape: _Shape, names: str) -> Term:
    if shape is None:
        return Variable(names)
    left, right = shape
    middle = _leaves(left)
    return Product(_fill(left, names[:middle]), _fill(right, names[middle:]))


def _leaves(shape: _Shape) -> int:
    return 1 if shape is None else _leaves(shape[0]) + _leaves(shape[1])


def _key(law: Law) -> tuple[str, str]:
    return str(law.left), str(law.right)
