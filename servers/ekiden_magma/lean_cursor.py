"""Walking through Lean tokens under Lean's layout rule."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ekiden_magma.lean_tokens import Kind, Token, Undecided

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

MAX_DEPTH = 150

# Names that are surely no keyword of Lean or of a library: one letter or a well-known short stem, then digits or marks.
_SAFE_NAME = re.compile(r"(?:[A-Za-z]|h[a-zA-Z]|inst|hyp|lem|law|key|eq|ih)[0-9']*")


class Cursor:
    """A position in a list of tokens.

    Inside a block every token stands to the right of the block's column, except the first token of an item.
    """

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self._floor = -1
        self._first = 0
        self._depth = 0

    @property
    def next(self) -> Token:
        """The next token."""
        return self._tokens[self._position]

    def _is_inside(self) -> bool:
        return self.next.column > self._floor or self._position == self._first

    def sees(self, *texts: str) -> bool:
        """Tell whether one of the texts is next, as part of the current item."""
        return self.next.text in texts and self.next.kind in ("name", "sign") and self._is_inside()

    def take(self, kind: Kind | None = None) -> Token:
        """Step over the next token, which must belong to the current item."""
        token = self.next
        if token.kind == "end" or not self._is_inside() or (kind is not None and token.kind != kind):
            raise Undecided
        self._position += 1
        return token

    def expect(self, *texts: str) -> Token:
        """Step over one of the given tokens.

        Raises:
            Undecided: Another token is next.
        """
        if not self.sees(*texts):
            raise Undecided
        return self.take()

    def accept(self, *texts: str) -> bool:
        """Step over one of the given tokens if it is next."""
        if self.sees(*texts):
            self.take()
            return True
        return False

    def expect_brace(self) -> None:
        """Step over a closing brace, which may stand anywhere."""
        if self.next.text != "}":
            raise Undecided
        self._position += 1

    def expect_words(self, *texts: str) -> None:
        """Step over the given tokens in turn."""
        for text in texts:
            self.expect(text)

    def new_name(self) -> str:
        """Read a name that a binder introduces; "_" is nameless."""
        text = self.take("name").text
        if text != "_" and not _SAFE_NAME.fullmatch(text):
            raise Undecided
        return text

    @contextmanager
    def item(self) -> Generator[None]:
        """Read one item that starts here: all but its first token stand to the right of its column."""
        if self.next.kind == "end" or self.next.column <= max(self._floor, 0):
            raise Undecided
        outer = self._floor, self._first
        self._floor, self._first = self.next.column, self._position
        yield
        self._floor, self._first = outer

    def items(self) -> Iterator[None]:
        """Step through the items of a block that starts here: one under the other, or divided by ";" on a line.

        The caller reads one item at each step. The block ends at a token to the left of its column.
        """
        with self.item():
            while True:
                yield
                last = self._tokens[self._position - 1]
                if self.accept(";"):
                    if self.next.line != last.line:
                        raise Undecided
                elif self.next.kind == "end" or self.next.column < self._floor:
                    return
                elif self.next.column > self._floor or self.next.line == last.line:
                    raise Undecided
                self._first = self._position

    @contextmanager
    def deeper(self) -> Generator[None]:
        """Count one level of nesting."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Undecided
        yield
        self._depth -= 1

    def expect_end(self) -> None:
        """Check that nothing follows."""
        if self.next.kind != "end":
            raise Undecided
