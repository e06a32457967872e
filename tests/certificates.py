"""Certificates of our own making, the same ones for the same seed: for tests and benchmarks of judges."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

from ekiden_judge import Problem
from ekiden_judge.checker import CheckItem
from ekiden_magma import (
    CayleyTable,
    EquationalProof,
    Law,
    Lemma,
    Product,
    Refutation,
    Step,
    Term,
    Variable,
    lean_answer,
)
from ekiden_magma.natural import named_models

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ekiden_magma import Certificate

_NAMES = "xyz"
_LONGEST = 300


class Place(NamedTuple):
    """A way to rewrite a term: by a rule, in a direction, at a path, with what the variables become."""

    rule: int
    reverse: bool
    path: str
    images: dict[str, Term]


def refutations(count: int, seed: int, *, orders: Sequence[int] = (2, 3, 4, 5, 6, 7, 8)) -> list[Refutation]:
    """Return refutations by random affine tables of these orders in turn, and every tenth by an infinite magma.

    Each is made from its magma: a law that holds in it, found by trying random ones, and another that does not.
    """
    random = Random(seed)
    infinite = list(named_models().values())
    found: list[Refutation] = []
    while len(found) < count:
        number = len(found)
        model = (
            infinite[number // 10 % len(infinite)] if number % 10 == 9 else _table(random, orders[number % len(orders)])
        )
        law1 = next((law for law in _laws(random, 400) if law.left != law.right and model.satisfies(law)), None)
        law2 = next((law for law in _laws(random, 400) if not model.satisfies(law)), None)
        if law1 is not None and law2 is not None:
            assignment = model.counterexample(law2)
            assert assignment is not None
            found.append(Refutation(law1, law2, model, assignment))
    return found


def _table(random: Random, order: int) -> CayleyTable:
    a, b, c = (random.randrange(order) for _ in range(3))
    return CayleyTable.from_flat([(a * i + b * j + c) % order for i in range(order) for j in range(order)])


def _laws(random: Random, count: int) -> Iterator[Law]:
    return (_law(random, random.randint(1, 4)) for _ in range(count))


def equational_proofs(count: int, seed: int, *, steps: int = 8) -> list[EquationalProof]:
    """Return proofs by random rewriting, some with a lemma; none of them is trivial."""
    random = Random(seed)
    found: list[EquationalProof] = []
    while len(found) < count:
        law1 = _law(random, 3)
        rules, lemmas = [law1], list[Lemma]()
        for _ in range(random.randint(0, 1)):
            law, derivation = _derivation(random, rules, steps)
            lemmas.append(Lemma(law, derivation))
            rules.append(law)
        law2, derivation = _derivation(random, rules, steps)
        if derivation and law2.left != law2.right:
            found.append(EquationalProof(law1, law2, derivation, tuple(lemmas)))
    return found


def item(number: int, certificate: Certificate) -> CheckItem:
    """Return the printed certificate as an answer to its own question."""
    claim = "true" if isinstance(certificate, EquationalProof) else "false"
    return CheckItem(problem(number, certificate), claim, lean_answer(certificate))


def problem(number: int, certificate: Certificate) -> Problem:
    """Return the question that a certificate answers."""
    law1, law2 = str(certificate.law1), str(certificate.law2)
    return Problem(id=f"made-{number}", eq1_id=0, eq2_id=0, equation1=law1, equation2=law2)


def _law(random: Random, operations: int) -> Law:
    split = random.randint(0, operations)
    return Law(_term(random, split), _term(random, operations - split))


def _term(random: Random, operations: int) -> Term:
    if operations == 0:
        return Variable(random.choice(_NAMES))
    left = random.randint(0, operations - 1)
    return Product(_term(random, left), _term(random, operations - 1 - left))


def _derivation(random: Random, rules: list[Law], steps: int) -> tuple[Law, tuple[Step, ...]]:
    start = term = _term(random, random.randint(1, 4))
    fillers = [Variable(name) for name in dict.fromkeys(sign for sign in str(start) if sign in _NAMES)]
    taken: list[Step] = []
    for _ in range(random.randint(1, steps)):
        places = list(_places(rules, term))
        if not places:
            break
        place = random.choice(places)
        rule = rules[place.rule]
        arguments = tuple(place.images.get(name) or random.choice(fillers) for name in rule.variables)
        instance = rule.substitute(dict(zip(rule.variables, arguments, strict=True)))
        rewritten = put(term, place.path, instance.left if place.reverse else instance.right)
        if len(str(rewritten)) > _LONGEST:
            break
        taken.append(Step(place.rule, arguments, place.path, place.reverse))
        term = rewritten
    return Law(start, term), tuple(taken)


def _places(rules: list[Law], term: Term) -> Iterator[Place]:
    for number, rule in enumerate(rules):
        for reverse, source in ((False, rule.left), (True, rule.right)):
            for path, subterm in occurrences(term):
                images: dict[str, Term] = {}
                if match(source, subterm, images):
                    yield Place(number, reverse, path, images)


def occurrences(term: Term, path: str = "") -> Iterator[tuple[str, Term]]:
    yield path, term
    if isinstance(term, Product):
        yield from occurrences(term.left, path + "l")
        yield from occurrences(term.right, path + "r")


def match(pattern: Term, term: Term, images: dict[str, Term]) -> bool:
    """Extend `images` so that the pattern becomes the term; tell whether that is possible."""
    if isinstance(pattern, Variable):
        return images.setdefault(pattern.name, term) == term
    return (
        isinstance(term, Product)
        and match(pattern.left, term.left, images)
        and match(pattern.right, term.right, images)
    )


def put(term: Term, path: str, image: Term) -> Term:
    if not path:
        return image
    assert isinstance(term, Product)
    if path[0] == "l":
        return Product(put(term.left, path[1:], image), term.right)
    return Product(term.left, put(term.right, path[1:], image))
