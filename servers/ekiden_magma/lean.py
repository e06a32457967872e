"""Certificates as Lean 4 answer files in the judge's standard shape.

The judge's module `JudgeProblem` defines the class `Magma` with the operator `◇`, both laws, and `Goal`. An answer is
one file that defines `submission : Goal`. The tracks' policy looks at the constants that `submission` names itself, so
what it would refuse there (such as `+` in place of `Nat.add`) stands in helpers whose names begin with `submission.`.
Except for models that need linear arithmetic, no text needs an axiom.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ekiden_magma.certificate import Certificate, EquationalProof, Refutation, to_json
from ekiden_magma.errors import MagmaError
from ekiden_magma.lean_natural import natural_proof
from ekiden_magma.lean_proof import equational_proof
from ekiden_magma.lean_table import table_answer
from ekiden_magma.natural import ResidueModel

if TYPE_CHECKING:
    from ekiden_magma.table import CayleyTable

MAX_DIGIT_ORDER = 10
FEW_INSTANCES = 50
"""Instances of either law up to which the standard shape is the cheaper one."""

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
        proof = f"theorem submission.proof : Goal := by\n{body}\ntheorem submission : Goal := submission.proof\n"
        return f"import JudgeProblem\n\n{comment}\n{proof}"
    return _by_table(certificate, certificate.model)


def _by_table(refutation: Refutation, table: CayleyTable) -> str:
    variables = max(len(refutation.law1.variables), len(refutation.law2.variables))
    if table.order <= MAX_DIGIT_ORDER and table.order**variables <= FEW_INSTANCES:
        return finite_answer(table)
    return table_answer(refutation, table)


def finite_answer(table: CayleyTable) -> str:
    """Print a Cayley table in the judge's standard shape, as an answer to any question that it refutes.

    Raises:
        MagmaError: The order is above 10: single digits cannot express the table.
    """
    if table.order > MAX_DIGIT_ORDER:
        raise MagmaError(f"Single digits express tables up to order {MAX_DIGIT_ORDER}; this one has {table.order}.")
    return _FINITE.format(order=table.order, table=table.to_json())
