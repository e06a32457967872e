"""The proof graph of a blueprint: who rests on whom, in which order, and over which longest way."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, cast

from ekiden_blueprint.edges import Edges, edges_of, is_vertex
from ekiden_blueprint.errors import BlueprintError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from networkx import DiGraph

    from ekiden_blueprint.model import BlueprintNode
    from ekiden_blueprint.project import Project


class Seen(NamedTuple):
    """A node, and whether it stands before the one that looks at it."""

    node: BlueprintNode
    visible: bool


class ProofGraph:
    """Lemmas, theorems and assumptions, with an edge from each to what rests on it.

    Of several nodes with the same Lean name the first one counts. All answers are in the order of the files unless said
    otherwise.

    Args:
        project: The blueprint.
        edges: Who rests on whom; by default what the text declares.
    """

    def __init__(self, project: Project, edges: Edges | None = None) -> None:
        self.project = project
        self.edges = edges or edges_of(project)
        self.nodes: dict[str, BlueprintNode] = {name: nodes[0] for name, nodes in project.by_name.items()}
        self.vertices: dict[str, BlueprintNode] = {name: node for name, node in self.nodes.items() if is_vertex(node)}
        self._places = {name: place for place, name in enumerate(self.nodes)}

    def vertex(self, name: str) -> BlueprintNode:
        """Give the lemma, theorem or assumption of this Lean name.

        Raises:
            BlueprintError: There is none, or the node is another kind of declaration.
        """
        node = self.project.node(name)
        if name not in self.vertices:
            kind = f"declared by `{node.keyword}`" if node.keyword else "nothing that Lean declares"
            raise BlueprintError(
                f"{name!r} is {kind}, no lemma or theorem, so it is not in the proof graph. Ask about one that is."
            )
        return self.vertices[name]

    def parents(self, name: str) -> tuple[str, ...]:
        """Give what a node rests on directly; through definitions counts as directly.

        Raises:
            BlueprintError: It is no vertex of the graph.
        """
        self.vertex(name)
        return self.edges.parents[name]

    def children(self, name: str) -> tuple[str, ...]:
        """Give what rests directly on a node.

        Raises:
            BlueprintError: It is no vertex of the graph.
        """
        self.vertex(name)
        return self._children.get(name, ())

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Give all that a node rests on, to the very end.

        Raises:
            BlueprintError: It is no vertex of the graph.
        """
        self.vertex(name)
        return self._in_order(_reachable(name, self.edges.parents) - {name})

    def descendants(self, name: str) -> tuple[str, ...]:
        """Give all that rests on a node, to the very end.

        Raises:
            BlueprintError: It is no vertex of the graph.
        """
        self.vertex(name)
        return self._in_order(_reachable(name, self._children) - {name})

    def admissible(self, name: str) -> tuple[Seen, ...]:
        """Give the lemmas and theorems that a proof of a node may use without making a cycle.

        Raises:
            BlueprintError: It is no vertex of the graph.
        """
        dependants = {name, *self.descendants(name)}
        return tuple(self._seen(name, other) for other in self.vertices.values() if other.full_name not in dependants)

    def definitional_context(self, name: str) -> tuple[Seen, ...]:
        """Give the definitional nodes, each with whether a node may use it as things stand.

        Raises:
            BlueprintError: It is no vertex of the graph.
        """
        self.vertex(name)
        return tuple(self._seen(name, other) for other in self.nodes.values() if other.is_definition)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The nodes, each after all that it rests on, and otherwise as in the files; cycles are cut."""
        import networkx

        return tuple(
            cast(
                "Iterable[str]", networkx.lexicographical_topological_sort(self._forward, key=self._places.__getitem__)
            )
        )

    @cached_property
    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """One cycle for each set of nodes that rest on each other, in the direction of the edges."""
        firsts = self._in_order(min(knot, key=self._places.__getitem__) for knot in self._knots)
        return tuple(self.cycle_of(name) for name in firsts)

    def cycle_of(self, name: str) -> tuple[str, ...]:
        """Give the shortest cycle that a node is on, from it on in the direction of the edges; empty without one."""
        knot = next((knot for knot in self._knots if name in knot), None)
        if knot is None:
            return ()
        import networkx

        part = self._digraph.subgraph(knot)
        ways = cast("dict[str, list[str]]", networkx.single_source_shortest_path(part, name))
        return min(
            (tuple(ways[back]) for back in part.predecessors(name)), key=lambda way: (len(way), self._places[way[-1]])
        )

    def longest_chain(self, among: Collection[str], *, end: str = "") -> tuple[str, ...]:
        """Give the longest chain of some nodes, each resting directly on the one before.

        Edges that go backward along a cycle are left out, so that there is a longest one. Of equal chains the one
        through earlier nodes is taken.

        Args:
            among: The nodes.
            end: The node that the chain is to end with; by default any.
        """
        best: dict[str, tuple[int, str]] = {}
        for name in self.order:
            if name in among:
                above = [parent for parent in self._forward.predecessors(name) if parent in best]
                parent = max(above, key=lambda parent: (best[parent][0], -self._places[parent]), default="")
                best[name] = (best[parent][0] + 1 if parent else 1, parent)
        last = end or max(best, key=lambda name: (best[name][0], -self._places[name]), default="")
        chain: list[str] = []
        while last:
            chain.append(last)
            last = best[last][1]
        return tuple(reversed(chain))

    @cached_property
    def _children(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for name in self.vertices:
            for parent in self.edges.parents[name]:
                found.setdefault(parent, []).append(name)
        return {name: tuple(children) for name, children in found.items()}

    @cached_property
    def _digraph(self) -> DiGraph[str]:
        import networkx

        graph: DiGraph[str] = networkx.DiGraph()
        graph.add_nodes_from(self.vertices)
        graph.add_edges_from((parent, name) for name in self.vertices for parent in self.edges.parents[name])
        return graph

    @cached_property
    def _forward(self) -> DiGraph[str]:
        """The graph without cycles: of nodes that rest on each other, none rests on a later one."""
        knotted = {name: place for place, knot in enumerate(self._knots) for name in knot}
        graph = self._digraph.copy()
        graph.remove_edges_from(
            [
                (parent, name)
                for parent, name in self._digraph.edges
                if parent in knotted
                and knotted[parent] == knotted.get(name)
                and self._places[parent] >= self._places[name]
            ]
        )
        return graph

    @cached_property
    def _knots(self) -> list[set[str]]:
        import networkx

        found = cast("Iterable[set[str]]", networkx.strongly_connected_components(self._digraph))
        return [knot for knot in found if len(knot) > 1]

    def _seen(self, name: str, other: BlueprintNode) -> Seen:
        return Seen(other, self._places[other.full_name] < self._places[name])

    def _in_order(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(names, key=self._places.__getitem__))


def _reachable(start: str, steps: Mapping[str, Iterable[str]]) -> set[str]:
    """Give all that can be reached by one step or more."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = [name for name in steps.get(waiting.pop(), ()) if name not in found]
        found.update(new)
        waiting += new
    return found
