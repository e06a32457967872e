"""Writing down a known chain of terms as the steps of a proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_magma.certificate import Step
from ekiden_magma.errors import MagmaError
from ekiden_magma.term import Product, Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_magma.law import Law


def steps_along(
    rules: Sequence[Law], terms: Sequence[Term], instances: Sequence[tuple[int, tuple[Term, ...]]]
) -> tuple[Step, ...]:
    """Find place and direction of the rewriting between each two neighbours in a chain of terms.

    Args:
        rules: Law 1, then the lemmas.
        terms: The chain, one longer than `instances`.
        instances: For each two neighbours the number of the rule, and the terms put for its variables.

    Raises:
        MagmaError: Two neighbours are not one rewriting by the instance apart.
    """
    if len(terms) != len(instances) + 1:
        raise MagmaError(f"A chain of {len(instances)} instances has {len(instances) + 1} terms; found {len(terms)}.")
    steps: list[Step] = []
    for number, (rule, arguments) in enumerate(instances, start=1):
        step = _step_between(rules[rule], rule, arguments, terms[number - 1], terms[number])
        if step is None:
            raise MagmaError(f"Step {number} of the chain is not one rewriting by the given instance of rule {rule}.")
        steps.append(step)
    return tuple(steps)


def _step_between(law: Law, rule: int, arguments: tuple[Term, ...], before: Term, after: Term) -> Step | None:
    instance = law.substitute(dict(zip(law.variables, arguments, strict=True)))
    path = ""
    while True:
        if (instance.left, instance.right) == (before, after):
            return Step(rule, arguments, path)
        if (instance.right, instance.left) == (before, after):
            return Step(rule, arguments, path, reverse=True)
        if not isinstance(before, Product) or not isinstance(after, Product):
            return None
        if before.right == after.right:
            path, before, after = path + "l", before.left, after.left
        elif before.left == after.left:
            path, before, after = path + "r", before.right, after.right
        else:
            return None
