"""What the rules look at, and where they report."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ekiden_blueprint.edges import FactIndex, plain_name
from ekiden_blueprint.findings import Finding
from ekiden_blueprint.lexer import COMMENTS, inside_identifier, masked
from ekiden_blueprint.project import nearest_names
from ekiden_blueprint.rules.table import RULES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ekiden_blueprint.edges import Edges
    from ekiden_blueprint.findings import Fix
    from ekiden_blueprint.model import BlueprintNode
    from ekiden_blueprint.parser import BlueprintFile
    from ekiden_blueprint.project import Project
    from ekiden_blueprint.rules.allowances import Allowances
    from ekiden_blueprint.rules.facts import CheckedDeclaration, CheckedFacts
    from ekiden_blueprint.spans import Span


_MOST_SEARCHES, _LONGEST_SEARCHED = 40, 200
_STARTS_NAME = re.compile(r"\w")


class Word(NamedTuple):
    """A word in code, and where it stands."""

    text: str
    start: int
    end: int


class Place:
    """One file, with what several rules need of it."""

    def __init__(self, file: BlueprintFile) -> None:
        self.file = file
        self.path = file.source.path
        self.text = file.source.text
        self.nodes = file.nodes
        self._starts = [node.span.start for node in file.nodes]

    @cached_property
    def code(self) -> str:
        """The text with comments, strings and characters blank."""
        return masked(self.text, self.file.regions, strings=True)

    @cached_property
    def comments(self) -> list[Span]:
        """Where the comments are, those of the prose included."""
        return [region.span for region in self.file.regions if region.kind in COMMENTS]

    @property
    def header_end(self) -> int:
        """Where the first node begins."""
        return self._starts[0] if self._starts else len(self.text)

    def node_at(self, offset: int) -> BlueprintNode | None:
        """Give the node in which an offset lies."""
        index = bisect_right(self._starts, offset) - 1
        if index >= 0 and offset < self.nodes[index].span.end:
            return self.nodes[index]
        return None

    @cached_property
    def unread(self) -> tuple[Span, ...]:
        """The commands whose attribute list is not closed, so that nothing in them can be told apart."""
        opened = {span.start for _, span in self.file.problems if self.file.source.slice(span) == "@["}
        return tuple(command.span for command in self.file.commands if command.span.start in opened)

    def words(self, pattern: re.Pattern[str], start: int = 0, end: int | None = None) -> Iterator[Word]:
        """Give the matches of a pattern in code that do not continue a name."""
        for found in pattern.finditer(self.code, start, len(self.code) if end is None else end):
            at = found.start()
            if not (at and _STARTS_NAME.match(found.group()) and inside_identifier(self.code, at)):
                yield Word(found.group(), at, found.end())


class Scene:
    """A project, what Lean said of it, and the findings so far."""

    def __init__(self, project: Project, edges: Edges, allowances: Allowances, facts: CheckedFacts | None) -> None:
        self.project = project
        self.places = tuple(Place(file) for file in project.files)
        self.edges = edges
        self.allowances = allowances
        self.ending = facts
        self.facts = facts if facts is not None and facts.outcome == "complete" else None
        self.findings: list[Finding] = []
        self._searches = 0
        self._by_path = {place.path: place for place in self.places}

    @cached_property
    def order(self) -> dict[str, int]:
        """The place of each name among the project's nodes."""
        order: dict[str, int] = {}
        for index, node in enumerate(self.project.nodes):
            order.setdefault(node.full_name, index)
        return order

    @cached_property
    def index(self) -> FactIndex | None:
        """What Lean knows, by node."""
        return None if self.facts is None else FactIndex(self.facts, self.project.by_name)

    @cached_property
    def declarations(self) -> dict[str, CheckedDeclaration]:
        """What Lean knows, by name without guillemets."""
        return {plain_name(known.name): known for known in self.facts.declarations} if self.facts else {}

    def is_visible(self, name: str, node: BlueprintNode) -> bool:
        """Tell whether the file of a node sees another node: it has it, or imports the file that does."""
        path = self.project.by_name[name][0].path
        return path == node.path or path in self.project.imported[node.path]

    def nearest(self, word: str, known: Iterable[str]) -> str:
        """Write what resembles a word, for a message; only for the first few, since the search is slow."""
        self._searches += 1
        if self._searches > _MOST_SEARCHES or len(word) > _LONGEST_SEARCHED:
            return ""
        close = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
        return f"; {nearest_names(close)}" if close else ""

    def place_of(self, node: BlueprintNode) -> Place:
        """Give the file that a node is in."""
        return self._by_path[node.path]

    def report(self, rule: str, place: Place, span: Span, message: str, fix: Fix | None = None) -> None:
        """Note a breach of a rule."""
        source = place.file.source
        start, end = source.position(span.start), source.position(span.end)
        self.findings.append(Finding(rule, RULES[rule].severity, message, place.path, span, start, end, fix))

    def report_node(self, rule: str, node: BlueprintNode, span: Span, message: str, fix: Fix | None = None) -> None:
        """Note a breach of a rule by a node."""
        self.report(rule, self.place_of(node), span, message, fix)


def listed(names: Iterable[str]) -> str:
    """Write names for a message, each quoted."""
    return ", ".join(repr(name) for name in names)
