"""Which node rests on which: from the environment that Lean made of a blueprint, or from what its text declares."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from ekiden_blueprint.model import PROOF_KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from ekiden_blueprint.model import BlueprintNode, Reference
    from ekiden_blueprint.project import Project

EdgeOrigin = Literal["declared", "elaborated"]
"""Whether edges come from the text (`cref`, `sorry_using`) or from what Lean made of it."""

ASSUMPTION_KEYWORDS = frozenset({"axiom"})
"""A node with such a keyword is an assumption: named, drawn and counted, never proved."""

_QUOTED = re.compile("«([^«».0-9][^«».]*)»")


class DeclarationFacts(Protocol):
    """What Lean knows of one declaration, with all that it made along with it counted as part of it."""

    @property
    def name(self) -> str:
        """What the source calls it, with its namespaces; a private name without Lean's prefix."""
        ...

    @property
    def kind(self) -> str:
        """What it is for the kernel, such as theorem, def, axiom, inductive."""
        ...

    @property
    def own_sorry(self) -> bool:
        """Whether its own type or value has a `sorry`; one in a declaration that it uses does not count."""
        ...

    @property
    def uses_type(self) -> tuple[str, ...]:
        """The declarations of the blueprint that its type names."""
        ...

    @property
    def uses_value(self) -> tuple[str, ...]:
        """The declarations of the blueprint that its value names."""
        ...

    @property
    def refusal(self) -> str:
        """Why the kernel refuses it; empty when it does not."""
        ...


class LeanFacts(Protocol):
    """What Lean knows of all declarations of a blueprint, nodes or not."""

    @property
    def outcome(self) -> str:
        """`complete`, or how the work ended before that; then nothing is known."""
        ...

    @property
    def declarations(self) -> Sequence[DeclarationFacts]:
        """The declarations, in the order of the text."""
        ...


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
class NodeUses:
    """The nodes, of any kind, that one node uses without another node between, in its type and in its value."""

    in_type: frozenset[str]
    in_value: frozenset[str]


def is_vertex(node: BlueprintNode) -> bool:
    """Tell whether a node is a vertex of the graph: a lemma, a theorem or an assumption."""
    return node.keyword in PROOF_KEYWORDS or node.keyword in ASSUMPTION_KEYWORDS


def edges_of(project: Project, facts: LeanFacts | None = None) -> Edges:
    """Give the edges of a project: elaborated ones with complete facts, declared ones without."""
    nodes = _first_nodes(project)
    if facts is None or facts.outcome != "complete":
        return _assembled(nodes, lambda node: _declared(project, nodes, node), "declared", ())
    index = FactIndex(facts, nodes)
    unknown = {name: None for name in nodes if index.of_node(name) is None}
    return _assembled(
        nodes,
        lambda node: _declared(project, nodes, node) if node.full_name in unknown else index.node_uses(node.full_name),
        "elaborated",
        tuple(unknown),
    )


class FactIndex:
    """Facts from Lean by node, seen through the declarations that are no nodes.

    Args:
        facts: What Lean knows.
        nodes: The names of the nodes.
    """

    def __init__(self, facts: LeanFacts, nodes: Iterable[str]) -> None:
        self._facts = {plain_name(known.name): known for known in facts.declarations}
        self._nodes = {plain_name(name): name for name in nodes}

    def of_node(self, node: str) -> DeclarationFacts | None:
        """Give what Lean knows of a node's own declaration, if it has it."""
        return self._facts.get(plain_name(node))

    def has_own_sorry(self, node: str) -> bool:
        """Tell whether a node, or a declaration between it and other nodes, has a `sorry` of its own."""
        known = self.of_node(node)
        if known is None or known.own_sorry:
            return known is not None
        between, _ = self._reach((*known.uses_type, *known.uses_value))
        return any(one.own_sorry for one in between)

    def node_uses(self, node: str) -> NodeUses:
        """Give the nodes that a node uses, directly or through declarations that are no nodes."""
        known = self.of_node(node)
        if known is None:
            return NodeUses(frozenset(), frozenset())
        in_type, in_value = self._reach(known.uses_type)[1], self._reach(known.uses_value)[1]
        return NodeUses(in_type - {node}, in_value - {node})

    def _reach(self, names: Iterable[str]) -> tuple[list[DeclarationFacts], frozenset[str]]:
        """Walk through declarations that are no nodes; give these, and the nodes where the walk ends."""
        between: dict[str, DeclarationFacts] = {}
        ends: set[str] = set()
        waiting = [plain_name(name) for name in names]
        while waiting:
            name = waiting.pop()
            if name in self._nodes:
                ends.add(self._nodes[name])
            elif name in self._facts and name not in between:
                known = between[name] = self._facts[name]
                waiting += map(plain_name, (*known.uses_type, *known.uses_value))
        return list(between.values()), frozenset(ends)


def plain_name(name: str) -> str:
    """Give a name without guillemets, but for those that make another name of it: `«a.b»` is not `a.b`."""
    return _QUOTED.sub(r"\1", name)


def resolved(written: str, namespace: str, known: Container[str]) -> str | None:
    """Give the known name that a written one means in a namespace, the innermost first; None when it means none."""
    while namespace:
        if (inside := f"{namespace}.{written}") in known:
            return inside
        namespace = namespace.rpartition(".")[0]
    return written if written in known else None


def _first_nodes(project: Project) -> dict[str, BlueprintNode]:
    return {name: nodes[0] for name, nodes in project.by_name.items()}


def _declared(project: Project, nodes: Mapping[str, BlueprintNode], node: BlueprintNode) -> NodeUses:
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
    return NodeUses(frozenset(of_statement), frozenset(proof))


def _named(project: Project, references: Iterable[Reference]) -> set[str]:
    found = (project.by_label.get(reference.name, ()) for reference in references)
    return {nodes[0].full_name for nodes in found if nodes and nodes[0].name}


def _assembled(
    nodes: Mapping[str, BlueprintNode],
    uses_of: Callable[[BlueprintNode], NodeUses],
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
    uses: Mapping[str, NodeUses],
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
