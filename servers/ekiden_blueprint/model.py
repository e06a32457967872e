"""What a blueprint file consists of: commands, nodes, and where each of their parts stands."""

from __future__ import annotations

import re
from dataclasses import dataclass
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
class NodeParts:
    """The parts of a node, counted from where its command begins."""

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


@dataclass(frozen=True, slots=True)
class BlueprintNode:
    """One `blueprint` attribute and the declaration after it.

    A node is its parts and the offset at which its command begins, so that an edit elsewhere moves it at no cost.
    """

    path: str
    offset: int
    parts: NodeParts
    namespace: str = ""

    @property
    def label(self) -> str:
        """The label, as Lean reads it; empty when there is none."""
        return self.parts.label

    @property
    def modifiers(self) -> tuple[str, ...]:
        """The modifiers before the keyword."""
        return self.parts.modifiers

    @property
    def keyword(self) -> str:
        """The keyword; empty when no declaration follows."""
        return self.parts.keyword

    @property
    def name(self) -> str:
        """The Lean name as declared; empty when anonymous."""
        return self.parts.name

    @property
    def body_kind(self) -> BodyKind:
        """What kind of proof this is; empty for what is no proof node."""
        return self.parts.body_kind

    @property
    def label_span(self) -> Span:
        """Where the label stands, without its quotes."""
        return self.parts.label_span.shifted(self.offset)

    @property
    def span(self) -> Span:
        """From the `@[` to the end of the declaration."""
        return self.parts.span.shifted(self.offset)

    @property
    def attribute(self) -> Span:
        """The whole attribute list that holds `blueprint`."""
        return self.parts.attribute.shifted(self.offset)

    @property
    def blueprint(self) -> Span:
        """The `blueprint ..` entry in it."""
        return self.parts.blueprint.shifted(self.offset)

    @property
    def name_span(self) -> Span:
        """Where the name stands; empty when the node is anonymous."""
        return self.parts.name_span.shifted(self.offset)

    @property
    def signature(self) -> Span:
        """From after the name to the body."""
        return self.parts.signature.shifted(self.offset)

    @property
    def body(self) -> Span | None:
        """What follows `:=`, or the body from its `where` or its first bar on."""
        return self.parts.body and self.parts.body.shifted(self.offset)

    @property
    def options(self) -> tuple[Option, ...]:
        """The options as they are written, unknown and repeated ones too."""
        return tuple(option.shifted(self.offset) for option in self.parts.options)

    @property
    def uses(self) -> tuple[Reference, ...]:
        """The names in `sorry_using [..]`."""
        return tuple(Reference(use.name, use.span.shifted(self.offset)) for use in self.parts.uses)

    @property
    def is_proof(self) -> bool:
        """Whether this is a vertex of the proof graph."""
        return self.parts.keyword in PROOF_KEYWORDS

    @property
    def is_definition(self) -> bool:
        """Whether this is global context, which must be complete."""
        return self.parts.keyword in DEFINITION_KEYWORDS

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
        found = next((option for option in reversed(self.parts.options) if option.name == name), None)
        return found and found.shifted(self.offset)

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
