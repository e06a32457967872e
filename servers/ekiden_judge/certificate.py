"""What an answer's code holds, as far as it can be read without Lean."""

from ekiden_judge.checker import CheckItem
from ekiden_judge.verdict import CertificateKind
from ekiden_magma import CayleyTable, Certificate, EquationalProof, from_json, read_answer
from ekiden_magma.errors import CertificateError


def is_json(code: str) -> bool:
    """Tell whether a code is meant as a certificate in JSON: no Lean file begins with a brace."""
    return code.lstrip(" \n").startswith("{")


def read_certificate(item: CheckItem) -> Certificate | None:
    """Return the certificate that a code holds, unchecked, or None where only Lean can read it.

    Raises:
        CertificateError: The code is JSON, but no certificate about the problem's laws.
    """
    if is_json(item.code):
        return read_json_certificate(item)
    return read_answer(item.code, item.problem.law1, item.problem.law2, item.claim)


def read_json_certificate(item: CheckItem) -> Certificate:
    """Return the certificate in JSON that a code is, unchecked.

    Raises:
        CertificateError: It is none about the problem's laws.
    """
    return from_json(item.code, item.problem.law1, item.problem.law2)


def certificate_kind(item: CheckItem) -> CertificateKind | None:
    """Return which kind of certificate a code holds, or None where that cannot be read."""
    try:
        certificate = read_certificate(item)
    except CertificateError:
        return None
    return None if certificate is None else kind_of(certificate)


def kind_of(certificate: Certificate) -> CertificateKind:
    """Return the kind of a certificate."""
    if isinstance(certificate, EquationalProof):
        return "equational_proof"
    return "table" if isinstance(certificate.model, CayleyTable) else "residue_model"
