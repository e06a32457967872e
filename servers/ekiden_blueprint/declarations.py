"""Reading a declaration after its keyword: name, signature, body and the placeholders in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ekiden_blueprint.commands import CLOSER, closing_bracket, skip_space
from ekiden_blueprint.lexer import ATOM, ID_FIRST, ID_REST, IDENTIFIER, inside_identifier
from ekiden_blueprint.model import Reference
from ekiden_blueprint.spans import Span

if TYPE_CHECKING:
    from ekiden_blueprint.model import BodyKind

_NAME = re.compile(IDENTIFIER)
_PLAIN_ATOM = re.compile(rf"«([{ID_FIRST}][{ID_REST}]*)»")
_PRIORITY = re.compile(r"\(\s*priority\s*:=")
_WORDS = "let|have|letI|haveI|let_fun|let_expr|set|obtain|calc|where|match|fun|by|do"
_STEP = re.compile(
    rf"[()\[\]{{}}⟨⟩⟦⟧]|:=|<\|>|<\|\|>|<\||\|>\.?|\|\|\|?|\||←|<-|λ|(?<![{ID_REST}.])(?:{_WORDS})(?![{ID_REST}]|\.[{ID_FIRST}])"
)
_BINDING = frozenset({"let", "have", "letI", "haveI", "let_fun", "let_expr", "set", "obtain"})
_ABSOLUTE = re.compile(r"\|(?=[^\s|])[^|\n]*?(?<=\S)\|")
_COMPLETE_BEFORE = re.compile(rf"[{ID_REST}»)\]}}⟩⟧\"]\s*\Z")
_HOLES = re.compile(rf"(?:sorry|sorry_using|admit|sorryAx)(?![{ID_REST}])")
_NAME_BEFORE, _NAME_AFTER = re.compile(r"[({⦃,]\s*\Z"), re.compile(r"\s*:")
_NAMES_AFTER = re.compile(rf"(?:\s+{ATOM})*+\s*:")
_TACTICS_BEGIN = re.compile(rf"(?:by[?!]*|finally)(?![{ID_REST}])|[Tt]actic")
_BY_SORRY = re.compile(r"\s*by[ \t\r]*\n\s*sorry\s*")
_BY_SORRY_USING = re.compile(r"\s*by[ \t\r]*\n\s*sorry_using\s*\[[^\[\]]*\]\s*")
_SORRY_USING = re.compile(r"sorry_using\s*\[([^\[\]]*)\]?")
_ITEM = re.compile(r"[^,\s](?:[^,]*[^,\s])?")
_MANY = 1 << 30
_FAR = 200


class Declaration(NamedTuple):
    """The parts of a declaration after its keyword."""

    name: str
    name_span: Span
    signature: Span
    body: Span | None


def plain_name(written: str) -> str:
    """Give a Lean name without guillemets that it does not need."""
    return _PLAIN_ATOM.sub(r"\1", written)


def read_declaration(text: str, view: str, keyword: str, at: int, end: int) -> Declaration:
    """Read a declaration whose keyword ends at `at` and whose text ends at `end`."""
    after = skip_space(view, at)
    if keyword == "instance" and _PRIORITY.match(view, after):
        at = closing_bracket(view, after) or at
        after = skip_space(view, at)
    found = None if keyword == "example" else _NAME.match(view, after, end)
    name_span = Span(found.start(), found.end()) if found else Span(at, at)
    name = plain_name(text[name_span.start : name_span.end])
    split, start = _body_start(view, keyword, name_span.end, end)
    body = None if start is None else Span(start, max(start, end))
    return Declaration(name, name_span, Span(name_span.end, min(split, end)), body)


def _body_start(view: str, keyword: str, at: int, end: int) -> tuple[int, int | None]:
    """Find where the signature ends and where the body starts.

    A `:=` in brackets or of a `let` or `have` in the statement is not the body's, nor is the bar of a `match` or of an
    absolute value. Where this cannot be told, the body starts later or not at all, so that no part of a statement
    passes for a proof.
    """
    stack: list[str] = []
    statement = _Statement(view, keyword, at, end)
    for step in _STEP.finditer(view, at, end):
        mark = step.group()
        if mark in CLOSER:
            stack.append(CLOSER[mark])
        elif mark in ")]}⟩⟧":
            while mark in stack and stack.pop() != mark:
                pass
        elif not stack and step.start() >= statement.skip_until and statement.ends_at(step):
            return step.start(), step.end() if mark == ":=" else step.start()
    return end, None


class _Statement:
    """What is still open in a statement while it is read from the left, brackets aside."""

    def __init__(self, view: str, keyword: str, at: int, end: int) -> None:
        self.view = view
        self.start, self.end = at, end
        self.values = keyword not in ("inductive", "coinductive", "class")
        self.bindings = 0
        self.bars = False
        self.skip_until = at

    def ends_at(self, step: re.Match[str]) -> bool:
        """Take in the next word or sign; tell whether the body begins with it."""
        mark = step.group()
        if mark == "where":
            return True
        if "|" in mark and mark != "|":
            return False  # an operator
        if mark in (":=", "←", "<-"):
            ends = mark == ":=" and not self.bindings
            self.bindings = max(0, self.bindings - 1)
            return ends
        if mark == "|":
            return self.ends_at_bar(step.start())
        if mark in ("calc", "do", "by"):
            self.bindings = _MANY  # any of its steps may hold a `:=`
        elif mark in _BINDING:
            self.bindings += 1
        elif mark in ("match", "by") or self.view.startswith("|", skip_space(self.view, step.end())):
            self.bars = True
        return False

    def ends_at_bar(self, at: int) -> bool:
        if self.bars:
            return False
        absolute = _absolute(self.view, self.start, at, self.end) if self.values else None
        if absolute is not None:
            self.skip_until = absolute
            return False
        self.bars = self.bindings > 0
        self.bindings = max(0, self.bindings - 1)
        return not self.bars


def _absolute(view: str, floor: int, at: int, end: int) -> int | None:
    """Give the end of an absolute value `|x|` that begins at `at`, which is no bar of an alternative."""
    found = _ABSOLUTE.match(view, at, end)
    if found is not None and "=>" not in found.group():
        return found.end()
    if _COMPLETE_BEFORE.search(view, max(floor, at - 200), at):
        return None
    closing = view.find("|", at + 1, end)
    return None if closing < 0 or "=>" in view[at:closing] else closing + 1


def begins_word(view: str, at: int, floor: int = 0) -> bool:
    """Tell whether a word of its own begins at `at`: neither the rest of an identifier nor a field.

    After a number, a range or the dot of a tactic block a word begins even without a blank.
    """
    if inside_identifier(view, at, floor):
        return False
    if at <= floor or view[at - 1] != ".":
        return True
    return not (inside_identifier(view, at - 1, floor) or view[max(floor, at - 2) : at - 1] in (*")]}⟩»",))


def is_given_name(view: str, start: int, end: int, floor: int) -> bool:
    """Tell whether a word that may be a tactic is a name that is bound or given a value.

    That is so in a bracket, as in `(stop : Nat)` and `{ stop := 3 }`. With more names up to the colon, as in
    `{stop x : Nat}`, or outside a bracket, as a field, it is so only where no tactics have begun since `floor`, where
    the declaration begins: `{ stop cases h : x }` is a block of tactics.
    """
    if _NAME_BEFORE.search(view, max(0, start - _FAR), start) and _NAME_AFTER.match(view, end):
        return True
    return _NAMES_AFTER.match(view, end) is not None and _TACTICS_BEGIN.search(view, floor, start) is None


def _is_hole(view: str, found: re.Match[str]) -> bool:
    is_tactic = found.group() == "admit"
    return begins_word(view, found.start()) and not (is_tactic and is_given_name(view, *found.span(), 0))


def body_kind(view: str, body: Span | None, *, after_sign: bool) -> BodyKind:
    """Classify a proof; `view` has neither comments nor the contents of strings."""
    if body is None:
        return "invalid"
    text = view[body.start : body.end]
    if not text.strip():
        return "invalid"
    if not any(_is_hole(text, hole) for hole in _HOLES.finditer(text)):
        return "complete"
    if after_sign and _BY_SORRY.fullmatch(text):
        return "by_sorry"
    if after_sign and _BY_SORRY_USING.fullmatch(text):
        return "by_sorry_using"
    return "invalid"


def references(text: str, view: str, span: Span) -> tuple[Reference, ...]:
    """Give the names in `sorry_using [..]` within a span."""
    found: list[Reference] = []
    for hole in _SORRY_USING.finditer(view, span.start, span.end):
        if not begins_word(view, hole.start(), span.start):
            continue
        for item in _ITEM.finditer(view, hole.start(1), hole.end(1)):
            found.append(Reference(plain_name(text[item.start() : item.end()]), Span(*item.span())))
    return tuple(found)
