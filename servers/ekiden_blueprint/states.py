"""How far each node of a proof graph is, and why one is not ready."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple

from ekiden_blueprint.edges import ASSUMPTION_KEYWORDS, FactIndex

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ekiden_blueprint.edges import LeanFacts
    from ekiden_blueprint.graph import ProofGraph
    from ekiden_blueprint.model import BlueprintNode

State = Literal["proved", "ready", "waiting", "blocked", "assumption"]
STATES: tuple[State, ...] = ("proved", "ready", "waiting", "blocked", "assumption")
MEANING: dict[State, str] = {
    "proved": "its own proof is complete",
    "ready": "a placeholder; all that it rests on is proved or assumed",
    "waiting": "a placeholder that rests on one",
    "blocked": "a placeholder that somebody reported as stuck",
    "assumption": "taken without proof, and named",
}

Way = Literal["statement", "proof", "definition", "declared"]
"""How a node rests on another: through its type, its value, a definition in between, or as its text says."""
_HOW: dict[Way, str] = {
    "statement": "in its statement",
    "proof": "in its proof",
    "definition": "through a definition",
    "declared": "as its text says",
}


class Wait(NamedTuple):
    """One step of an explanation: `node` waits for `parent`."""

    node: str
    parent: str
    parent_state: State
    ways: tuple[Way, ...]
    carriers: tuple[str, ...]

    def __str__(self) -> str:
        """Say it in a sentence."""
        if self.carriers:
            how = f"through the definition {' and '.join(map(repr, self.carriers))}"
        else:
            how = " and ".join(_HOW[way] for way in self.ways)
        return f"{self.node!r} rests on {self.parent!r} ({self.parent_state}) {how}."


@dataclass(frozen=True, slots=True)
class Readiness:
    """A node's state, and what it comes from.

    Attributes:
        name: The node.
        state: How far it is.
        reason: In a sentence, what makes it so.
        waits_for: Each unproved node that it rests on directly, and how.
        chain: From the node down the longest way of unproved nodes to one that can be worked on.
        fully_proved: Whether it and all that it rests on, to the very end, is proved; assumptions do not count as that.
        assumptions: The assumptions that it rests on, to the very end.
    """

    name: str
    state: State
    reason: str
    waits_for: tuple[Wait, ...]
    chain: tuple[Wait, ...]
    fully_proved: bool
    assumptions: tuple[str, ...]


class Progress:
    """The states of all nodes of a graph; what Lean found wins over what the text looks like.

    Args:
        graph: The graph.
        facts: What Lean knows; unless they are complete, the text decides.
        blocked: Names of nodes that somebody reported as stuck, with the reason, such as an open issue's title.
        assumed: Names of further nodes to take as assumptions.
    """

    def __init__(
        self,
        graph: ProofGraph,
        facts: LeanFacts | None = None,
        *,
        blocked: Mapping[str, str] | None = None,
        assumed: Collection[str] = (),
    ) -> None:
        self.graph = graph
        self.blocked = dict(blocked or {})
        index = FactIndex(facts, graph.nodes) if facts is not None and facts.outcome == "complete" else None
        self._unproved: dict[str, str] = {}
        self.assumed = frozenset(
            name
            for name, node in graph.vertices.items()
            if name in assumed or node.keyword in ASSUMPTION_KEYWORDS or _is_axiom(index, name)
        )
        for name, node in graph.vertices.items():
            if name not in self.assumed and (reason := _why_unproved(node, index)):
                self._unproved[name] = reason
        self.states: dict[str, State] = {name: self._state(name) for name in graph.vertices}
        self.critical_path = graph.longest_chain(self._unproved)

    @property
    def unproved(self) -> frozenset[str]:
        """The lemmas and theorems whose own proof is not complete."""
        return frozenset(self._unproved)

    @property
    def leaves(self) -> tuple[str, ...]:
        """The dynamic leaves: unproved nodes that rest directly on no unproved one, blocked or not."""
        return tuple(name for name in self.graph.vertices if name in self._unproved and not self._open_parents(name))

    @property
    def counts(self) -> dict[State, int]:
        """How many nodes are in each state."""
        found = list(self.states.values())
        return {state: found.count(state) for state in STATES}

    def named(self, state: State) -> tuple[str, ...]:
        """Give the nodes in a state, in the order of the files."""
        return tuple(name for name, found in self.states.items() if found == state)

    def explain(self, name: str) -> Readiness:
        """Say how far a node is, and why.

        Raises:
            BlueprintError: It is no vertex of the graph.
        """
        state = self.states[self.graph.vertex(name).full_name]
        ancestors = self.graph.ancestors(name)
        return Readiness(
            name,
            state,
            self._reason(name, state),
            tuple(self._wait(name, parent) for parent in self._open_parents(name)) if state != "proved" else (),
            self._chain(name) if state != "proved" else (),
            fully_proved=state == "proved" and all(self.states[above] == "proved" for above in ancestors),
            assumptions=tuple(above for above in ancestors if above in self.assumed),
        )

    def _state(self, name: str) -> State:
        if name in self.assumed:
            return "assumption"
        if name not in self._unproved:
            return "proved"
        if name in self.blocked:
            return "blocked"
        return "waiting" if self._open_parents(name) else "ready"

    def _open_parents(self, name: str) -> tuple[str, ...]:
        return tuple(parent for parent in self.graph.parents(name) if parent in self._unproved)

    def _reason(self, name: str, state: State) -> str:
        match state:
            case "proved":
                return "Its own proof is complete."
            case "assumption":
                return "It is an assumption: taken without proof, and counted."
            case "blocked":
                return f"It is reported as blocked: {self.blocked[name]}"
            case "ready":
                return f"{self._unproved[name]} All that it rests on is proved or assumed: it can be worked on."
            case "waiting":
                parents = self._open_parents(name)
                first = self._wait(name, parents[0])
                more = f" So do {len(parents) - 1} more of its parents." if len(parents) > 1 else ""
                if cycle := self.graph.cycle_of(name):
                    return f"It rests on itself: {' -> '.join((*cycle, cycle[0]))}. Break the cycle."
                return f"{self._unproved[name]} {first} That one must be proved first.{more}"

    def _wait(self, name: str, parent: str) -> Wait:
        edges = self.graph.edges
        carriers = edges.carriers.get((name, parent), ())
        ways: list[Way] = []
        if carriers:
            ways = ["definition"]
        elif edges.origin == "declared" or name in edges.unknown:
            ways = ["declared"]
        else:
            if parent in edges.through_type[name]:
                ways.append("statement")
            if parent in edges.through_value[name]:
                ways.append("proof")
        return Wait(name, parent, self.states[parent], tuple(ways), carriers)

    def _chain(self, name: str) -> tuple[Wait, ...]:
        if name not in self._unproved:
            return ()
        above = {name, *self.graph.ancestors(name)} & self._unproved.keys()
        chain = self.graph.longest_chain(above, end=name)[::-1]
        return tuple(self._wait(below, parent) for below, parent in pairwise(chain))


def _is_axiom(index: FactIndex | None, name: str) -> bool:
    known = None if index is None else index.of_node(name)
    return known is not None and known.kind == "axiom"


def _why_unproved(node: BlueprintNode, index: FactIndex | None) -> str:
    """Say why a node counts as unproved; nothing when it is proved."""
    if index is not None:
        known = index.of_node(node.full_name)
        if known is None:
            return "Lean has no such declaration: an error stands in it or before it."
        if known.refusal:
            return f"Lean's kernel refuses it: {known.refusal}"
        return "Lean finds a `sorry` in it." if index.has_own_sorry(node.full_name) else ""
    match node.body_kind:
        case "complete":
            return ""
        case "invalid":
            return "Its body mixes a placeholder with a proof, or hides one."
        case _:
            return "Its proof is a placeholder."
