"""Laws, terms, finite and infinite magmas, proofs and certificates; parsing and printing.

This package is mathematics only: it imports the standard library and nothing of Ekiden.
"""

from ekiden_magma.certificate import (
    Certificate,
    EquationalProof,
    Lemma,
    Refutation,
    Step,
    from_json,
    to_json,
)
from ekiden_magma.chain import steps_along
from ekiden_magma.check import check
from ekiden_magma.errors import CertificateError, CertificateLimitError, LawSyntaxError, MagmaError
from ekiden_magma.law import Law
from ekiden_magma.lean import lean_answer
from ekiden_magma.lean_read import read_answer
from ekiden_magma.natural import AffineRule, ResidueModel, named_models
from ekiden_magma.parse import parse_law, parse_term, read_laws
from ekiden_magma.program import StraightLine, straight_line
from ekiden_magma.table import Assignment, CayleyTable
from ekiden_magma.term import OPERATOR, Product, Term, Variable

__all__ = [
    "OPERATOR",
    "AffineRule",
    "Assignment",
    "CayleyTable",
    "Certificate",
    "CertificateError",
    "CertificateLimitError",
    "EquationalProof",
    "Law",
    "LawSyntaxError",
    "Lemma",
    "MagmaError",
    "Product",
    "Refutation",
    "ResidueModel",
    "Step",
    "StraightLine",
    "Term",
    "Variable",
    "check",
    "from_json",
    "lean_answer",
    "named_models",
    "parse_law",
    "parse_term",
    "read_answer",
    "read_laws",
    "steps_along",
    "straight_line",
    "to_json",
]
