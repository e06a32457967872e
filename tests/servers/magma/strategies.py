"""Random laws, magmas, certificates, and an evaluation of laws that shares no code with the package's own."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from certificates import match, occurrences, put
from ekiden_magma import (
    AffineRule,
    CayleyTable,
    EquationalProof,
    Law,
    Lemma,
    Product,
    ResidueModel,
    Step,
    Term,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Point = dict[str, int]


def terms(max_leaves: int = 5, names: str = "xyz") -> st.SearchStrategy[Term]:
    leaves: st.SearchStrategy[Term] = st.sampled_from(names).map(Variable)
    return st.recursive(leaves, lambda inner: st.builds(Product, inner, inner), max_leaves=max_leaves)


def laws(max_leaves: int = 4, names: str = "xyz") -> st.SearchStrategy[Law]:
    return st.builds(Law, terms(max_leaves, names), terms(max_leaves, names))


def tables(min_order: int = 1, max_order: int = 4) -> st.SearchStrategy[CayleyTable]:
    def of_order(order: int) -> st.SearchStrategy[CayleyTable]:
        element = st.integers(0, order - 1)
        return st.lists(element, min_size=order**2, max_size=order**2).map(CayleyTable.from_flat)

    return st.integers(min_order, max_order).flatmap(of_order)


UNIT_FACTORS = ((0, 0), (0, 1), (1, 0))


def models(
    max_modulus: int = 3, factors: Sequence[tuple[int, int]] = (*UNIT_FACTORS, (1, 1), (2, 0), (1, 2)), most: int = 3
) -> st.SearchStrategy[ResidueModel]:
    rule = st.tuples(st.sampled_from(factors), st.integers(-most, most)).map(lambda r: AffineRule(*r[0], r[1]))
    return st.integers(1, max_modulus).flatmap(
        lambda m: st.lists(rule, min_size=m * m, max_size=m * m).map(lambda rules: ResidueModel(m, tuple(rules)))
    )


def value(term: Term, product: Callable[[int, int], int], point: Point) -> int:
    if isinstance(term, Variable):
        return point[term.name]
    return product(value(term.left, product, point), value(term.right, product, point))


def sides(law: Law, product: Callable[[int, int], int], point: Point) -> tuple[int, int]:
    return value(law.left, product, point), value(law.right, product, point)


def points(law: Law, size: int) -> Iterator[Point]:
    for values in itertools.product(range(size), repeat=len(law.variables)):
        yield dict(zip(law.variables, values, strict=True))


def holds_below(law: Law, product: Callable[[int, int], int], size: int) -> bool:
    """Tell by brute force whether a law holds for all values of its variables below `size`."""
    return all(left == right for left, right in (sides(law, product, point) for point in points(law, size)))


def holds_in(law: Law, table: CayleyTable) -> bool:
    return holds_below(law, lambda x, y: table.rows[x][y], table.order)


@st.composite
def derivations(draw: st.DrawFn, rules: Sequence[Law], names: str = "xyz") -> tuple[Law, tuple[Step, ...]]:
    """A law and steps that prove it: random rewriting of a random term by random instances of the rules."""
    start = term = draw(terms(5, names))
    known = list(dict.fromkeys(sign for sign in str(start) if sign in names))
    fillers = terms(2, "".join(known))
    steps: list[Step] = []
    for _ in range(draw(st.integers(0, 5))):
        choices: list[tuple[int, bool, str, dict[str, Term]]] = []
        for number, rule in enumerate(rules):
            for reverse, source in ((False, rule.left), (True, rule.right)):
                for path, subterm in occurrences(term):
                    images: dict[str, Term] = {}
                    if match(source, subterm, images):
                        choices.append((number, reverse, path, images))
        if not choices:
            break
        number, reverse, path, images = draw(st.sampled_from(choices))
        rule = rules[number]
        arguments = tuple(images[name] if name in images else draw(fillers) for name in rule.variables)
        instance = rule.substitute(dict(zip(rule.variables, arguments, strict=True)))
        rewritten = put(term, path, instance.left if reverse else instance.right)
        if len(str(rewritten)) > 400:
            break
        steps.append(Step(number, arguments, path, reverse))
        term = rewritten
    return Law(start, term), tuple(steps)


@st.composite
def proofs(draw: st.DrawFn) -> EquationalProof:
    names = draw(st.sampled_from(["xyz", "htx", "abe"]))
    law1 = draw(laws(4, names))
    rules, lemmas = [law1], list[Lemma]()
    for _ in range(draw(st.integers(0, 2))):
        law, steps = draw(derivations(rules, names))
        # Variables that only the left side has stay known; a law's own order is what its users follow.
        lemmas.append(Lemma(law, steps))
        rules.append(law)
    law2, steps = draw(derivations(rules, names))
    return EquationalProof(law1, law2, steps, tuple(lemmas))
