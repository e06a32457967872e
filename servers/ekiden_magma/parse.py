"""Reading laws and terms from text.

The accepted text is that of the SAIR judge: single lower-case letters, `◇` or `*`, parentheses and one `=`.
A chain without parentheses associates to the left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ekiden_magma.errors import LawSyntaxError, MagmaError
from ekiden_magma.law import Law
from ekiden_magma.term import Product, Term, Variable

if TYPE_CHECKING:
    from pathlib import Path

MAX_LENGTH = 4096
MAX_OPERATIONS = 200


def parse_law(text: str) -> Law:
    """Read a law such as `x ◇ y = (y ◇ z) * x`.

    Raises:
        LawSyntaxError: The text is no law; the error names the position and the reason.
    """
    reader = _Reader(text)
    left = reader.read_chain(depth=0)
    if not reader.take("="):
        raise reader.error(f"expected '=' or '◇' here, found {reader.shown()}")
    right = reader.read_chain(depth=0)
    if reader.peek() == "=":
        raise reader.error("a law has exactly one '='")
    reader.expect_end()
    return Law(left, right)


def parse_term(text: str) -> Term:
    """Read a term such as `x ◇ (y ◇ x)`.

    Raises:
        LawSyntaxError: The text is no term.
    """
    reader = _Reader(text)
    term = reader.read_chain(depth=0)
    reader.expect_end()
    return term


def read_laws(path: Path) -> list[Law]:
    """Read a file with one law a line; line k holds law k.

    Raises:
        MagmaError: The file cannot be read, is empty, or a line is no law; the message names the line.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise MagmaError(f"Cannot read laws from {str(path)!r}: {error}") from error
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    if not lines:
        raise MagmaError(f"The file {str(path)!r} holds no laws; write one law a line, such as 'x ◇ y = y ◇ x'.")
    laws: list[Law] = []
    for number, line in enumerate(lines, start=1):
        try:
            laws.append(parse_law(line))
        except LawSyntaxError as error:
            raise MagmaError(f"{path}:{number}: {error}") from error
    return laws


@dataclass(slots=True)
class _Reader:
    """A recursive-descent reader over one text."""

    text: str
    position: int = 0
    operations: int = 0

    def __post_init__(self) -> None:
        if len(self.text) > MAX_LENGTH:
            raise LawSyntaxError(self.text, MAX_LENGTH, f"laws are limited to {MAX_LENGTH} characters")
        if not self.text.strip():
            raise LawSyntaxError(self.text, 0, "the text is empty; a law looks like 'x ◇ y = y ◇ x'")

    def peek(self) -> str:
        """Return the next character after white space, or "" at the end."""
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1
        return self.text[self.position] if self.position < len(self.text) else ""

    def take(self, *signs: str) -> bool:
        if self.peek() in signs:
            self.position += 1
            return True
        return False

    def shown(self) -> str:
        return repr(self.peek()) if self.peek() else "the end of the text"

    def error(self, reason: str) -> LawSyntaxError:
        return LawSyntaxError(self.text, self.position, reason)

    def read_chain(self, depth: int) -> Term:
        term = self.read_operand(depth)
        while self.take("◇", "*"):
            self.operations += 1
            if self.operations > MAX_OPERATIONS:
                raise self.error(f"laws are limited to {MAX_OPERATIONS} operations")
            term = Product(term, self.read_operand(depth))
        return term

    def read_operand(self, depth: int) -> Term:
        opening = self.peek()
        start = self.position
        if opening == "(":
            if depth == MAX_OPERATIONS:
                raise self.error(f"parentheses are nested more than {MAX_OPERATIONS} deep")
            self.position += 1
            term = self.read_chain(depth + 1)
            if not self.take(")"):
                raise self.error(f"expected ')' for the '(' at character {start + 1}, found {self.shown()}")
            return term
        if not ("a" <= opening <= "z" and opening):
            raise self.error(f"expected a variable or '(' here, found {self.shown()}")
        self.position += 1
        if self.position < len(self.text) and (self.text[self.position].isalnum() or self.text[self.position] == "_"):
            raise self.error("a variable is one lower-case letter; write 'x ◇ y' for a product")
        return Variable(opening)

    def expect_end(self) -> None:
        if self.peek() == ")":
            raise self.error("this ')' has no '('")
        if self.peek():
            raise self.error(f"expected '◇', '*' or the end here, found {self.shown()}")
