"""The text that Lean is given for a blueprint when there is no LeanArchitect: the same text, in the same places.

Blank in it are the `blueprint` attributes and what concerns LeanArchitect alone; of several files in one, the imports.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from ekiden_blueprint.lexer import blank, masked
from ekiden_blueprint.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ekiden_blueprint.model import BlueprintNode, Command
    from ekiden_blueprint.parser import BlueprintFile

_ARCHITECT = "Architect"
_OPTIONS = "blueprint."


class Place(NamedTuple):
    """A line of a file; lines count from 1."""

    path: str
    line: int


class JoinedProjection(NamedTuple):
    """Several files in one text, each in a scope of its own.

    Attributes:
        text: The text. Columns stay what they were.
        starts: For each file its path, and the line of the text at which its first line stands.
    """

    text: str
    starts: tuple[Place, ...]

    def place(self, line: int) -> Place:
        """Give the file and its line that a line of the text comes from."""
        index = max(0, bisect_right([start.line for start in self.starts], line) - 1)
        start = self.starts[index]
        return Place(start.path, max(1, line - start.line + 1))


@cache
def prelude() -> str:
    """Return the Lean text that must be elaborated before a projection: trusted, ours, without a header."""
    return (files("ekiden_blueprint") / "prelude.lean").read_text(encoding="utf-8")


def projected(file: BlueprintFile) -> str:
    """Return a file's text with everything blank that only LeanArchitect knows; length and positions stay."""
    return _without(file.source.text, _foreign(file))


def joined(parts: Sequence[BlueprintFile]) -> JoinedProjection:
    """Return files that import one another as one text, in their order.

    What one file opens, declares as variables or sets as options ends with it, as it does where files are modules.
    """
    own = {file.module for file in parts}
    imported = dict.fromkeys(
        name
        for file in parts
        for command in file.commands
        if command.kind == "import"
        for name in command.names
        if not _is_architect(name) and not any(name == module or name.endswith(f".{module}") for module in own)
    )
    lines = [" ".join(f"import {name}" for name in imported)]
    starts: list[Place] = []
    for file in parts:
        imports = [command.span for command in file.commands if command.kind == "import"]
        lines.append("section")
        starts.append(Place(file.source.path, len(lines) + 1))
        lines += _without(file.source.text, [*_foreign(file), *imports]).split("\n")
        lines += [*(f"end {name}".rstrip() for name in _open_scopes(file.commands)), "end"]
    return JoinedProjection("\n".join([*lines, ""]), tuple(starts))


def _foreign(file: BlueprintFile) -> list[Span]:
    spans = [
        command.span
        for command in file.commands
        if (command.kind == "import" and any(_is_architect(name) for name in command.names))
        or (command.kind == "set_option" and any(name.startswith(_OPTIONS) for name in command.names))
    ]
    view = masked(file.source.text, file.regions, strings=True) if file.nodes else ""
    for node in file.nodes:
        spans += _attribute_spans(view, node)
    return spans


def _attribute_spans(view: str, node: BlueprintNode) -> list[Span]:
    """Give what goes of the attribute list of a node: all of it, or the entry and one comma."""
    (start, end), (first, last) = node.attribute, node.blueprint
    before, after = view[start + 2 : first], view[last : end - 1]
    if not before.strip() and not after.strip():
        return [node.attribute]
    comma = last + after.index(",") if after.lstrip().startswith(",") else start + 2 + before.rindex(",")
    return [node.blueprint, Span(comma, comma + 1)]


def _without(text: str, spans: Iterable[Span]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end in sorted(spans):
        pieces += [text[done:start], blank(text[max(start, done) : end])]
        done = max(done, end)
    return "".join([*pieces, text[done:]])


def _open_scopes(commands: Iterable[Command]) -> list[str]:
    """Give the names of the scopes that are open at the end of a file, innermost first; Lean closes them with it."""
    scopes: list[str] = []
    for command in commands:
        if command.kind in ("namespace", "section"):
            scopes += ".".join(command.names).split(".")
        elif command.kind == "mutual":
            scopes.append("")
        elif command.kind == "end":
            for _ in ".".join(command.names).split("."):
                if scopes:
                    scopes.pop()
    return scopes[::-1]


def _is_architect(name: str) -> bool:
    return name.partition(".")[0] == _ARCHITECT
