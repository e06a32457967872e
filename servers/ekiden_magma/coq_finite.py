"""Refutations by Cayley tables in Coq: a type with one constructor an element, and a check of all assignments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_magma.coq_terms import InCoq, applied, equation, letter, universal
from ekiden_magma.errors import CertificateError, shown

if TYPE_CHECKING:
    from ekiden_magma.certificate import Refutation
    from ekiden_magma.law import Law
    from ekiden_magma.table import CayleyTable


def order_text(order: int) -> str:
    """Print the type of the finite magmas of an order, with its list of elements."""
    elements = [_element(order, k) for k in range(order)]
    places = "".join(f"\n  | {element} => {k}" for k, element in enumerate(elements))
    listed = "".join(f"\n  | {element} => eq_refl" for element in elements)
    found = f"element_at all{order} (place{order} x) = Some x"
    return (
        f"Inductive F{order} : Set := {' | '.join(elements)}.\n"
        f"Definition all{order} : list F{order} := {_cons(elements)}.\n"
        f"Definition place{order} (x : F{order}) : nat :=\n  match x with{places}\n  end.\n"
        f"Definition listed{order} (x : F{order}) : {found} :=\n  match x with{listed}\n  end.\n"
    )


def table_in_coq(number: int, refutation: Refutation, table: CayleyTable) -> InCoq:
    """Print a refutation by a table.

    Raises:
        CertificateError: The assignment is not one of elements to the variables of law 2.
    """
    order, law1, law2 = table.order, refutation.law1, refutation.law2
    values = _values(refutation, order)
    rows = "".join(
        f"\n  | {_element(order, i)} => match y with "
        + " | ".join(f"{_element(order, j)} => {_element(order, cell)}" for j, cell in enumerate(row))
        + " end"
        for i, row in enumerate(table.rows)
    )
    operation = f"op{number}"
    test = _equality(law1, order, operation, {})
    for name in reversed(law1.variables):
        test = f"every all{order} (fun {letter(name)} => {test})"
    holds = "passed"
    for name in law1.variables:
        holds = f"(for_all listed{order} {holds} {letter(name)})"
    broken = _equality(law2, order, operation, values)
    sentences = [
        f"Definition {operation} (x y : F{order}) : F{order} :=\n  match x with{rows}\n  end.",
        f"Definition law{number} : {universal(law1, f'F{order}', operation)} :=\n"
        f"  let passed :=\n    (eq_refl true <: {test} = true) in\n"
        f"  fun {' '.join(law1.variables)} => equal_places listed{order} {holds}.",
        f"Definition fails{number} : ~ ({universal(law2, f'F{order}', operation)}) :=\n"
        f"  fun law => different_places place{order}\n    (eq_refl false <: {broken} = false)\n"
        f"    (law {' '.join(values.values())} : {equation(law2, operation, values)}).",
    ]
    return InCoq(sentences, f"@ex_intro Type _ F{order} (ex_intro _ {operation} (conj law{number} fails{number}))")


def _values(refutation: Refutation, order: int) -> dict[str, str]:
    assignment, variables = refutation.assignment, refutation.law2.variables
    if assignment.keys() != set(variables):
        raise CertificateError(
            f"The assignment is for {shown(sorted(assignment))}, but the variables of law 2 are {', '.join(variables)}."
        )
    for name in variables:
        if not 0 <= assignment[name] < order:
            raise CertificateError(
                f"The variable {name!r} is {shown(assignment[name])}; it needs a value in 0..{order - 1}."
            )
    return {name: _element(order, assignment[name]) for name in variables}


def _equality(law: Law, order: int, operation: str, values: dict[str, str]) -> str:
    sides = (applied(side, operation, values) for side in (law.left, law.right))
    return "same_number " + " ".join(f"(place{order} {side})" for side in sides)


def _element(order: int, k: int) -> str:
    return f"e{order}_{k}"


def _cons(elements: list[str]) -> str:
    return "".join(f"(cons {element} " for element in elements) + "nil" + ")" * len(elements)
