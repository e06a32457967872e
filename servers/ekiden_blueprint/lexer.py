r"""One lexer for everything that must know what in a Lean text is code, comment, string or name.

It follows Lean's own rules. A text is cut into regions that cover it in order; the code between braces of an
interpolated string is code. Where Lean's answer depends on its token table, the core library's and Mathlib's tokens
decide: `<-`, `|-`, `//`, `\/` and `-/` are tokens, so that `x <-- 1` holds no comment and `{x//-1 < x}` opens none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from ekiden_blueprint.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterable

RegionKind = Literal["code", "line_comment", "block_comment", "doc_comment", "module_doc", "string", "char", "name"]
COMMENTS = frozenset({"line_comment", "block_comment", "doc_comment", "module_doc"})

# What may continue an identifier in Lean: Latin with accents, Greek without λ, Π, Σ, subscripts, letter-like signs.
ID_REST = (
    "0-9A-Za-z_'!?"
    "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f"
    "\u0391-\u039f\u03a1\u03a2\u03a4-\u03a9\u03b1-\u03ba\u03bc-\u03c9\u03ca-\u03fb\u1f00-\u1ffe"
    "\u2080-\u2089\u2090-\u209c\u1d62-\u1d6a\u2c7c\u2100-\u214f\U0001d49c-\U0001d59f"
)
ID_FIRST = (
    "A-Za-z_"
    "\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f"
    "\u0391-\u039f\u03a1\u03a2\u03a4-\u03a9\u03b1-\u03ba\u03bc-\u03c9\u03ca-\u03fb\u1f00-\u1ffe"
    "\u2100-\u214f\U0001d49c-\U0001d59f"
)
ATOM = rf"(?:[{ID_FIRST}][{ID_REST}]*+|«[^»]*»)"
IDENTIFIER = rf"{ATOM}(?:\.{ATOM})*+"

_SIGNS = r"<\|(?!\|)|(?<![<=])<-|(?<!\|)\|-|//|\\/|-/|-(?!-)|/(?!-)|[<|\\]"
_PLAIN = re.compile(rf"(?:[^-<|/\\\"'«]++|{_SIGNS})*+(?P<mark>--|/-[-!]?|[\"'«])")
_PLAIN_IN_BRACES = re.compile(rf"(?:[^-<|/\\\"'«{{}}]++|{_SIGNS})*+(?P<mark>--|/-[-!]?|[\"'«{{}}])")
_COMMENT_MARK = re.compile(r"(?:[^-/]++|-(?!/)|/(?!-))*+(-/|/-)")
_STRING_END = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_STRING_STOP = re.compile(r'[^"\\{]*+(?:\\.[^"\\{]*+)*+(["{])', re.DOTALL)
_CHARACTER = re.compile(r"'(?:[^\\']|\\(?:[\\\"'rnt]|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}))'", re.DOTALL)
_RAW_PREFIX = re.compile(r"r(#*)\Z")
_INTERPOLATES = re.compile(
    rf"(?<![{ID_REST}.])(?:[smf]!|(?:throw|log)(?:Error|Info|Warning)(?:At\s+(?:\([^()]*\)|\S+))?"
    r"|(?:throw|log)Named(?:Error|Info|Warning)(?:At\s+(?:\([^()]*\)|\S+))?\s+[\w.]+"
    r"|trace\[[^\]\n]*\]|dbg_trace|println!)\s*\Z"
)
_RUN = re.compile(
    rf"(?P<number>0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9][0-9_]*(?:[eE][0-9]+)?)|(?P<word>[{ID_FIRST}][{ID_REST}]*+)"
)
_ID_CHARACTER = re.compile(f"[{ID_REST}]")


# Signs that a prime makes into other signs of Mathlib, `⁻¹'` and `∑'`.
ENDS_IN_PRIME = "⁻¹∑∏⨆⨅"


class Region(NamedTuple):
    """A stretch of text of one kind; not `closed` when the text ends before it does."""

    kind: RegionKind
    span: Span
    closed: bool


def lex(text: str) -> list[Region]:
    """Cut a text into regions that cover it in order."""
    return _Lexer(text).run()


def lex_with_interpolations(text: str) -> tuple[list[Region], list[Span]]:
    """Cut a text into regions, and say where interpolated strings stand, from the first quote to the last."""
    lexer = _Lexer(text)
    return lexer.run(), lexer.interpolations


def inside_identifier(text: str, at: int, floor: int = 0) -> bool:
    """Tell whether the character at `at` continues an identifier, and not a number or a sign that ends before it."""
    start = at
    while start > floor and _ID_CHARACTER.match(text, start - 1):
        start -= 1
    while start < at:
        run = _RUN.match(text, start)
        if run is None:
            start += 1
        elif run["word"] is not None:
            return True
        else:
            start = max(run.end(), start + 1)
    return False


def masked(text: str, regions: Iterable[Region], *, strings: bool) -> str:
    """Blank out comments, and strings and characters when asked; length and newlines stay."""
    parts: list[str] = []
    for kind, (start, end), _ in regions:
        piece = text[start:end]
        hidden = kind in COMMENTS or (strings and kind in ("string", "char"))
        parts.append(blank(piece) if hidden else piece)
    return "".join(parts)


def blank(piece: str) -> str:
    """Give spaces for everything but newlines."""
    if "\n" not in piece:
        return " " * len(piece)
    return "\n".join(" " * len(line) for line in piece.split("\n"))


class _Lexer:
    def __init__(self, text: str) -> None:
        self.text = text
        self.regions: list[Region] = []
        self.code_from = 0
        self.floor = 0
        self.braces: list[int] = []
        self.interpolations: list[Span] = []

    def run(self) -> list[Region]:
        at = 0
        while (found := (_PLAIN_IN_BRACES if self.braces else _PLAIN).match(self.text, at)) is not None:
            at = self.token(found["mark"], found.start("mark"))
        self.flush(len(self.text))
        if self.braces:
            self.regions[-1] = self.regions[-1]._replace(closed=False)
        return self.regions

    def token(self, mark: str, at: int) -> int:
        if mark == "--":
            end = self.text.find("\n", at)
            return self.add("line_comment", at, len(self.text) if end < 0 else end)
        if mark.startswith("/-"):
            return self.comment(mark, at)
        if mark == '"':
            return self.string(at)
        if mark == "'":
            return self.quote(at)
        if mark == "«":
            end = self.text.find("»", at)
            return self.add("name", at, len(self.text) if end < 0 else end + 1, closed=end >= 0)
        return self.brace(mark, at)

    def add(self, kind: RegionKind, start: int, end: int, *, closed: bool = True) -> int:
        self.flush(start)
        self.regions.append(Region(kind, Span(start, end), closed))
        self.code_from = self.floor = end
        return end

    def flush(self, end: int) -> None:
        if self.code_from < end:
            self.regions.append(Region("code", Span(self.code_from, end), closed=True))
            self.code_from = end

    def comment(self, opening: str, start: int) -> int:
        kinds: dict[str, RegionKind] = {"/-": "block_comment", "/--": "doc_comment", "/-!": "module_doc"}
        depth, at = 1, start + len(opening)
        while depth:
            mark = _COMMENT_MARK.match(self.text, at)
            if mark is None:
                return self.add(kinds[opening], start, len(self.text), closed=False)
            depth += 1 if mark[1] == "/-" else -1
            at = mark.end()
        return self.add(kinds[opening], start, at)

    def quote(self, at: int) -> int:
        if self.text.startswith("''", at):
            return at + 2
        if at > self.floor and inside_identifier(self.text, at, self.floor):
            return at + 1
        if at > self.floor and self.text[at - 1] in ENDS_IN_PRIME:
            return at + 1
        character = _CHARACTER.match(self.text, at)
        return at + 1 if character is None else self.add("char", at, character.end())

    def string(self, at: int) -> int:
        raw = _RAW_PREFIX.search(self.text, max(self.floor, at - 300), at)
        if raw is not None and not self.in_name(raw.start()):
            end = self.text.find('"' + raw[1], at + 1)
            stop = len(self.text) if end < 0 else end + 1 + len(raw[1])
            return self.add("string", raw.start(), stop, closed=end >= 0)
        if self.interpolates(at):
            if not self.braces:
                self.interpolations.append(Span(at, len(self.text)))
            return self.interpolated(at, at + 1)
        found = _STRING_END.match(self.text, at + 1)
        return self.add("string", at, found.end() if found else len(self.text), closed=found is not None)

    def in_name(self, at: int) -> bool:
        """Whether what stands at `at` is the last part of a longer identifier."""
        if inside_identifier(self.text, at, self.floor):
            return True
        before = self.text[at - 2 : at] if at >= 2 else ""
        return before.endswith(".") and (before[0] == "»" or inside_identifier(self.text, at - 1, self.floor))

    def interpolates(self, at: int) -> bool:
        """Whether the string at `at` follows a word that reads it with `{..}` as code, comments between aside."""
        end, index = at, len(self.regions)
        while True:
            while end and self.text[end - 1].isspace():
                end -= 1
            if index and end == self.regions[index - 1].span.end and self.regions[index - 1].kind in COMMENTS:
                index -= 1
                end = self.regions[index].span.start
                continue
            return _INTERPOLATES.search(self.text, max(0, end - 120), end) is not None

    def interpolated(self, start: int, at: int) -> int:
        """Read an interpolated string from `at` to its end or to the code that begins at a brace."""
        found = _STRING_STOP.match(self.text, at)
        if found is None:
            return self.add("string", start, len(self.text), closed=False)
        if found[1] == "{":
            self.braces.append(0)
        elif not self.braces:
            self.interpolations[-1] = Span(self.interpolations[-1].start, found.end())
        return self.add("string", start, found.end())

    def brace(self, mark: str, at: int) -> int:
        if mark == "{":
            self.braces[-1] += 1
        elif self.braces[-1]:
            self.braces[-1] -= 1
        else:
            self.braces.pop()
            return self.interpolated(at, at + 1)
        return at + 1
