"""Where things stand in a text: spans, positions and a cheap line table."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import NamedTuple


class Span(NamedTuple):
    """A half-open range of character offsets."""

    start: int
    end: int

    def shifted(self, by: int) -> Span:
        """Give the same range, moved."""
        return Span(self.start + by, self.end + by)

    def holds(self, other: Span) -> bool:
        """Tell whether `other` lies in this range."""
        return self.start <= other.start and other.end <= self.end


class Position(NamedTuple):
    """A 1-based line and a 1-based column, counted in characters."""

    line: int
    column: int


class SourceText:
    """A file's text; the line table is made when a position is first asked for."""

    def __init__(self, text: str, path: str = "") -> None:
        self.text = text
        self.path = path

    @cached_property
    def line_starts(self) -> list[int]:
        """Offsets at which the lines begin; only a newline ends a line, as in Lean."""
        starts = [0]
        at = self.text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find("\n", at + 1)
        return starts

    def position(self, offset: int) -> Position:
        """Give the line and column of an offset, which may also be the end of the text."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.line_starts, offset)
        return Position(line, offset - self.line_starts[line - 1] + 1)

    def slice(self, span: Span) -> str:
        """Give the text of a span."""
        return self.text[span.start : span.end]
