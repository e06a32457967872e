"""Certificates as Lean 4 answer files in the judge's standard shape.

The judge's module `JudgeProblem` defines the class `Magma` with the operator `◇`, both laws, and `Goal`. An answer is
one file that defines `submission : Goal`. It is a `def` with a tactic block: Lean then keeps the whole proof in a
constant `submission._proof_1`, which every declaration policy lets pass. Apart from that the texts use no constant
that the default policy refuses (so `Nat.add` for `+`), no helper, and, except for models that need linear arithmetic,
no axiom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_magma.certificate import Certificate, EquationalProof, to_json
from ekiden_magma.lean_natural import natural_proof
from ekiden_magma.lean_proof import equational_proof
from ekiden_magma.natural import ResidueModel

if TYPE_CHECKING:
    from ekiden_magma.table import CayleyTable

MAX_DIGIT_ORDER = 10

_FINITE = """\
import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

def submission : Goal := by
  let m : Magma (Fin {order}) := {{ op := finOpTable "{table}" }}
  refine ⟨Fin {order}, m, ?_⟩
  decideFin!
"""

_NUMBER = """\
import JudgeProblem

def submission : Goal := by
  refine ⟨Fin {order}, ⟨fun i j => ⟨Nat.mod (Nat.div {code}
    (Nat.pow {order} (Nat.add (Nat.mul {order} i.val) j.val))) {order}, Nat.mod_lt _ (Nat.succ_pos _)⟩⟩, ?_⟩
  decide +kernel
"""


def lean_answer(certificate: Certificate) -> str:
    """Print a certificate as the whole Lean source text of an answer.

    The certificate is taken to be checked. `read_answer` reads every printed text back.

    Raises:
        MagmaError: The certificate has no such form: its magma is infinite, and law 1 needs too many cases in it.
    """
    if isinstance(certificate, EquationalProof):
        return f"import JudgeProblem\n\ndef submission : Goal := by\n{equational_proof(certificate)}"
    if isinstance(certificate.model, ResidueModel):
        comment = f"-- {to_json(certificate)}"
        body = natural_proof(certificate, certificate.model)
        return f"import JudgeProblem\n\n{comment}\ndef submission : Goal := by\n{body}"
    return finite_answer(certificate.model)


def finite_answer(table: CayleyTable) -> str:
    """Print a Cayley table as an answer to any question that it refutes.

    Digits cannot express a table of order above 10: its cells are printed as the digits of one number in base n.
    """
    order = table.order
    if order <= MAX_DIGIT_ORDER:
        return _FINITE.format(order=order, table=table.to_json())
    code = 0
    for row in reversed(table.rows):
        for value in reversed(row):
            code = code * order + value
    return _NUMBER.format(order=order, code=hex(code))
