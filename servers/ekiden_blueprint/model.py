"""What a blueprint file consists of: commands, nodes, and where each of their parts stands."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from ekiden_blueprint.spans import Span

OptionForm = Literal["doc", "string", "other"]
BodyKind = Literal["complete", "by_sorry", "by_sorry_using", "invalid", ""]
CommandKind = Literal[
    "import",
    "node",
    "declaration",
    "open",
    "section",
    "end",
    "namespace",
    "variable",
    "set_option",
    "attribute",
    "notation",
    "macro",
    "syntax",
    "mutual",
    "axiom",
    "example",
    "opaque",
    "module_doc",
    "other",
]

PROOF_KEYWORDS = frozenset({"theorem", "lemma"})
DEFINITION_KEYWORDS = frozenset({"def", "abbrev", "structure", "inductive", "class", "instance"})

_CREF = re.compile(r"\\[cC]ref\s*\{([^{}]*)\}")
_LABEL = re.compile(r"[^,\s](?:[^,]*[^,\s])?")


class SyntaxProblem(NamedTuple):
    """Something that cannot be read, or that can be read in two ways."""

    message: str
    span: Span


class Reference(NamedTuple):
    """A label in a cross-reference or a name in `sorry_using`, where it stands."""

    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Option:
    """One `(name := value)` of a blueprint attribute; `value` is the raw text of `value_span`."""

    name: str
    span: Span
    value: str
    value_span: Span
    form: OptionForm

    def shifted(self, by: int) -> Option:
        """Give the same option, moved."""
        return Option(self.name, self.span.shifted(by), self.value, self.value_span.shifted(by), self.form)


@dataclass(frozen=True, slots=True)
class BlueprintNode:
    """One `blueprint` attribute and the declaration after it."""

    path: str
    label: str
    label_span: Span
    span: Span
    attribute: Span
    blueprint: Span
    options: tuple[Option, ...]
    modifiers: tuple[str, ...]
    keyword: str
    name: str
    name_span: Span
    signature: Span
    body: Span | None
    body_kind: BodyKind
    uses: tuple[Reference, ...]
    namespace: str = ""

    @property
    def is_proof(self) -> bool:
        """Whether this is a vertex of the proof graph."""
        return self.keyword in PROOF_KEYWORDS

    @property
    def is_definition(self) -> bool:
        """Whether this is global context, which must be complete."""
        return self.keyword in DEFINITION_KEYWORDS

    @property
    def full_name(self) -> str:
        """The Lean name with the namespaces that are open where the node stands; empty when anonymous."""
        if self.name.startswith("_root_."):
            return self.name.removeprefix("_root_.")
        return f"{self.namespace}.{self.name}" if self.name and self.namespace else self.name

    @property
    def statement(self) -> Option | None:
        """The prose of the statement."""
        return self.option("statement")

    @property
    def proof(self) -> Option | None:
        """The prose of the proof."""
        return self.option("proof")

    @property
    def title(self) -> Option | None:
        """The title."""
        return self.option("title")

    def option(self, name: str) -> Option | None:
        """Give the option of this name; the last one when it is repeated."""
        return next((option for option in reversed(self.options) if option.name == name), None)

    def crefs_in(self, option: Option | None) -> tuple[Reference, ...]:
        """Give the labels that the text of an option refers to with `cref`, in order."""
        if option is None:
            return ()
        start = option.value_span.start
        found: list[Reference] = []
        for cref in _CREF.finditer(option.value):
            found += [
                Reference(label.group(), Span(start + label.start(), start + label.end()))
                for label in _LABEL.finditer(option.value, cref.start(1), cref.end(1))
            ]
        return tuple(found)

    def placed(self, by: int, path: str) -> BlueprintNode:
        """Give the same node, moved, in a file of that path."""
        if not by and path == self.path:
            return self
        return replace(
            self,
            path=path,
            label_span=self.label_span.shifted(by),
            span=self.span.shifted(by),
            attribute=self.attribute.shifted(by),
            blueprint=self.blueprint.shifted(by),
            options=tuple(option.shifted(by) for option in self.options),
            name_span=self.name_span.shifted(by),
            signature=self.signature.shifted(by),
            body=self.body and self.body.shifted(by),
            uses=tuple(Reference(use.name, use.span.shifted(by)) for use in self.uses),
        )


@dataclass(frozen=True, slots=True)
class Command:
    """One top-level command, from its doc comment, attributes and modifiers on; `open .. in` is one of its own."""

    kind: CommandKind
    span: Span
    keyword: str
    names: tuple[str, ...]
    modifiers: tuple[str, ...] = ()

    def shifted(self, by: int) -> Command:
        """Give the same command, moved."""
        return Command(self.kind, self.span.shifted(by), self.keyword, self.names, self.modifiers) if by else self
