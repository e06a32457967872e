"""Reading an attribute list: its entries, and the label and options of a `blueprint` entry."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ekiden_blueprint.commands import closing_bracket, skip_space
from ekiden_blueprint.lexer import ID_REST, IDENTIFIER, Region
from ekiden_blueprint.model import Option, OptionForm, SyntaxProblem
from ekiden_blueprint.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ENTRY = re.compile(rf"(?:(?P<scope>local|scoped)\s+|(?P<erased>-)\s*)?blueprint\??(?![{ID_REST}.])")
_OPTION = re.compile(rf"\(\s*(?P<name>{IDENTIFIER})\s*:=\s*")
_SEPARATOR = re.compile(r"«[^»]*»|[\[\](){}⟨⟩,]")
_ATTRIBUTE = re.compile(rf"(?:(?:local|scoped)\s+|-\s*)?({IDENTIFIER})")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|\n\s*|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


class AttributeEntry(NamedTuple):
    """One entry of an attribute list: its name (`?` where unreadable) without `local`, `scoped`, `-`; and all of it."""

    name: str
    span: Span


def cut_entries(code: str, start: int, end: int) -> list[Span]:
    """Cut what stands between the brackets of an attribute list at its own commas, blanks included.

    Args:
        code: A text with comments, strings and characters blank.
        start: Where the list begins, after its bracket.
        end: Where it ends, before its bracket.
    """
    depth, cuts = 0, list[Span]()
    for found in _SEPARATOR.finditer(code, start, end):
        sign = found.group()
        if sign in "[({⟨":
            depth += 1
        elif sign in "])}⟩":
            depth -= 1
        elif sign == "," and depth <= 0:
            cuts.append(Span(start, found.start()))
            start = found.end()
    return [*cuts, Span(start, end)]


def attribute_entries(code: str, start: int = 0, end: int | None = None) -> Iterator[AttributeEntry]:
    """Give the entries of all attribute lists that begin in a stretch of code, those inside others too.

    Args:
        code: A text with comments, strings and characters blank.
        start: Where the stretch begins.
        end: Where it ends; the end of the text unless given. A list that is not closed is taken to go on up to there.
    """
    end = len(code) if end is None else end
    while (start := code.find("@[", start, end)) >= 0:
        closed = closing_bracket(code, start)
        for cut in cut_entries(code, start + 2, max(start + 2, end) if closed is None else closed - 1):
            written = code[slice(*cut)]
            if written.strip():
                first = cut.start + len(written) - len(written.lstrip())
                found = _ATTRIBUTE.match(code, first, cut.end)
                name = found[1] if found and closed is not None else "?"
                yield AttributeEntry(name, Span(first, cut.start + len(written.rstrip())))
        start += 2


class BlueprintEntry(NamedTuple):
    """A `blueprint ..` entry of an attribute list."""

    span: Span
    label: str
    label_span: Span
    options: tuple[Option, ...]


class AttributeReader:
    """Reads the attribute lists of one command; `regions` are its strings and doc comments by where they begin."""

    def __init__(self, text: str, view: str, regions: Mapping[int, Region]) -> None:
        self.text = text
        self.view = view
        self.regions = regions
        self.problems: list[SyntaxProblem] = []

    def entries(self, brackets: Span) -> list[Span]:
        """Cut an attribute list into its entries, without the blanks around them."""
        start = self.view.index("[", brackets.start) + 1
        return [self.trimmed(*cut) for cut in cut_entries(self.view, start, brackets.end - 1)]

    def blueprints(self, brackets: Span) -> list[BlueprintEntry]:
        """Give the blueprint entries of an attribute list."""
        found: list[BlueprintEntry] = []
        for span in self.entries(brackets):
            opening = _ENTRY.match(self.view, span.start, span.end)
            if opening is not None and not opening["erased"]:
                if opening["scope"]:
                    self.complain(f"a {opening['scope']} blueprint attribute; write `blueprint` alone", span)
                found.append(self.entry(span, opening.end()))
        return found

    def entry(self, span: Span, at: int) -> BlueprintEntry:
        """Read the label and the options that follow the word `blueprint`."""
        label, label_span = "", Span(at, at)
        start = skip_space(self.view, at)
        region = self.regions.get(start)
        if region is not None and region.kind == "string":
            label_span = self.inside_string(region.span)
            label, at = self.unescaped(region.span, label_span), region.span.end
        options: list[Option] = []
        while (at := skip_space(self.view, at)) < span.end:
            end = closing_bracket(self.view, at) if self.view[at] == "(" else None
            option = None if end is None else self.option(Span(at, end))
            if option is None or end is None:
                self.complain(
                    "this is no option of a blueprint attribute; options are `(name := value)`", Span(at, span.end)
                )
                break
            options.append(option)
            at = end
        return BlueprintEntry(span, label, label_span, tuple(options))

    def option(self, span: Span) -> Option | None:
        """Read one `(name := value)`."""
        opening = _OPTION.match(self.view, span.start, span.end)
        if opening is None:
            return None
        name = self.text[slice(*opening.span("name"))]
        value = self.trimmed(opening.end(), span.end - 1)
        region = self.regions.get(value.start)
        form: OptionForm = "other"
        if region is not None and region.span.end == value.end and region.closed:
            if region.kind == "doc_comment":
                form, value = "doc", Span(value.start + 3, max(value.start + 3, value.end - 2))
            elif region.kind == "string":
                form, value = "string", self.inside_string(value)
        return Option(name, span, self.text[value.start : value.end], value, form)

    def inside_string(self, span: Span) -> Span:
        """Give what stands between the quotes of a string or a raw string."""
        start = self.text.index('"', span.start) + 1
        return Span(start, max(start, span.end - (start - span.start if self.text[span.start] == "r" else 2) + 1))

    def unescaped(self, span: Span, inner: Span) -> str:
        """Give the string that Lean reads."""
        raw = self.text[inner.start : inner.end]
        if self.text[span.start] == "r" or "\\" not in raw:
            return raw
        return _ESCAPE.sub(_unescape, raw)

    def trimmed(self, start: int, end: int) -> Span:
        """Give a range without the blanks around it; comments count as blanks, doc comments do not."""
        start = min(skip_space(self.view, start), end)
        for region in (self.regions[at] for at in sorted(self.regions) if start <= at < end):
            if region.kind == "doc_comment" and not self.view[region.span.end : end].strip():
                return Span(start, region.span.end)
        return Span(start, max(start, start + len(self.view[start:end].rstrip())))

    def complain(self, message: str, span: Span) -> None:
        """Note a problem."""
        self.problems.append(SyntaxProblem(message, span))


def _unescape(found: re.Match[str]) -> str:
    code = found[1] or found[2]
    if code:
        return chr(int(code, 16))
    return _ESCAPED.get(found[3], found[3]) if found[3] else ""
