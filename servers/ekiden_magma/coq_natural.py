"""Refutations by models over the naturals in Coq: law 1 is decided by the verified procedure of the theory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_magma.coq_terms import InCoq, applied, as_data, equation, in_list, numbered, universal
from ekiden_magma.errors import CertificateError, shown

if TYPE_CHECKING:
    from ekiden_magma.certificate import Refutation
    from ekiden_magma.natural import AffineRule, ResidueModel


def model_in_coq(number: int, refutation: Refutation, model: ResidueModel) -> InCoq:
    """Print a refutation by a model.

    Raises:
        CertificateError: The assignment is not one of naturals to the variables of law 2.
    """
    law1, law2, m = refutation.law1, refutation.law2, model.modulus
    values = _values(refutation)
    rows = [in_list([_rule(rule) for rule in model.rules[r * m : (r + 1) * m]]) for r in range(m)]
    operation, numbers = f"op{number}", numbered(law1)
    sides = " ".join(as_data(side, numbers) for side in (law1.left, law1.right))
    decided = f"decided {m} rules{number} {len(numbers)} {sides}"
    broken = " ".join(applied(side, operation, values) for side in (law2.left, law2.right))
    letters = " ".join(law1.variables)
    sentences = [
        f"Definition rules{number} : list (list affine) :=\n  {in_list(rows)}.",
        f"Definition {operation} (x y : N) : N := product {m} rules{number} x y.",
        f"Eval vm_compute in {decided}.",
        f"Definition done{number} : {decided} = Holds :=\n  (eq_refl Holds <: {decided} = Holds).",
        f"Definition law{number} (sound : decided_sound_statement)\n"
        f"    (op : N -> N -> N) (equal : forall x y : N, op x y = product {m} rules{number} x y) :\n"
        f"    {universal(law1, 'N', 'op')} :=\n"
        f"  fun {letters} => sound _ _ _ _ _ done{number} op equal {in_list(list(law1.variables))} eq_refl.",
        f"Definition fails{number} : ~ ({universal(law2, 'N', operation)}) :=\n"
        f"  fun law => unequal_numbers (eq_refl false <: N.eqb {broken} = false)\n"
        f"    (law {' '.join(values.values())} : {equation(law2, operation, values)}).",
    ]
    holds = f"law{number} sound {operation} (fun x y => eq_refl)"
    term = f"@ex_intro Type _ N (ex_intro _ {operation} (conj ({holds}) fails{number}))"
    return InCoq(sentences, term, theorem="decided_sound")


def _values(refutation: Refutation) -> dict[str, str]:
    assignment, variables = refutation.assignment, refutation.law2.variables
    if assignment.keys() != set(variables):
        raise CertificateError(
            f"The assignment is for {shown(sorted(assignment))}, but the variables of law 2 are {', '.join(variables)}."
        )
    for name in variables:
        if assignment[name] < 0:
            raise CertificateError(f"The variable {name!r} is {shown(assignment[name])}; it needs a natural number.")
    return {name: f"{assignment[name]}%N" for name in variables}


def _rule(rule: AffineRule) -> str:
    return f"Affine {rule.a} {rule.b} {max(rule.c, 0)} {max(-rule.c, 0)}"
