"""Equational proofs in Coq: the steps as data, replayed by the verified checker of the theory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_magma.coq_terms import InCoq, as_data, in_list, letter, numbered

if TYPE_CHECKING:
    from ekiden_magma.certificate import EquationalProof, Lemma, Step
    from ekiden_magma.law import Law

_TURNS = {"l": "L", "r": "R"}


def proof_in_coq(number: int, proof: EquationalProof) -> InCoq:
    """Print a proof."""
    law1, law2 = proof.law1, proof.law2
    replay = f"proves_all [premise{number}] lemmas{number} goal{number} steps{number}"
    sentences = [
        f"Definition premise{number} : rule := {_rule(law1)}.",
        f"Definition goal{number} : rule := {_rule(law2)}.",
        f"Definition lemmas{number} : list (rule * list step) :=\n  {_lines(list(map(_lemma, proof.lemmas)))}.",
        f"Definition steps{number} : list step :=\n  {_steps(law2, proof.steps)}.",
        f"Definition done{number} : {replay} = true :=\n  (eq_refl true <: {replay} = true).",
    ]
    instance = " ".join(f"(v {k})" for k in range(len(law1.variables)))
    letters = [letter(name) for name in law2.variables]
    values = f"(entry {letters[0]} {in_list(letters)})"
    term = (
        f"fun G op law {' '.join(letters)} => proved_by done{number} op (fun v : nat -> G => law {instance}) {values}"
    )
    return InCoq(sentences, term)


def _rule(law: Law) -> str:
    numbers = numbered(law)
    return f"Rule {len(numbers)} {as_data(law.left, numbers)} {as_data(law.right, numbers)}"


def _lemma(lemma: Lemma) -> str:
    return f"({_rule(lemma.law)}, {_steps(lemma.law, lemma.steps)})"


def _steps(goal: Law, steps: tuple[Step, ...]) -> str:
    numbers = numbered(goal)
    return _lines([_step(step, numbers) for step in steps])


def _step(step: Step, numbers: dict[str, int]) -> str:
    terms = in_list([as_data(term, numbers) for term in step.arguments])
    path = in_list([_TURNS[turn] for turn in step.path])
    return f"Step {step.rule} {terms} {path} {'Backward' if step.reverse else 'Forward'}"


def _lines(items: list[str]) -> str:
    """Print a list, one line an entry, in pieces: Coq reads a very long list only slowly."""
    pieces = ["[" + ";\n   ".join(items[k : k + 100]) + "]" for k in range(0, len(items), 100)]
    return "\n  ++ ".join(pieces) or "nil"
