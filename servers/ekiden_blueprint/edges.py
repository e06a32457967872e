"""Which node rests on which: from the environment that Lean made of a blueprint, or from what its text declares."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from ekiden_blueprint.model import PROOF_KEYWORDS

if TYPE_CHECKING:
    from ekiden_blueprint.model import BlueprintNode, Reference
    from ekiden_blueprint.project import Project

EdgeOrigin = Literal["declared", "elaborated"]
"""Whether edges come from the text (`cref`, `sorry_using`) or from what Lean made of it."""

SORRY = "sorryAx"
ASSUMPTION_KEYWORDS = frozenset({"axiom"})
"""A node with such a keyword is an assumption: named, drawn and counted, never proved."""

_PRIVATE = re.compile(r"^_private\.(?:.*?\.)?\d+\.")
_QUOTES = str.maketrans("", "", "«»")


class DeclarationFacts(Protocol):
    """What Lean knows of one declaration of a blueprint, nodes and all that was made along with them."""

    @property
    def kind(self) -> str:
        """What the environment calls it: theorem, definition, axiom, opaque, inductive, constructor, ..."""
        ...

    @property
    def type_hash(self) -> str:
        """Names its type: equal for equal types."""
        ...

    @property
    def value_hash(self) -> str:
        """Names its value; empty where there is none."""
        ...

    @property
    def axioms(self) -> tuple[str, ...]:
        """All axioms that it rests on, through whatever it uses."""
        ...

    @property
    def sorry(self) -> bool:
        """Whether its own type or value has a `sorry`; one in a declaration that it uses does not count."""
        ...

    @property
    def uses_type(self) -> tuple[str, ...]:
        """The constants in its type."""
        ...

    @property
    def uses_value(self) -> tuple[str, ...]:
        """The constants in its value."""
        ...


LeanFacts = Mapping[str, DeclarationFacts]
"""Facts by the declaration's name as the environment has it (`_private.Module.0.name` for a private one)."""


@dataclass(frozen=True, slots=True)
class Edges:
    """Which nodes each node rests on; all tuples are in the order of the files, and no node rests on itself.

    Vertices are lemmas, theorems and assumptions. The three `through` maps share the keys of `parents`.

    Attributes:
        parents: For each vertex all that it rests on: the union of the three ways below.
        through_type: What its statement names, in Lean.
        through_value: What its proof names, in Lean. Declared edges all count as these.
        through_definitions: What only definitional nodes that it uses rest on.
        definitions: For each node of any kind the definitional nodes that it uses directly.
        carriers: For each edge (child, parent) in `through_definitions` the definitional nodes between, child's first.
        origin: Where the edges come from.
        unknown: With elaborated edges: nodes that Lean has no declaration of; for these the declared edges are taken.
    """

    parents: Mapping[str, tuple[str, ...]]
    through_type: Mapping[str, tuple[str, ...]]
    through_value: Mapping[str, tuple[str, ...]]
    through_definitions: Mapping[str, tuple[str, ...]]
    definitions: Mapping[str, tuple[str, ...]]
    carriers: Mapping[tuple[str, str], tuple[str, ...]]
    origin: EdgeOrigin
    unknown: tuple[str, ...] = ()

    def direct(self, name: str) -> tuple[str, ...]:
        """Give what a vertex rests on without a definitional node between."""
        indirect = self.through_definitions[name]
        return tuple(parent for parent in self.parents[name] if parent not in indirect)


@dataclass(frozen=True, slots=True)
class _Uses:
    """The nodes, of any kind, that one node uses without another node between."""

    in_type: frozenset[str]
    in_value: frozenset[str]


def is_vertex(node: BlueprintNode) -> bool:
    """Tell whether a node is a vertex of the graph: a lemma, a theorem or an assumption."""
    return node.keyword in PROOF_KEYWORDS or node.keyword in ASSUMPTION_KEYWORDS


def edges_of(project: Project, facts: LeanFacts | None = None) -> Edges:
    """Give the edges of a project: elaborated ones with facts, declared ones without."""
    nodes = _first_nodes(project)
    if facts is None:
        return _assembled(nodes, lambda node: _declared(project, nodes, node), "declared", ())
    index = FactIndex(facts, nodes)
    unknown = tuple(name for name in nodes if index.constant(name) is None)
    return _assembled(
        nodes,
        lambda node: _declared(project, nodes, node) if node.full_name in unknown else index.node_uses(node.full_name),
        "elaborated",
        unknown,
    )


class FactIndex:
    """Facts from Lean by node: private names resolved, and what was made along with a node counted as the node's.

    Args:
        facts: What Lean knows.
        nodes: The names of the nodes.
    """

    def __init__(self, facts: LeanFacts, nodes: Iterable[str]) -> None:
        self._facts = facts
        self._nodes = frozenset(nodes)
        self._constants: dict[str, str] = {}
        self._parts: dict[str, list[str]] = {}
        for constant in facts:
            # a public declaration goes before a private one of the same name
            if self._constants.setdefault(plain_name(constant), constant) != constant and not is_private(constant):
                self._constants[plain_name(constant)] = constant
        for constant, known in facts.items():
            if known.kind in ("constructor", "ctor"):
                self._parts.setdefault(plain_name(constant).rpartition(".")[0], []).append(constant)

    def constant(self, node: str) -> str | None:
        """Give the name that Lean has for a node, if it has one."""
        return self._constants.get(plain_name(node))

    def of_node(self, node: str) -> DeclarationFacts | None:
        """Give what Lean knows of a node's own declaration, if it has it."""
        constant = self.constant(node)
        return None if constant is None else self._facts[constant]

    def has_own_sorry(self, node: str) -> bool:
        """Tell whether a node's own declaration, or one that was made along with it, has a `sorry`."""
        constants, _ = self._reach(self._roots(node))
        return any(self._facts[constant].sorry or self._names_sorry(constant) for constant in constants)

    def node_uses(self, node: str) -> _Uses:
        """Give the nodes that a node uses, through what was made along with it and through bare declarations."""
        roots = self._roots(node)
        types = [use for root in roots for use in self._facts[root].uses_type]
        values = [use for root in roots for use in self._facts[root].uses_value]
        return _Uses(self._reach(types, node)[1], self._reach(values, node)[1])

    def _roots(self, node: str) -> list[str]:
        constant = self.constant(node)
        return [] if constant is None else [constant, *self._parts.get(plain_name(node), [])]

    def _names_sorry(self, constant: str) -> bool:
        known = self._facts[constant]
        return SORRY in known.uses_type or SORRY in known.uses_value

    def _reach(self, start: Iterable[str], node: str = "") -> tuple[set[str], frozenset[str]]:
        """Walk from constants through those that belong to no node; give these, and the nodes where the walk ends."""
        start = list(start)
        own = frozenset(self._roots(node)) if node else frozenset(start)
        walked: set[str] = set()
        ends: set[str] = set()
        waiting = start
        while waiting:
            constant = waiting.pop()
            if constant in walked or constant not in self._facts:
                continue
            owner = self._owner(constant)
            if owner is not None and constant not in own:
                ends.add(owner)
                continue
            walked.add(constant)
            known = self._facts[constant]
            if not (node and constant in own):  # what the node itself uses is where the walk began
                waiting += [*known.uses_type, *known.uses_value]
        return walked, frozenset(ends - {node})

    def _owner(self, constant: str) -> str | None:
        """Give the node that a constant is, or is a constructor of."""
        plain = plain_name(constant)
        if plain in self._nodes:
            return plain
        above = plain.rpartition(".")[0]
        return above if above in self._nodes and constant in self._parts.get(above, ()) else None


def plain_name(constant: str) -> str:
    """Give a name as it is written: without the prefix of private ones, and without guillemets."""
    return _PRIVATE.sub("", constant).translate(_QUOTES)


def resolved(written: str, namespace: str, known: Container[str]) -> str | None:
    """Give the known name that a written one means in a namespace, the innermost first; None when it means none."""
    while namespace:
        if (inside := f"{namespace}.{written}") in known:
            return inside
        namespace = namespace.rpartition(".")[0]
    return written if written in known else None


def is_private(constant: str) -> bool:
    """Tell whether a name in an environment is that of a private declaration."""
    return _PRIVATE.match(constant) is not None


def _first_nodes(project: Project) -> dict[str, BlueprintNode]:
    return {name: nodes[0] for name, nodes in project.by_name.items()}


def _declared(project: Project, nodes: Mapping[str, BlueprintNode], node: BlueprintNode) -> _Uses:
    """Read edges from the text.

    Statements are prose: what a lemma's statement refers to is no edge, unless it is a definition. A definition has
    nothing but its statement, which counts for what stands before it.
    """
    proof = _named(project, node.crefs_in(node.proof))
    proof |= {name for use in node.uses if (name := resolved(use.name, node.namespace, nodes))}
    statement = _named(project, node.crefs_in(node.statement))
    if is_vertex(node):
        of_statement = {name for name in statement if not is_vertex(nodes[name])}
    else:
        places = {name: place for place, name in enumerate(nodes)}
        own = places[node.full_name]
        of_statement = {name for name in statement if places[name] < own}
    return _Uses(frozenset(of_statement), frozenset(proof))


def _named(project: Project, references: Iterable[Reference]) -> set[str]:
    found = (project.by_label.get(reference.name, ()) for reference in references)
    return {nodes[0].full_name for nodes in found if nodes and nodes[0].name}


def _assembled(
    nodes: Mapping[str, BlueprintNode],
    uses_of: Callable[[BlueprintNode], _Uses],
    origin: EdgeOrigin,
    unknown: tuple[str, ...],
) -> Edges:
    places = {name: place for place, name in enumerate(nodes)}

    def in_order(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(names, key=places.__getitem__))

    uses = {name: uses_of(node) for name, node in nodes.items()}
    definitions = {
        name: in_order(used for used in (use.in_type | use.in_value) - {name} if not is_vertex(nodes[used]))
        for name, use in uses.items()
    }
    ways: tuple[dict[str, tuple[str, ...]], ...] = ({}, {}, {}, {})
    carriers: dict[tuple[str, str], tuple[str, ...]] = {}
    for name, node in nodes.items():
        if not is_vertex(node):
            continue
        by_type = {used for used in uses[name].in_type if is_vertex(nodes[used])} - {name}
        by_value = {used for used in uses[name].in_value if is_vertex(nodes[used])} - {name}
        carried = _carried(name, nodes, uses, definitions)
        beyond = {parent: chain for parent, chain in carried.items() if parent not in by_type | by_value | {name}}
        carriers.update({(name, parent): chain for parent, chain in beyond.items()})
        found = (by_type | by_value | beyond.keys(), by_type, by_value, beyond.keys())
        for way, names in zip(ways, found, strict=True):
            way[name] = in_order(names)
    return Edges(*ways, definitions=definitions, carriers=carriers, origin=origin, unknown=unknown)


def _carried(
    name: str,
    nodes: Mapping[str, BlueprintNode],
    uses: Mapping[str, _Uses],
    definitions: Mapping[str, tuple[str, ...]],
) -> dict[str, tuple[str, ...]]:
    """Give what definitional nodes used by a node rest on, each with the shortest chain of them that leads there."""
    found: dict[str, tuple[str, ...]] = {}
    chains: list[tuple[str, ...]] = [(definition,) for definition in definitions[name]]
    seen = set(definitions[name])
    for chain in chains:  # grows while it is walked: breadth first
        last = chain[-1]
        for used in sorted(uses[last].in_type | uses[last].in_value):
            if is_vertex(nodes[used]):
                found.setdefault(used, chain)
            elif used not in seen:
                seen.add(used)
                chains.append((*chain, used))
    return found
