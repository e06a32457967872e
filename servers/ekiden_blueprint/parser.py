"""Parsing a blueprint file, and parsing it again after an edit.

The text is cut into pieces, one a top-level command, and each is read by itself with offsets from its own start. A
parse after an edit takes over the pieces that the edit cannot have touched.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from ekiden_blueprint.attributes import AttributeReader, BlueprintEntry
from ekiden_blueprint.commands import DECLARING, Beginning, beginnings, skip_space
from ekiden_blueprint.declarations import body_kind, plain_name, read_declaration, references
from ekiden_blueprint.lexer import COMMENTS, ENDS_IN_PRIME, IDENTIFIER, Region, blank, lex_with_interpolations
from ekiden_blueprint.model import BlueprintNode, Command, NodeParts, SyntaxProblem
from ekiden_blueprint.spans import SourceText, Span
from ekiden_blueprint.words import DOC_MARK, MODULE_DOC_MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_NAMES = re.compile(rf"(?:\s*{IDENTIFIER})*+")
_NAME = re.compile(IDENTIFIER)
_NAMES_END = frozenset({"in", "for", "from", "hiding", "renaming"})
_QUOTE_OR_SIGN = re.compile(rf"[{ENDS_IN_PRIME}]'(?=\")")
_UNCLOSED = {
    "block_comment": "this comment is not closed; end it with `-/`",
    "doc_comment": "this doc comment is not closed; end it with `-/`",
    "module_doc": "this module doc comment is not closed; end it with `-/`",
    "string": "this string is not closed",
    "name": "this name is not closed; end it with `»`",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of one command up to the next one; all offsets count from its start."""

    length: int
    fresh: bool  # whether it begins outside any interpolated string
    settled: bool  # whether text after it has no say in what it is: not so when an attribute list is left open
    regions: tuple[Region, ...]
    command: Command | None
    node: NodeParts | None
    problems: tuple[SyntaxProblem, ...]


class BlueprintFile:
    """A parsed file; its parts are put in place when they are first asked for."""

    def __init__(self, source: SourceText, pieces: Sequence[Piece], source_folder: str = "") -> None:
        self.source = source
        self.pieces = tuple(pieces)
        self.module = _module_of(source.path, source_folder)

    @cached_property
    def starts(self) -> list[int]:
        """Where the pieces begin."""
        starts, at = list[int](), 0
        for piece in self.pieces:
            starts.append(at)
            at += piece.length
        return starts

    @cached_property
    def regions(self) -> tuple[Region, ...]:
        """The regions that cover the text, in order."""
        merged: list[Region] = []
        for start, piece in zip(self.starts, self.pieces, strict=True):
            for kind, span, closed in piece.regions:
                if kind == "code" and merged and merged[-1].kind == "code":
                    merged[-1] = Region("code", Span(merged[-1].span.start, span.end + start), closed=True)
                else:
                    merged.append(Region(kind, span.shifted(start), closed))
        return tuple(merged)

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """The top-level commands, in order."""
        placed = zip(self.starts, self.pieces, strict=True)
        return tuple(piece.command.shifted(start) for start, piece in placed if piece.command is not None)

    @cached_property
    def nodes(self) -> tuple[BlueprintNode, ...]:
        """The nodes, in order."""
        path, scopes, found = self.source.path, list[str](), list[BlueprintNode]()
        for start, piece in zip(self.starts, self.pieces, strict=True):
            if piece.node is not None:
                found.append(BlueprintNode(path, start, piece.node, ".".join(filter(None, scopes))))
            elif piece.command is not None:
                _enter_or_leave(scopes, piece.command)
        return tuple(found)

    @cached_property
    def problems(self) -> tuple[SyntaxProblem, ...]:
        """What could not be read, in order."""
        return tuple(
            SyntaxProblem(message, span.shifted(start))
            for start, piece in zip(self.starts, self.pieces, strict=True)
            for message, span in piece.problems
        )


def _module_of(path: str, source_folder: str) -> str:
    """Give the name by which a file is imported, counted from the folder of the sources if it lies there."""
    place = PurePosixPath(path).with_suffix("") if path else PurePosixPath()
    if place.is_relative_to(source_folder):
        place = place.relative_to(source_folder)
    return ".".join(place.parts)


def parse(
    text: str, path: str = "", *, source_folder: str = "", previous: BlueprintFile | None = None
) -> BlueprintFile:
    """Parse a blueprint file.

    Args:
        text: The file's text.
        path: The path that nodes and positions are reported with.
        source_folder: The folder that names of modules count from.
        previous: An earlier parse of the same file, from which unchanged commands are taken over.
    """
    source = SourceText(text, path)
    if previous is None:
        return BlueprintFile(source, _pieces(text), source_folder)
    if previous.source.text == text:
        return BlueprintFile(source, previous.pieces, source_folder)
    return BlueprintFile(source, _reparsed(text, previous), source_folder)


def _reparsed(text: str, previous: BlueprintFile) -> list[Piece]:
    """Cut and read a text anew from shortly before the change, up to where an earlier piece begins again.

    Where a command begins depends on the text from there on alone, and mostly on no more of it than the next command's
    first word. So what follows a place where a piece began before the edit and after it is the same as before.
    """
    old, pieces, starts = previous.source.text, previous.pieces, previous.starts
    before = _common_prefix(old, text)
    after = len(old) - _common_suffix(old, text, min(len(old), len(text)) - before)
    first = max(0, bisect_right(starts, before) - 3)
    first = next((index for index, piece in enumerate(pieces[:first]) if not piece.settled), first)
    while first and not (pieces[first].fresh and _stands_alone(pieces[first])):
        first -= 1
    begin, delta = (starts[first] if pieces else 0), len(text) - len(old)
    margin = begin == 0 or text[begin - 1] == "\n"
    last = bisect_left(starts, after + 1)
    stop = last + 3
    while stop < len(pieces) and old[starts[stop] - 1] != "\n":
        stop += 1
    if stop < len(pieces):
        window = _pieces(text[begin : starts[stop] + delta], margin=margin)
        joined = None if any(piece.problems for piece in window) else _joined(window, begin - delta, previous, last)
        if joined is not None:
            return [*pieces[:first], *joined]
    rest = _pieces(text[begin:], margin=margin)
    if first and rest and rest[0].command is None:
        return _pieces(text)
    return [*pieces[:first], *rest]


def _joined(window: list[Piece], at: int, previous: BlueprintFile, last: int) -> list[Piece] | None:
    """Follow new pieces, whose first stands at `at` of the old text, with old ones from where one begins alike."""
    old, pieces, starts = previous.source.text, previous.pieces, previous.starts
    for count, piece in enumerate(window):
        index = bisect_left(starts, at, last)
        if index < len(starts) and starts[index] == at and old[at - 1] == "\n" and piece.fresh and pieces[index].fresh:
            return [*window[:count], *pieces[index:]]
        at += piece.length
    return None


def _common_prefix(left: str, right: str) -> int:
    """Give the length of what two texts have in common at their beginning."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_suffix(left: str, right: str, longest: int) -> int:
    """Give the length of what two texts have in common at their end, up to `longest`."""
    low, high = 0, longest
    while low < high:
        middle = (low + high + 1) // 2
        if left[len(left) - middle : len(left) - low] == right[len(right) - middle : len(right) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _stands_alone(piece: Piece) -> bool:
    """Tell whether a piece's beginning is certain whatever follows the piece."""
    command = piece.command
    return command is not None and bool(command.keyword) and command.kind not in ("open", "set_option")


def _enter_or_leave(scopes: list[str], command: Command) -> None:
    """Keep the list of open namespaces and sections; a section and a mutual block count as nameless."""
    if command.kind == "end":
        for _ in ".".join(command.names).split("."):
            if scopes:
                scopes.pop()
    elif command.kind == "namespace":
        scopes += ".".join(command.names).split(".")
    elif command.kind in ("section", "mutual"):
        scopes += [""] * len(".".join(command.names).split("."))


def _pieces(text: str, *, margin: bool = True) -> list[Piece]:
    """Cut a text into pieces and read them; `margin` says whether it begins at column 1."""
    regions, interpolations = lex_with_interpolations(text)
    view = _view(text, regions)
    found = list(beginnings(view, margin=margin))
    pieces: list[Piece] = []
    bounds = [beginning.start for beginning in found] + [len(text)]
    index = 0
    if bounds[0] > 0:
        own, index = _regions_until(regions, index, 0, bounds[0])
        pieces.append(Piece(bounds[0], True, True, own, None, None, _unclosed(own)))
    for beginning, end in zip(found, bounds[1:], strict=True):
        start = beginning.start
        own, index = _regions_until(regions, index, start, end)
        fresh = not any(span.start < start < span.end for span in interpolations)
        pieces.append(_PieceReader(text[start:end], view[start:end], own, beginning).piece(fresh=fresh))
    return pieces


def _regions_until(regions: list[Region], index: int, start: int, end: int) -> tuple[tuple[Region, ...], int]:
    """Give the regions of one piece, from its own start, and the index of the one in which it ends."""
    own: list[Region] = []
    while index < len(regions):
        kind, span, closed = regions[index]
        if span.start >= end:
            break
        low, high = max(span.start, start), min(span.end, end)
        if low < high:
            own.append(Region(kind, Span(low - start, high - start), closed))
        if span.end > end:
            break
        index += 1
    return tuple(own), index


def _view(text: str, regions: Iterable[Region]) -> str:
    """Give what `commands` works on."""
    parts: list[str] = []
    for kind, (start, end), _ in regions:
        piece = text[start:end]
        if kind == "code":
            parts.append(piece.replace(DOC_MARK, " ").replace(MODULE_DOC_MARK, " "))
        elif kind in ("string", "char"):
            parts.append('"' + blank(piece[1:-1]) + '"' if len(piece) > 1 else '"')
        elif kind == "name":
            parts.append("«" + "_" * (len(piece) - 2) + "»" if len(piece) > 1 else " ")
        elif kind == "doc_comment":
            parts.append(DOC_MARK + blank(piece[1:]))
        elif kind == "module_doc":
            parts.append(MODULE_DOC_MARK + blank(piece[1:]))
        else:
            parts.append(blank(piece))
    return "".join(parts)


def _unclosed(regions: Iterable[Region]) -> tuple[SyntaxProblem, ...]:
    return tuple(
        SyntaxProblem(_UNCLOSED.get(kind, "this is not closed"), span) for kind, span, closed in regions if not closed
    )


class _PieceReader:
    def __init__(self, text: str, view: str, regions: tuple[Region, ...], beginning: Beginning) -> None:
        self.text = text
        self.view = view
        self.regions = regions
        self.start = beginning.start
        self.beginning = beginning
        self.keyword_end = beginning.keyword_end - self.start
        self.settled = not beginning.unbalanced
        begins = {region.span.start: region for region in regions if region.kind in ("string", "doc_comment")}
        self.attributes = AttributeReader(text, view, begins)

    def piece(self, *, fresh: bool) -> Piece:
        beginning, end = self.beginning, self.trimmed_end()
        if beginning.unbalanced:
            self.attributes.complain("this attribute list is not closed; end it with `]`", Span(0, 2))
        node = self.node(end)
        if beginning.keyword == "attribute":
            self.applied_elsewhere()
        for found in _QUOTE_OR_SIGN.finditer(self.text):
            if self.view[found.start()] == self.text[found.start()]:
                message = "a quote that may begin a character or end a sign; put a space before it"
                self.attributes.complain(message, Span(*found.span()))
        kind = beginning.kind if node is None else "node"
        if node is not None and node.keyword == "":
            end = node.span.end
        command = Command(kind, Span(0, end), beginning.keyword, self.names(node, end), beginning.modifiers)
        problems = (*_unclosed(self.regions), *self.attributes.problems)
        return Piece(len(self.text), fresh, self.settled, self.regions, command, node, problems)

    def trimmed_end(self) -> int:
        """Where the command ends: after its last code, or after comments that follow it and are indented."""
        end = 0
        for kind, span, _ in self.regions:
            if kind in ("code", "string", "char", "name"):
                piece = self.view[span.start : span.end].rstrip()
                end = span.start + len(piece) if piece.strip() or kind != "code" else end
        for kind, span, _ in self.regions:
            if span.start >= end and kind in COMMENTS:
                if span.start and self.text[span.start - 1] == "\n":
                    break
                end = span.start + len(self.text[span.start : span.end].rstrip())
        return end

    def applied_elsewhere(self) -> None:
        bracket = skip_space(self.view, self.keyword_end)
        end = self.beginning.scan_from - self.start
        if bracket >= end:
            self.settled = False
            self.attributes.complain("this attribute list is not closed; end it with `]`", Span(0, self.keyword_end))
        else:
            for entry in self.attributes.blueprints(Span(bracket, end)):
                self.attributes.complain(
                    "a blueprint attribute given by `attribute`; write it before the declaration", entry.span
                )

    def node(self, end: int) -> NodeParts | None:
        entries: list[tuple[Span, BlueprintEntry]] = []
        for brackets in self.beginning.attributes:
            own = brackets.shifted(-self.start)
            entries += [(own, entry) for entry in self.attributes.blueprints(own)]
        if not entries:
            return None
        for _, entry in entries[1:]:
            self.attributes.complain("a second blueprint attribute on one declaration", entry.span)
        attribute, entry = entries[0]
        declares = self.beginning.kind in DECLARING
        if not declares:
            self.attributes.complain("a blueprint attribute without a declaration after it", attribute)
        keyword = self.beginning.keyword if declares else ""
        first = min(span.start for span in self.beginning.attributes) - self.start
        parts = read_declaration(self.text, self.view, keyword, self.keyword_end, end) if declares else None
        where = Span(self.keyword_end, self.keyword_end)
        body = parts.body if parts else None
        proof = keyword in ("theorem", "lemma")
        sign = body is not None and self.view.startswith(":=", body.start - 2)
        return NodeParts(
            label=entry.label,
            label_span=entry.label_span,
            span=Span(first, end),
            attribute=attribute,
            blueprint=entry.span,
            options=entry.options,
            modifiers=self.beginning.modifiers,
            keyword=keyword,
            name=parts.name if parts else "",
            name_span=parts.name_span if parts else where,
            signature=parts.signature if parts else where,
            body=body,
            body_kind=body_kind(self.view, body, after_sign=sign) if proof else "",
            uses=references(self.text, self.view, Span(self.keyword_end, end)),
        )

    def names(self, node: NodeParts | None, end: int) -> tuple[str, ...]:
        """Give what the command names: what it declares, opens, imports, sets or gives attributes to."""
        if node is not None:
            return (node.name,) if node.name else ()
        kind, at = self.beginning.kind, self.keyword_end
        if kind in DECLARING:
            name = read_declaration(self.text, self.view, self.beginning.keyword, at, end).name
            return (name,) if name else ()
        if kind == "attribute":
            at = self.beginning.scan_from - self.start
        elif kind not in ("open", "import", "namespace", "section", "end", "set_option", "other", "variable"):
            return ()
        found = _NAMES.match(self.view, at, end)
        names: list[str] = []
        for name in _NAME.finditer(self.view, *(found.span() if found else (at, at))):
            written = self.text[name.start() : name.end()]
            if written in _NAMES_END:
                break
            if kind != "open" or names or written not in ("scoped", "private"):
                names.append(plain_name(written))
        return tuple(names[:1] if kind == "set_option" else names)
