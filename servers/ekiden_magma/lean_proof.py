"""Equational proofs as Lean tactic blocks that use only `Eq.trans`, `Eq.symm`, `congrArg` and `rfl`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ekiden_magma.term import Product, Term, Variable

if TYPE_CHECKING:
    from ekiden_magma.certificate import EquationalProof, Step
    from ekiden_magma.law import Law

HYPOTHESIS = "h"
HOLE = "t"


def equational_proof(proof: EquationalProof) -> str:
    """Print the tactic block that proves the goal, indented by two blanks."""
    derivations = [(lemma.law, lemma.steps) for lemma in proof.lemmas] + [(proof.law2, proof.steps)]
    letters = {letter for law, _ in derivations for letter in law.variables}
    names = ["h0" if HYPOTHESIS in letters else HYPOTHESIS, *(f"e{k}" for k in range(1, len(proof.lemmas) + 1))]
    rules = [proof.law1, *(lemma.law for lemma in proof.lemmas)]
    printer = _Printer(rules, names, "t0" if HOLE in letters else HOLE)
    needed = _needed_rules(proof)
    lines = [f"intro G _ {names[0] if 0 in needed else '_'}"]
    for number, lemma in enumerate(proof.lemmas, start=1):
        if number in needed:
            text = printer.derivation(lemma.law, lemma.steps)
            lines += [
                f"have {names[number]} : ∀ {' '.join(lemma.law.variables)} : G, {lemma.law} :=",
                f"  fun {_binders(lemma.law, text)} => {text}",
            ]
    text = printer.derivation(proof.law2, proof.steps)
    lines += [f"intro {_binders(proof.law2, text)}", f"exact {text}"]
    return "".join(f"  {line}\n" for line in lines)


def _needed_rules(proof: EquationalProof) -> set[int]:
    """Return the numbers of the rules that the proof uses, directly or through lemmas."""
    needed = {step.rule for step in proof.steps}
    for number in range(len(proof.lemmas), 0, -1):
        if number in needed:
            needed |= {step.rule for step in proof.lemmas[number - 1].steps}
    return needed


def _binders(law: Law, text: str) -> str:
    """Name the law's variables, but leave those nameless that the text does not use: Lean would warn."""
    used = set(re.findall(r"[\w']+", text))
    return " ".join(name if name in used else "_" for name in law.variables)


class _Printer:
    def __init__(self, rules: list[Law], names: list[str], hole: str) -> None:
        self._rules = rules
        self._names = names
        self._hole = hole

    def derivation(self, law: Law, steps: tuple[Step, ...]) -> str:
        """Print a term that proves `left = right` by the steps."""
        term = law.left
        links: list[str] = []
        for step in steps:
            rule = self._rules[step.rule]
            instance = rule.substitute(dict(zip(rule.variables, step.arguments, strict=True)))
            link = f"{self._names[step.rule]} {' '.join(_atom(argument) for argument in step.arguments)}"
            if step.reverse:
                link = f"Eq.symm ({link})"
            if step.path:
                context = _replaced(term, step.path, Variable(self._hole))
                link = f"congrArg (fun {self._hole} : G => {context}) ({link})"
            links.append(link)
            term = _replaced(term, step.path, instance.left if step.reverse else instance.right)
        return _chain(links) if links else "rfl"


def _chain(links: list[str]) -> str:
    """Join proofs by transitivity; halving keeps the nesting shallow."""
    if len(links) == 1:
        return links[0]
    half = len(links) // 2
    return f"Eq.trans ({_chain(links[:half])}) ({_chain(links[half:])})"


def _atom(term: Term) -> str:
    return f"({term})" if isinstance(term, Product) else str(term)


def _replaced(term: Term, path: str, image: Term) -> Term:
    """Put an image in the place of the subterm at a path."""
    spine: list[tuple[Product, str]] = []
    for turn in path:
        assert isinstance(term, Product)
        spine.append((term, turn))
        term = term.left if turn == "l" else term.right
    for above, turn in reversed(spine):
        image = Product(image, above.right) if turn == "l" else Product(above.left, image)
    return image
