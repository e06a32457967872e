"""Certificates as Coq source, many in one text, each accepted or refused by itself.

A text begins with the theory that its certificates need: one or more of the files in `coq_theory`, which define
checkers and prove them sound, and the types of the finite orders. Then each certificate is a few sentences
`Definition NAME : TYPE := TERM.`, the last of which states what the problem asks, in the problem's own laws and
over all magmas, and `Print Assumptions` for it. No sentence opens a proof, and no certificate uses the names of
another, so a wrong one only leaves its own names undefined.

Nothing is checked here: a wrong certificate is printed as it is, for Coq to refuse.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from ekiden_magma.certificate import Certificate, EquationalProof
from ekiden_magma.coq_finite import order_text, table_in_coq
from ekiden_magma.coq_natural import model_in_coq
from ekiden_magma.coq_proof import proof_in_coq
from ekiden_magma.coq_terms import universal
from ekiden_magma.natural import ResidueModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ekiden_magma.law import Law

_MAGMA = "(G : Type) (op : G -> G -> G)"


class CoqTask(NamedTuple):
    """A certificate, and the laws of the problem that it is meant to decide."""

    law1: Law
    law2: Law
    certificate: Certificate


def coq_file(tasks: Sequence[CoqTask]) -> str:
    """Print certificates as one Coq file; those of number 0, 1, ... end in `answer0`, `answer1`, ...

    Raises:
        CertificateError: A certificate cannot be written down, since it is none; see `coq_certificate`.
    """
    texts = [coq_theory([task.certificate for task in tasks])]
    texts += [coq_certificate(number, task) for number, task in enumerate(tasks)]
    return "\n".join(texts)


def coq_theory(certificates: Iterable[Certificate]) -> str:
    """Print what must stand before these certificates: definitions with their proofs of soundness."""
    names: set[str] = set()
    orders: set[int] = set()
    for certificate in certificates:
        if isinstance(certificate, EquationalProof):
            names |= {"terms", "proof"}
        elif isinstance(certificate.model, ResidueModel):
            names |= {"terms", "natural"}
        else:
            names.add("finite")
            orders.add(certificate.model.order)
    texts = [_theory(name) for name in ("finite", "terms", "proof", "natural") if name in names]
    return "\n".join([*texts, *(order_text(order) for order in sorted(orders))])


def coq_certificate(number: int, task: CoqTask) -> str:
    """Print one certificate as sentences whose names end in a number.

    `answerN : STATEMENT` is the theorem, stated in the problem's laws; the last sentence asks for its assumptions.
    Where it uses a theorem of the theory whose proof is long, it asks for those of the theorem's use alone: the
    theory has asked for the theorem's own, which are the same for all certificates.

    Raises:
        CertificateError: It cannot be written down: a variable without a value, or a value outside its magma.
    """
    certificate = task.certificate
    if isinstance(certificate, EquationalProof):
        shown = proof_in_coq(number, certificate)
    elif isinstance(certificate.model, ResidueModel):
        shown = model_in_coq(number, certificate, certificate.model)
    else:
        shown = table_in_coq(number, certificate, certificate.model)
    statement = coq_statement(task.law1, task.law2, implied=isinstance(certificate, EquationalProof))
    if shown.theorem is None:
        proved = [f"Definition answer{number} : {statement} :=\n  {shown.term}.", f"Print Assumptions answer{number}."]
    else:
        proved = [
            f"Definition given{number} (sound : {shown.theorem}_statement) : {statement} :=\n  {shown.term}.",
            f"Definition answer{number} : {statement} :=\n  given{number} {shown.theorem}.",
            f"Print Assumptions given{number}.",
        ]
    return "\n".join([*shown.sentences, *proved, ""])


def coq_statement(law1: Law, law2: Law, *, implied: bool) -> str:
    """Print that law 1 implies law 2 in all magmas, or that it does not in some."""
    one, two = universal(law1, "G", "op"), universal(law2, "G", "op")
    return f"forall {_MAGMA},\n  ({one}) -> {two}" if implied else f"exists {_MAGMA},\n  ({one}) /\\ ~ ({two})"


def _theory(name: str) -> str:
    return files("ekiden_magma").joinpath("coq_theory", f"{name}.v").read_text(encoding="utf-8")
