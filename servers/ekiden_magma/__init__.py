"""Laws, terms, finite and infinite magmas, proofs and certificates; parsing and printing.

This package is mathematics only: it imports the standard library and nothing of Ekiden.
"""

from ekiden_magma.errors import LawSyntaxError, MagmaError
from ekiden_magma.law import Law
from ekiden_magma.parse import parse_law, parse_term, read_laws
from ekiden_magma.program import StraightLine, straight_line
from ekiden_magma.table import Assignment, CayleyTable
from ekiden_magma.term import OPERATOR, Product, Term, Variable

__all__ = [
    "OPERATOR",
    "Assignment",
    "CayleyTable",
    "Law",
    "LawSyntaxError",
    "MagmaError",
    "Product",
    "StraightLine",
    "Term",
    "Variable",
    "parse_law",
    "parse_term",
    "read_laws",
    "straight_line",
]
