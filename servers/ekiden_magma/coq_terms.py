"""Terms and laws in the syntax of Coq."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ekiden_magma.errors import CertificateError, shown
from ekiden_magma.term import Product, Term, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ekiden_magma.law import Law

_LETTER = re.compile("[a-z]")


class InCoq(NamedTuple):
    """A certificate in Coq's syntax.

    Attributes:
        sentences: Definitions that come first.
        term: The term that has the problem's statement as its type.
        theorem: The theorem of the theory that the term takes under the name `sound`, if it takes one.
    """

    sentences: list[str]
    term: str
    theorem: str | None = None


def universal(law: Law, carrier: str, operation: str) -> str:
    """Print a law for all elements of a type."""
    return f"forall {' '.join(map(letter, law.variables))} : {carrier}, {equation(law, operation, {})}"


def equation(law: Law, operation: str, values: Mapping[str, str]) -> str:
    """Print a law's equation, with values for some variables."""
    return f"{applied(law.left, operation, values)} = {applied(law.right, operation, values)}"


def applied(term: Term, operation: str, values: Mapping[str, str]) -> str:
    """Print a term as applications of an operation to letters, or to the values of letters."""
    return _printed(term, operation, lambda name: values.get(name) or letter(name))


def as_data(term: Term, numbers: Mapping[str, int]) -> str:
    """Print a term as an element of the theory's type `term`; variables without a number get the numbers after those.

    Such a term is refused by the theory's checks.
    """
    return _printed(term, "P", lambda name: f"(V {numbers.get(name, len(numbers))})")


def numbered(law: Law) -> dict[str, int]:
    """Number a law's variables in their order."""
    return {name: number for number, name in enumerate(law.variables)}


def in_list(items: list[str]) -> str:
    """Print a list."""
    return f"[{'; '.join(items)}]" if items else "nil"


def letter(name: str) -> str:
    """Print a variable, which is one lower-case letter: no keyword of Coq, and no name of ours, is that short.

    Raises:
        CertificateError: It is something else.
    """
    if not _LETTER.fullmatch(name):
        raise CertificateError(f"A variable is called {shown(name)}; variables are single lower-case letters.")
    return name


def _printed(term: Term, operation: str, leaf: Callable[[str], str]) -> str:
    """Print without recursion: terms in proofs may be deep."""
    texts: list[str] = []
    waiting: list[Term | str] = [term]
    while waiting:
        match waiting.pop():
            case str() as text:
                texts.append(text)
            case Variable(name):
                texts.append(leaf(name))
            case Product(left, right):
                waiting += (")", right, " ", left, f"({operation} ")
    return "".join(texts)
