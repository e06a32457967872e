"""What of a node may be edited: its spans in a file, and the frozen text between them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ekiden_blueprint import lex, masked
from ekiden_blueprint.project import nearest_names
from ekiden_patch.errors import PatchError
from ekiden_policies.edit_scope import EditableSpan, Part, Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_blueprint import BlueprintFile, BlueprintNode, Command

_PROSE: tuple[Part, ...] = ("statement", "proof", "title")
_ENDS_IN_IN = re.compile(r"(?<![\w.])in\s*\Z")
_HOLE = re.compile(r"(?<![\w.])sorry")
_BLANKS = " \t\r\n"


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as it stands in a file, and what of it may be edited.

    Attributes:
        file: The file.
        node: The node.
        anchor: Where the helper area begins.
        head: Where the helper area ends: at the node, or at what acts on it (`open .. in`, a doc comment).
        body_offset: How many characters of the body's beginning are frozen; None when all of it is.
        spans: What may be edited, in order.
    """

    file: BlueprintFile
    node: BlueprintNode
    anchor: int
    head: int
    body_offset: int | None
    spans: tuple[EditableSpan, ...]

    @property
    def text(self) -> str:
        """The file's text."""
        return self.file.source.text

    @property
    def helper_text(self) -> str:
        """The text of the helper area."""
        return self.text[self.anchor : self.head]

    @property
    def frozen(self) -> tuple[str, ...]:
        """The text before, between and after the editable spans."""
        edges = [0, *(edge for span in self.spans for edge in (span.start, span.end)), len(self.text)]
        return tuple(self.text[start:end] for start, end in list(pairwise(edges))[::2])

    def span(self, part: Part) -> EditableSpan | None:
        """Return the span of one part."""
        return next((span for span in self.spans if span.part == part), None)

    def place(self, offset: int) -> Place:
        """Return the line and column of an offset."""
        return Place(*self.file.source.position(offset))


def nodes_named(file: BlueprintFile, name: str) -> list[BlueprintNode]:
    """Return the nodes of a Lean name, with its namespaces or, where no node has that full name, as it is declared."""
    full = [node for node in file.nodes if node.full_name == name]
    return full or [node for node in file.nodes if node.name == name]


def view_node(
    file: BlueprintFile, node: BlueprintNode, *, anchor: int | None = None, body_offset: int | None = -1
) -> NodeView:
    """Return a node with its editable spans.

    Args:
        file: The file.
        node: One of its nodes.
        anchor: Where the helper area begins; by default at the single blank line before the node, where there is one.
        body_offset: How many characters of the body's beginning are frozen; by default what its form asks for.
    """
    head = _head(file, node)
    anchor = _anchor(file.source.text, head) if anchor is None else anchor
    if body_offset == -1:
        body_offset = body_edge(file, node)
    found: list[tuple[int, int, Part]] = [(anchor, max(anchor, head), "helper_area")]
    for part in _PROSE:
        option = node.option(part)
        if option is not None and option.form in ("doc", "string"):
            found.append((option.value_span.start, option.value_span.end, part))
    if node.body is not None and body_offset is not None:
        start, end = node.body.start + body_offset, _line_end(file.source.text, node.span.end)
        if start <= end:
            found.append((start, end, "body"))
    position = file.source.position
    spans = tuple(
        EditableSpan(part, start, end, Place(*position(start)), Place(*position(end)))
        for start, end, part in sorted(found)
    )
    return NodeView(file, node, anchor, head, body_offset, spans)


def body_edge(file: BlueprintFile, node: BlueprintNode, *, placeholder_line: bool = True) -> int | None:
    """Return how many characters at the beginning of a node's body are frozen; None when all of it is.

    Nothing is after `:=`; but all before the line of a placeholder, where that stands alone on its line. `where` and
    the first alternative up to its `=>` are frozen, since they decide where the statement ends.
    """
    if node.body is None:
        return None
    text = file.source.text
    code = code_of(text[node.body.start : node.body.end])
    if not text.endswith(":=", 0, node.body.start):
        arrow = code.find("=>")
        edge = len("where") if code.startswith("where") else arrow + 2
        return edge if code.startswith("where") or arrow >= 0 else None
    if placeholder_line and node.body_kind in ("by_sorry", "by_sorry_using"):
        hole = _HOLE.search(code)
        return code.rfind("\n", 0, hole.start()) + 1 if hole else 0
    return 0


def code_of(text: str) -> str:
    """Return a text with its comments and strings blanked out."""
    return masked(text, lex(text), strings=True)


def require_node(file: BlueprintFile, name: str) -> BlueprintNode:
    """Return the one node of a name.

    Raises:
        PatchError: There is none, or there are several.
    """
    import difflib

    found = nodes_named(file, name)
    if len(found) == 1:
        return found[0]
    details: dict[str, object] = {"node": name, "file": file.source.path}
    if found:
        lines = [file.source.position(node.span.start).line for node in found]
        message = f"{file.source.path!r} has {len(found)} nodes {name!r}, at lines {', '.join(map(str, lines))}."
        raise PatchError("node_not_found", message, {**details, "lines": lines})
    near = difflib.get_close_matches(name, [node.full_name for node in file.nodes], n=3, cutoff=0.5)
    hint = f"; {nearest_names(near)}" if near else ""
    message = f"{file.source.path!r} has no node {name!r} that can be read{hint}."
    raise PatchError("node_not_found", message, {**details, "nearest": near})


def _head(file: BlueprintFile, node: BlueprintNode) -> int:
    """Return where the commands begin that act on a node alone: its own, and each `.. in` before it."""
    commands = [command for command in file.commands if command.span.start <= node.span.start]
    if not commands:
        return node.span.start
    head = commands.pop().span.start
    while commands and _acts_on_next(file.source.text, commands[-1]):
        head = commands.pop().span.start
    return head


def _acts_on_next(text: str, command: Command) -> bool:
    if command.kind in ("node", "declaration", "import", "module_doc", "section", "end", "namespace"):
        return False
    return _ENDS_IN_IN.search(code_of(text[command.span.start : command.span.end])) is not None


def _anchor(text: str, head: int) -> int:
    if head == 0 or text[head - 1] != "\n":
        return head
    start = text.rfind("\n", 0, head - 1) + 1
    return head if text[start:head].strip(_BLANKS) else start


def _line_end(text: str, at: int) -> int:
    """Return the end of the line, with its newline, when nothing follows on it."""
    newline = text.find("\n", at)
    end = len(text) if newline < 0 else newline + 1
    return at if text[at:end].strip(_BLANKS) else end


def differing(old: Sequence[str], new: Sequence[str]) -> list[int]:
    """Return which frozen pieces differ; all of them when their number does."""
    if len(old) != len(new):
        return list(range(len(old)))
    return [index for index, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
