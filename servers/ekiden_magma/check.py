"""The checker of certificates: small, and independent of everything that finds or prints them.

Terms are checked as words in Polish notation (`x ◇ (y ◇ z)` is `*x*yz`), so that substitution, comparison and rewriting
are operations on text, without recursion, and with a size known before anything large is built.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ekiden_magma.certificate import Certificate, EquationalProof, Refutation, Step
from ekiden_magma.errors import CertificateError, CertificateLimitError, MagmaError, shown
from ekiden_magma.natural import ResidueModel
from ekiden_magma.program import straight_line
from ekiden_magma.term import Product, Term

if TYPE_CHECKING:
    from ekiden_magma.law import Law

MAX_SYMBOLS = 4_000
MAX_STEPS = 10_000
MAX_PRODUCTS = 50_000_000


def check(certificate: Certificate) -> None:
    """Check that a certificate shows what it claims. The work is bounded.

    Raises:
        CertificateLimitError: It is too large to be checked.
        CertificateError: It does not show what it claims; the message says where and why.
    """
    if isinstance(certificate, Refutation):
        _check_refutation(certificate)
    else:
        _check_proof(certificate)


def _check_refutation(refutation: Refutation) -> None:
    law1, law2, model, assignment = refutation.law1, refutation.law2, refutation.model, refutation.assignment
    if assignment.keys() != set(law2.variables):
        raise CertificateError(
            f"The assignment is for {shown(sorted(assignment))}, "
            f"but the variables of law 2 are {', '.join(law2.variables)}."
        )
    if not isinstance(model, ResidueModel):
        products = model.order ** len(law1.variables) * max(1, len(straight_line(law1).steps))
        if products > MAX_PRODUCTS:
            raise CertificateLimitError(
                f"Checking law 1 takes {products} products; at most {MAX_PRODUCTS} are computed."
            )
    try:
        left, right = model.evaluate(law2, assignment)
    except MagmaError as error:
        raise CertificateError(f"The assignment does not fit the model: {error}") from error
    if left == right:
        raise CertificateError(f"Law 2 holds under {shown(assignment)}: both sides are {shown(left)}.")
    try:
        broken = model.counterexample(law1)
    except MagmaError as error:
        raise CertificateLimitError(f"Law 1 cannot be decided in the model: {error}") from error
    if broken is not None:
        left, right = model.evaluate(law1, broken)
        raise CertificateError(
            f"Law 1 fails in the model: under {shown(broken)} its sides are {shown(left)} and {shown(right)}."
        )


class _Rule(NamedTuple):
    name: str
    variables: tuple[str, ...]
    left: str
    right: str


def _check_proof(proof: EquationalProof) -> None:
    if len(proof.steps) + sum(len(lemma.steps) for lemma in proof.lemmas) > MAX_STEPS:
        raise CertificateLimitError(f"The proof has more than {MAX_STEPS} steps.")
    rules = [_rule("law 1", proof.law1)]
    for number, lemma in enumerate(proof.lemmas, start=1):
        rule = _rule(f"lemma {number}", lemma.law)
        _check_steps(rule, lemma.steps, rules)
        rules.append(rule)
    _check_steps(_rule("law 2", proof.law2), proof.steps, rules)


def _rule(name: str, law: Law) -> _Rule:
    return _Rule(name, law.variables, _word(law.left, name), _word(law.right, name))


def _check_steps(goal: _Rule, steps: tuple[Step, ...], rules: list[_Rule]) -> None:
    word = goal.left
    for number, step in enumerate(steps, start=1):
        word = _rewritten(word, step, f"Step {number} for {goal.name}", goal.variables, rules)
    if word != goal.right:
        raise CertificateError(
            f"The {len(steps)} steps for {goal.name} lead from its left side to {_infix(word)}, "
            f"not to its right side {_infix(goal.right)}."
        )


def _rewritten(word: str, step: Step, where: str, variables: tuple[str, ...], rules: list[_Rule]) -> str:
    if not 0 <= step.rule < len(rules):
        raise CertificateError(f"{where} uses rule {step.rule}; only rules 0..{len(rules) - 1} are known here.")
    rule = rules[step.rule]
    if len(step.arguments) != len(rule.variables):
        raise CertificateError(
            f"{where} gives {len(step.arguments)} terms to {rule.name}, "
            f"which has {len(rule.variables)} variables: {', '.join(rule.variables)}."
        )
    images = {name: _word(term, where) for name, term in zip(rule.variables, step.arguments, strict=True)}
    if foreign := sorted(set("".join(images.values())) - {"*", *variables}):
        raise CertificateError(f"{where} uses the variable {foreign[0]!r}; only {', '.join(variables)} are known here.")
    source, target = (rule.right, rule.left) if step.reverse else (rule.left, rule.right)
    start, end = _subterm(word, step.path, where)
    for side in (source, target):
        size = sum(len(images.get(sign, sign)) for sign in side)
        if size + len(word) > MAX_SYMBOLS:
            raise CertificateLimitError(f"{where} makes terms of more than {MAX_SYMBOLS} symbols.")
    expected = _substituted(source, images)
    if word[start:end] != expected:
        raise CertificateError(
            f"{where} expects {_infix(expected)} at {step.path!r} ({rule.name}, {'right' if step.reverse else 'left'} "
            f"side), but finds {_infix(word[start:end])} there."
        )
    return word[:start] + _substituted(target, images) + word[end:]


def _word(term: Term, where: str) -> str:
    """Write a term in Polish notation."""
    signs: list[str] = []
    waiting = [term]
    while waiting:
        if len(signs) + len(waiting) > MAX_SYMBOLS:
            raise CertificateLimitError(f"{where} holds a term of more than {MAX_SYMBOLS} symbols.")
        here = waiting.pop()
        if isinstance(here, Product):
            signs.append("*")
            waiting += (here.right, here.left)
        elif re.fullmatch("[a-z]", here.name):
            signs.append(here.name)
        else:
            raise CertificateError(f"{where} names a variable {here.name!r}; variables are single lower-case letters.")
    return "".join(signs)


def _substituted(word: str, images: dict[str, str]) -> str:
    return "".join(images.get(sign, sign) for sign in word)


def _end(word: str, start: int) -> int:
    """Return the end of the term that starts at `start`."""
    open_arguments = 1
    while open_arguments:
        open_arguments += 1 if word[start] == "*" else -1
        start += 1
    return start


def _subterm(word: str, path: str, where: str) -> tuple[int, int]:
    """Return start and end of the subterm at a path."""
    start = 0
    for depth, turn in enumerate(path):
        if turn not in ("l", "r"):
            raise CertificateError(f"{where} has the path {path[:80]!r}; a path is a word of the letters l and r.")
        if word[start] != "*":
            raise CertificateError(f"{where} has the path {path[:80]!r}, but {path[:depth]!r} leads to a variable.")
        start = start + 1 if turn == "l" else _end(word, start + 1)
    return start, _end(word, start)


def _infix(word: str) -> str:
    """Write a word in the usual notation, for messages."""
    if len(word) > 200:
        return f"a term of {len(word)} symbols"
    stack: list[str] = []
    for sign in reversed(word):
        stack.append(f"({stack.pop()} ◇ {stack.pop()})" if sign == "*" else sign)
    text = stack.pop()
    return repr(text[1:-1] if text.startswith("(") else text)
