"""One version of a blueprint, and what each node of it states, as far as that can be told.

Lean's hashes tell it where Lean has come to its end. Where it has not, the text does: of the node's signature, together
with those of all nodes whose names occur in it, all the way down. That takes more for changed than is, never less, as
long as the rules on commands between nodes hold.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from ekiden_blueprint.attributes import attribute_entries
from ekiden_blueprint.edges import DeclarationFacts, FactIndex, plain_name
from ekiden_blueprint.lexer import masked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ekiden_blueprint.model import BlueprintNode
    from ekiden_blueprint.parser import BlueprintFile
    from ekiden_blueprint.project import Project

WORD = re.compile(r"[^\W\d][\w']*")
_WITHOUT_EFFECT = frozenset(
    """
    aesop bound cases_eliminator congr continuity deprecated elab_as_elim ext fun_prop gcongr grind
    induction_eliminator inherit_doc inline measurability mono nolint nontriviality norm_cast push_cast refl rfl
    simp simps specialize stacks symm trans
    """.split()  # noqa: SIM905
)
"""Attributes that tell tactics and readers something, and change no later statement."""
TARGET = "theorem"
"""The keyword of what a blueprint is for."""


def last_part(name: str) -> str:
    """Give the end of a name, as any text that means it holds it."""
    return plain_name(name).rstrip("»").rpartition(".")[2]


class ComparedDeclaration(DeclarationFacts, Protocol):
    """What Lean says of one declaration."""

    @property
    def type_hash(self) -> str:
        """A hash of its type."""
        ...

    @property
    def meaning_hash(self) -> str:
        """A hash of its type, and of the value unless it is a theorem, with definitions of the same text unfolded."""
        ...


class ComparedFacts(Protocol):
    """What Lean says of all declarations of one version."""

    @property
    def outcome(self) -> str:
        """`complete`, or how the work ended before that."""
        ...

    @property
    def declarations(self) -> Sequence[ComparedDeclaration]:
        """The declarations."""
        ...


class Version:
    """One version of a blueprint, and what Lean knows of it.

    Args:
        project: Its files.
        facts: What Lean knows; it counts for nothing where Lean came to no end.
    """

    def __init__(self, project: Project, facts: ComparedFacts | None = None) -> None:
        self.project = project
        self.facts = facts if facts is not None and facts.outcome == "complete" else None
        self.nodes: dict[str, BlueprintNode] = {name: found[0] for name, found in project.by_name.items()}
        self._files = {file.source.path: file for file in project.files}

    def file_of(self, node: BlueprintNode) -> BlueprintFile:
        """Give the file that a node is in."""
        return self._files[node.path]

    def text(self, node: BlueprintNode, start: int, end: int) -> str:
        """Give a piece of the file that a node is in."""
        return self._files[node.path].source.text[start:end]

    def code(self, node: BlueprintNode, start: int, end: int) -> str:
        """Give the same without comments and strings."""
        return self._codes[node.path][start:end]

    def attributes(self, node: BlueprintNode) -> list[tuple[str, str]]:
        """Give the attributes of a node besides `blueprint`: their names, and how they are written."""
        start, end = node.span.start, max(node.name_span.start, node.attribute.end)
        code = self._quoted_codes[node.path][start:end]
        own = node.blueprint.shifted(-start)
        return [
            (entry.name, " ".join(self.code(node, *entry.span.shifted(start)).split()))
            for entry in attribute_entries(code)
            if not own.holds(entry.span)
        ]

    @cached_property
    def declarations(self) -> dict[str, ComparedDeclaration]:
        """What Lean knows, by name without guillemets."""
        return {plain_name(known.name): known for known in self.facts.declarations} if self.facts else {}

    @cached_property
    def index(self) -> FactIndex | None:
        """What Lean knows, by node."""
        return None if self.facts is None else FactIndex(self.facts, self.nodes)

    @cached_property
    def outside(self) -> dict[str, list[tuple[int, str]]]:
        """For each file the commands that are no nodes: their place, and their text without comments and blanks."""
        found: dict[str, list[tuple[int, str]]] = {}
        for file in self.project.files:
            placed = enumerate(file.commands)
            code = self._codes[file.source.path]
            found[file.source.path] = [
                (place, " ".join(code[slice(*command.span)].split()))
                for place, command in placed
                if command.kind != "node"
            ]
        return found

    @cached_property
    def _opened(self) -> set[str]:
        commands = (command for file in self.project.files for command in file.commands)
        return {last_part(name) for each in commands if each.kind in ("open", "namespace") for name in each.names}

    def is_opened(self, node: BlueprintNode) -> bool:
        """Tell whether some text may name what lies in the namespace of a node (fields, cases) without naming it."""
        return last_part(node.full_name) in self._opened

    def meaning_in_text(self, node: BlueprintNode) -> str:
        """Name what a node states, by the text."""
        return self._reached[node.full_name]

    @cached_property
    def _codes(self) -> dict[str, str]:
        return {file.source.path: masked(file.source.text, file.regions, strings=False) for file in self.project.files}

    @cached_property
    def _quoted_codes(self) -> dict[str, str]:
        """The same with quotes alone for strings, so that nothing in them is taken for code."""
        return {
            path: "".join(
                '"' * (end - start) if kind in ("string", "char") else self._codes[path][start:end]
                for kind, (start, end), _ in file.regions
            )
            for path, file in self._files.items()
        }

    @cached_property
    def _reached(self) -> dict[str, str]:
        """For each node a hash of what it states and of what all nodes state that its words can mean."""
        own = {name: self._stated(node) for name, node in self.nodes.items()}
        words: defaultdict[str, set[str]] = defaultdict(set)
        odd: defaultdict[str, set[str]] = defaultdict(set)  # such as those with blanks in guillemets
        for name in self.nodes:
            last = last_part(name)
            (words if WORD.fullmatch(last) else odd)[last].add(name)
        always = [
            name
            for name, node in self.nodes.items()
            if node.keyword == "instance" or self._effects(node) or self.is_opened(node)
        ]
        places = {name: place for place, name in enumerate(self.nodes)}
        next_to = {
            name: {used for word in set(WORD.findall(text)) for used in words.get(word, ())}
            | {used for word in odd if word in text for used in odd[word]}
            for name, text in own.items()
        }
        outside = " ".join(text for path in sorted(self.outside) for _, text in self.outside[path])
        found: dict[str, str] = {}
        for name, node in self.nodes.items():
            seen, waiting = {name}, [*next_to[name], *always]
            while waiting:
                if (used := waiting.pop()) not in seen:
                    seen.add(used)
                    waiting += next_to[used]
            before = sorted(used for used in seen if places[used] < places[name])
            texts = [own[name], *sorted(own[used] for used in seen - {name}), *before]
            if node.keyword == TARGET:
                texts.append(outside)
            found[name] = hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return found

    def _stated(self, node: BlueprintNode) -> str:
        """Give what a node states: its name and signature, and for a definition its body, with single blanks."""
        whole = node.is_definition or node.body is None or self.is_opened(node)
        end = node.span.end if whole else node.signature.end
        said = self.code(node, node.signature.start, end).split()
        return " ".join((*self._effects(node), node.keyword, node.full_name, *said))

    def _effects(self, node: BlueprintNode) -> list[str]:
        """Give the attributes of a node by which later text may mean something else."""
        return sorted(text for name, text in self.attributes(node) if name not in _WITHOUT_EFFECT)
