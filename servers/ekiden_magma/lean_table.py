"""Refutations by tables with many instances of a law, as Lean files whose work is done by the kernel's arithmetic.

`decide` over `Fin n` evaluates a law's instances twice, first step by step while it elaborates. Here the cells are the
digits of one number in base n, a loop over numbers checks the instances, and only the kernel runs it; that the loop
stands for the law is proved once for all. No axiom is needed, and any order can be expressed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ekiden_magma.certificate import Refutation
from ekiden_magma.table import CayleyTable
from ekiden_magma.term import Product, Term

if TYPE_CHECKING:
    from ekiden_magma.law import Law

MAX_READ_ORDER = 256

_NUMBERS = """\
import JudgeProblem

def submission.op (i j : Nat) : Nat :=
  Nat.mod (Nat.div {code}
    (Nat.pow {order} (Nat.add (Nat.mul {order} i) j))) {order}

def submission.magma : Magma (Fin {order}) :=
  ⟨fun i j => ⟨submission.op i.val j.val, Nat.mod_lt _ (Nat.succ_pos _)⟩⟩

def submission.all (p : Nat → Bool) : Nat → Bool
  | 0 => true
  | Nat.succ n => and (p n) (submission.all p n)

theorem submission.all_sound (p : Nat → Bool) (n : Nat) :
    submission.all p n = true → ∀ k, Nat.lt k n → p k = true := by
  induction n with
  | zero => exact fun _ k hk => absurd hk (Nat.not_lt_zero k)
  | succ n ih =>
    intro h k hk
    cases hp : p n with
    | false => exact nomatch (congrArg (fun b => and b (submission.all p n)) hp).symm.trans h
    | true =>
      have h' : submission.all p n = true := (congrArg (fun b => and b (submission.all p n)) hp).symm.trans h
      cases Nat.eq_or_lt_of_le (Nat.le_of_lt_succ hk) with
      | inl e => exact e ▸ hp
      | inr l => exact ih h' k l

theorem submission.law : @EquationLHS (Fin {order}) submission.magma := by
  have checked : {checked} = true := by
    decide +kernel
  intro {variables}
  exact Fin.eq_of_val_eq (Nat.eq_of_beq_eq_true ({instance}))

theorem submission : Goal :=
  ⟨Fin {order}, submission.magma, submission.law, fun h => absurd (h {values}) (by decide)⟩
"""


_NUMBER = re.compile(
    r"import JudgeProblem\n\n[^\n]*\n  Nat\.mod \(Nat\.div 0x([0-9a-f]+)\n    \(Nat\.pow ([1-9][0-9]{0,2}) "
)
_VALUES = re.compile(r"fun h => absurd \(h ((?:⟨[0-9]{1,3}, Nat\.le_of_ble_eq_true rfl⟩ ?)+)\) \(by decide\)⟩\n\Z")


def table_answer(refutation: Refutation, table: CayleyTable) -> str:
    """Print a refutation by a table as the whole Lean source text of an answer."""
    law1, law2, order = refutation.law1, refutation.law2, table.order
    return _NUMBERS.format(
        order=order,
        code=hex(_number(table)),
        checked=_checked(law1, order),
        variables=" ".join(law1.variables),
        instance=_instance(law1, order),
        values=" ".join(f"⟨{refutation.assignment[name]}, Nat.le_of_ble_eq_true rfl⟩" for name in law2.variables),
    )


def read_table_answer(code: str, law1: Law, law2: Law) -> Refutation | None:
    """Read a refutation back, or return None if the text is not exactly what is printed for it.

    Raises:
        MagmaError: The numbers in the text make no table, or no values for the variables of law 2.
    """
    number, values = _NUMBER.match(code), _VALUES.search(code)
    if number is None or values is None or (order := int(number[2])) > MAX_READ_ORDER:
        return None
    if len(number[1]) * 4 > order * order * order.bit_length() + 4:
        return None
    rest, cells = int(number[1], 16), list[int]()
    for _ in range(order * order):
        rest, cell = divmod(rest, order)
        cells.append(cell)
    elements = [int(value) for value in re.findall("⟨([0-9]+)", values[1])]
    if len(elements) != len(law2.variables):
        return None
    table = CayleyTable.from_flat(cells)
    refutation = Refutation(law1, law2, table, dict(zip(law2.variables, elements, strict=True)))
    return refutation if table_answer(refutation, table) == code else None


def _number(table: CayleyTable) -> int:
    """Return the number whose digits in base n are the cells, the first one least."""
    number = 0
    for row in reversed(table.rows):
        for value in reversed(row):
            number = number * table.order + value
    return number


def _checked(law: Law, order: int) -> str:
    text = f"Nat.beq {_argument(law.left)} {_argument(law.right)}"
    for name in reversed(law.variables):
        text = f"submission.all (fun {name} => {text}) {order}"
    return text


def _instance(law: Law, order: int) -> str:
    text = "checked"
    for name in law.variables:
        text = f"submission.all_sound _ {order} ({text}) {name}.val {name}.isLt"
    return text


def _argument(term: Term) -> str:
    if isinstance(term, Product):
        return f"(submission.op {_argument(term.left)} {_argument(term.right)})"
    return term.name
