"""Refutations by models over the naturals, as Lean tactic blocks.

Two forms. When each rule moves one argument by a constant or is constant, the carrier is a sum of copies of `Nat`,
one for each residue (the number `m*k + r` is `k` in copy `r`). The operation is then a `match`, and law 1 is proved
by `rfl` on each of the cells in which `ResidueModel` decides it: no arithmetic, no axiom. Any other model is taken
as it is, as an operation on `Nat` known only by its defining equation, and `omega` does the arithmetic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_magma.term import Product, Term, Variable, subterms

if TYPE_CHECKING:
    from ekiden_magma.certificate import Refutation
    from ekiden_magma.law import Law
    from ekiden_magma.natural import AffineRule, Progression, ResidueModel

MAX_LEAN_CELLS = 1000


def natural_proof(refutation: Refutation, model: ResidueModel) -> str:
    """Print the tactic block that proves the goal, indented by two blanks.

    Raises:
        MagmaError: Law 1 needs too many cases in this model.
    """
    if all(rule.a + rule.b <= 1 for rule in model.rules):
        lines = _by_cells(refutation, model)
    else:
        lines = _by_arithmetic(refutation, model)
    return "".join(f"  {line}\n" for line in lines)


def _by_cells(refutation: Refutation, model: ResidueModel) -> list[str]:
    m = model.modulus
    carrier = "Nat"
    for _ in range(m - 1):
        carrier = f"Sum Nat ({carrier})" if " " in carrier else f"Sum Nat {carrier}"
    cases: list[str] = []
    for place, rule in enumerate(model.rules):
        r, s = divmod(place, m)
        left = _element(m, r, "k" if rule.a else "_")
        right = _element(m, s, "l" if rule.b else "_")
        cases.append(f"  | {left}, {right} => {_moved(m, rule, r, s)}")
    lines = [f"refine ⟨{carrier}, ⟨fun", *cases]
    lines[-1] += "⟩, ?_, ?_⟩"
    cells = list(model.cells(refutation.law1, max_cells=MAX_LEAN_CELLS))
    lines += ["· exact fun", *(f"    | {', '.join(_pattern(m, part) for part in cell)} => rfl" for cell in cells)]
    values = [refutation.assignment[name] for name in refutation.law2.variables]
    numbers = " ".join(_atom(_element(m, value % m, str(value // m))) for value in values)
    return [*lines, f"· exact fun h => absurd (h {numbers}) (by decide)"]


def _element(m: int, residue: int, quotient: str) -> str:
    """Print the element `m * quotient + residue`."""
    text = quotient if residue == m - 1 else f".inl {_atom(quotient)}"
    for _ in range(residue):
        text = f".inr {_atom(text)}"
    return text


def _atom(text: str) -> str:
    return text if text.isalnum() or text == "_" else f"({text})"


def _moved(m: int, rule: AffineRule, r: int, s: int) -> str:
    """Print the product of `m*k + r` and `m*l + s` under a rule that moves one of them, or none."""
    quotient, residue = divmod(rule.a * r + rule.b * s + rule.c, m)
    if not rule.a and not rule.b:
        value = max(0, rule.c)
        return _element(m, value % m, str(value // m))
    moving = "k" if rule.a else "l"
    if quotient >= 0:
        return _element(m, residue, f"Nat.add {moving} {quotient}" if quotient else moving)
    if residue == 0:
        return _element(m, 0, f"Nat.sub {moving} {-quotient}")
    least = f"Nat.sub {moving} {-quotient - 1}" if quotient < -1 else moving
    return f"(match {least} with | 0 => {_element(m, 0, '0')} | n+1 => {_element(m, residue, 'n')})"


def _pattern(m: int, part: Progression) -> str:
    """Print the pattern that the elements of a progression match."""
    low, step = part
    if step == 0:
        return _element(m, low % m, str(low // m))
    if step < m:
        return "_"
    return _element(m, low % m, f"_+{low // m}" if low >= m else "_")


def _by_arithmetic(refutation: Refutation, model: ResidueModel) -> list[str]:
    law1, law2, assignment = refutation.law1, refutation.law2, refutation.assignment
    lines = [
        *_operation(model),
        "refine ⟨Nat, ⟨op⟩, ?_, ?_⟩",
        f"· intro {' '.join(law1.variables)}",
        f"  show {_applied(law1.left)} = {_applied(law1.right)}",
    ]
    for number, product in enumerate(_products(law1)):
        lines.append(f"  have p{number} := hop {_argument(product.left)} {_argument(product.right)}")
    ground = law2.substitute({name: Variable(str(assignment[name])) for name in law2.variables})
    numbers = " ".join(str(assignment[name]) for name in law2.variables)
    lines += ["  omega", "· intro h", f"  have e : {_applied(ground.left)} = {_applied(ground.right)} := h {numbers}"]
    return [*lines, *_computed(ground, model), "  omega"]


def _operation(model: ResidueModel) -> list[str]:
    """Print the steps that introduce the operation `op` with the facts `hop` about it, in the language of `omega`."""
    m = model.modulus
    values = [f"{a} * x + {b} * y + {c}" if c >= 0 else f"{a} * x + {b} * y - {-c}" for a, b, c in model.rules]
    if m == 1:
        return [f"obtain ⟨op, hop⟩ : ∃ op : Nat → Nat → Nat, ∀ x y, op x y = {values[0]} := ⟨_, fun _ _ => rfl⟩"]
    conditions = [f"x % {m} = {place // m} ∧ y % {m} = {place % m}" for place in range(m * m)]
    choice = "".join(
        f"if {condition} then {value} else " for condition, value in zip(conditions[:-1], values[:-1], strict=True)
    )
    facts = " ∨ ".join(f"({condition} ∧ op x y = {value})" for condition, value in zip(conditions, values, strict=True))
    residues = [" ∨ ".join(f"{v} % {m} = {r}" for r in range(m)) for v in "xy"]
    splits = [f"rcases h{v} with {' | '.join([f'h{v}'] * m)}" for v in "xy"]
    return [
        f"obtain ⟨op, def_op⟩ : ∃ op : Nat → Nat → Nat, ∀ x y, op x y = {choice}{values[-1]} := ⟨_, fun _ _ => rfl⟩",
        f"have hop : ∀ x y, {facts} := by",
        "  intro x y",
        f"  have hx : {residues[0]} := by omega",
        f"  have hy : {residues[1]} := by omega",
        f"  {splits[0]} <;> {splits[1]} <;> simp [def_op, hx, hy]",
    ]


def _computed(ground: Law, model: ResidueModel) -> list[str]:
    """Print one fact for each product of a law whose variables are numerals: its value."""
    values: dict[Term, int] = {Variable(name): int(name) for name in ground.variables}
    places: dict[Term, int] = {}
    lines: list[str] = []
    for k, product in enumerate(_products(ground)):
        left, right = values[product.left], values[product.right]
        values[product], places[product] = model.product(left, right), k
        earlier = sorted({places[side] for side in (product.left, product.right) if side in places}, reverse=True)
        rewriting = "".join(f"rw [q{place}]; " for place in earlier)
        fact = "hop" if model.modulus == 1 else "def_op"
        lines.append(
            f"  have q{k} : {_applied(product)} = {values[product]} := by {rewriting}exact {fact} {left} {right}"
        )
    return lines


def _products(law: Law) -> list[Product]:
    """Return the different products in a law, arguments before products."""
    found = [*subterms(law.left), *subterms(law.right)]
    return list(dict.fromkeys(term for term in found if isinstance(term, Product)))


def _applied(term: Term) -> str:
    """Print a term with `op` applied to arguments."""
    return f"op {_argument(term.left)} {_argument(term.right)}" if isinstance(term, Product) else term.name


def _argument(term: Term) -> str:
    return f"({_applied(term)})" if isinstance(term, Product) else term.name
