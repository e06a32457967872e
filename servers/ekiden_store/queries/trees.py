"""Attempts as trees: which tactic led from which state to which."""

import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any, Literal, NamedTuple

from ekiden_store.arrow import pa, pc
from ekiden_store.columns import STATE_KINDS
from ekiden_store.errors import StoreError
from ekiden_store.queries.row_filter import both
from ekiden_store.queries.sampling_groups import rows_by_theorem
from ekiden_store.queries.sorry import gives_up
from ekiden_store.snapshot import Snapshot

Fault = Literal["unknown_parent", "ambiguous_parent", "cycle"]
MOST_ROWS = 100_000


class AttemptKey(NamedTuple):
    """Whose attempt at what it is."""

    run_id: str
    attempt_id: str
    theorem_name: str


@dataclass(frozen=True, slots=True)
class Row:
    """What a tree needs of a row; the names are those of the columns."""

    theorem_name: str
    run_id: str
    attempt_id: str
    row_id: str
    step: int
    kind: str
    state_id: int
    parent_state_id: int | None
    state_pp: str
    state_before: str | None
    state_after: str | None
    tactic_applied: str
    label: str
    depth_from_root: int
    remaining_depth: int
    is_proof_complete: bool
    outcome: str
    failure_kind: str
    origin: str
    iteration: int | None
    model: str
    llm_log_prob: float
    ebm_score: float
    scored: bool
    q_value: float
    visits: int

    @property
    def key(self) -> AttemptKey:
        """The attempt that it belongs to."""
        return AttemptKey(self.run_id, self.attempt_id, self.theorem_name)

    @property
    def is_failure(self) -> bool:
        """Whether the tactic led nowhere."""
        return self.outcome == "failed"

    @property
    def is_finished(self) -> bool:
        """Whether the tactic left no goal."""
        return self.is_proof_complete and not self.is_failure

    @property
    def after(self) -> str | None:
        """The state that the row led to; None: not known.

        A row of a known proof may hold the state before its tactic in `state_pp` as well as in `state_before`.
        """
        if self.state_after is not None or self.is_failure:
            return self.state_after
        if self.tactic_applied and self.state_before is not None and self.state_pp == self.state_before:
            return None
        return self.state_pp


COLUMNS = tuple(Row.__slots__)  # pyright: ignore[reportAttributeAccessIssue]  # dataclass(slots=True) makes it
_TOLD = operator.attrgetter(*(name for name in COLUMNS if name != "row_id"))


@dataclass(slots=True)
class Node:
    """A row in its tree.

    Attributes:
        row: The row.
        parent: The node that its tactic was applied to; None: a root, or not known.
        children: The nodes that tactics led to from here, failed tactics among them, in the order of steps.
        fault: Why the parent is not known although the row names one.
        leads_to_proof: Whether a finished proof lies here or below; one that gives up on the way is none.
    """

    row: Row
    parent: "Node | None" = None
    children: list["Node"] = field(default_factory=list["Node"])
    fault: Fault | None = None
    leads_to_proof: bool = False

    def path(self) -> list["Node"]:
        """Return the nodes from the root to this one."""
        path: list[Node] = [self]
        while path[-1].parent:
            path.append(path[-1].parent)
        return path[::-1]

    @property
    def state_before(self) -> str | None:
        """The state that the tactic was applied to: what the row says, else what its parent led to; None: not known."""
        if not self.row.tactic_applied:
            return None
        if self.row.state_before is not None:
            return self.row.state_before
        return self.parent.row.after if self.parent else None


@dataclass(frozen=True, slots=True)
class Tree:
    """One attempt.

    Attributes:
        key: Whose attempt at what it is.
        nodes: Its states and tactics in the order of steps, so in the order in which it can be replayed.
        roots: Those that nothing led to, or nobody knows what.
    """

    key: AttemptKey
    nodes: list[Node]
    roots: list[Node]

    @property
    def is_proved(self) -> bool:
        """Whether a proof was completed, and without giving up on the way."""
        return any(node.leads_to_proof for node in self.nodes)

    def proofs(self) -> Iterator[list[Node]]:
        """Yield each completed proof from its root to the end; a label makes no proof, and `sorry` makes none."""
        for node in self.nodes:
            if node.row.is_finished and node.leads_to_proof:
                yield node.path()

    def gave_up(self) -> Iterator[Node]:
        """Yield the ends of proofs that are complete but for a `sorry`."""
        for node in self.nodes:
            if node.row.is_finished and not node.leads_to_proof:
                yield node


def tree_of(rows: Iterable[Row]) -> Tree:
    """Return the tree of the rows of one attempt.

    Rows of one step are put in order by depth, number and what they say, so that who stored them when makes no
    difference. A root that has the number of a state that came before begins anew: numbers lead to the states since
    then. A number that then still belongs to several states leads nowhere (`ambiguous_parent`). States that would be
    their own ancestors have no parents (`cycle`).
    """
    nodes = [Node(row) for row in _in_order(list(rows))]
    for node, parent in zip(nodes, _parents(nodes), strict=True):
        if isinstance(parent, Node):
            node.parent = parent
        else:
            node.fault = parent
    _cut_cycles(nodes)
    for node in nodes:
        if node.parent:
            node.parent.children.append(node)
        if node.row.is_finished:
            path = node.path()
            if not any(gives_up(above.row.tactic_applied) for above in path):
                for above in path:
                    above.leads_to_proof = True
    return Tree(
        nodes[0].row.key if nodes else AttemptKey("", "", ""), nodes, [node for node in nodes if not node.parent]
    )


def _in_order(rows: list[Row]) -> list[Row]:
    if all(first.step < second.step for first, second in pairwise(rows)):
        return rows
    return sorted(rows, key=lambda row: (row.step, row.depth_from_root, row.state_id, str(_TOLD(row)), row.row_id))


def _parents(nodes: Sequence[Node]) -> Iterator[Node | Fault | None]:
    """Yield the parent of each node, or why it is not known; None: it names none."""
    anew = list(_beginnings(nodes))
    here: dict[tuple[int, int], list[Node]] = {}
    anywhere: dict[int, list[Node]] = {}
    for node, begun in zip(nodes, anew, strict=True):
        if not node.row.is_failure:
            here.setdefault((begun, node.row.state_id), []).append(node)
            anywhere.setdefault(node.row.state_id, []).append(node)
    for node, begun in zip(nodes, anew, strict=True):
        wanted = node.row.parent_state_id
        if wanted is None:
            yield None
            continue
        found = here.get((begun, wanted)) or anywhere.get(wanted)
        if not found:
            yield "unknown_parent"
        elif len(found) > 1 and (found[0].row.after is None or len({each.row.after for each in found}) > 1):
            yield "ambiguous_parent"
        else:
            yield found[0]


def _beginnings(nodes: Sequence[Node]) -> Iterator[int]:
    begun = 0
    seen: set[int] = set()
    for node in nodes:
        row = node.row
        if row.parent_state_id is None and not row.tactic_applied and row.state_id in seen:
            begun, seen = begun + 1, set[int]()
        if not row.is_failure:
            seen.add(row.state_id)
        yield begun


def _cut_cycles(nodes: Sequence[Node]) -> None:
    known: set[int] = set()
    for node in nodes:
        walked: dict[int, Node] = {}
        at: Node | None = node
        while at and id(at) not in known and id(at) not in walked:
            walked[id(at)] = at
            at = at.parent
        while at and id(at) in walked and at.fault is None:
            at.parent, at.fault, at = None, "cycle", at.parent
        known.update(walked)


def read_trees(
    snapshot: Snapshot,
    *,
    theorem: str,
    attempt_id: str | None = None,
    run_id: str | None = None,
    most_rows: int = MOST_ROWS,
) -> list[Tree]:
    """Return the attempts at a theorem, or one of them, each as a tree; several attempts are kept apart.

    Args:
        snapshot: The store.
        theorem: The name of the theorem.
        attempt_id: The attempt; None: all.
        run_id: The run; None: all.
        most_rows: How many rows may be read.

    Raises:
        StoreError: There are more rows, or they cannot be read.
    """
    where = pc.field("theorem_name") == theorem
    for name, value in (("attempt_id", attempt_id), ("run_id", run_id)):
        if value is not None:
            where = where & (pc.field(name) == value)
    snapshot = snapshot.narrowed(where)
    rows = snapshot.count(where)
    if rows > most_rows:
        raise StoreError(
            f"The theorem {theorem!r} has {rows} such rows; at most {most_rows} are shown. Name a run or an attempt."
        )
    return list(trees(snapshot, where=where))


def trees(snapshot: Snapshot, *, where: Any = None) -> Iterator[Tree]:
    """Yield the attempts of a store as trees. Memory holds those of some theorems at a time.

    Args:
        snapshot: The store.
        where: Which rows: a pyarrow expression that lets through whole attempts; None: all.

    Raises:
        StoreError: The rows cannot be read.
    """
    states = both(where, pc.field("kind").isin(list(STATE_KINDS)))
    for table in rows_by_theorem(snapshot, columns=COLUMNS, where=states):
        for _, rows in groupby(_rows(table), key=lambda row: row.key):
            yield tree_of(rows)


def _rows(table: Any) -> Iterator[Row]:
    for batch in table.to_batches(max_chunksize=1_000):
        columns = {name: batch.column(name).to_pylist() for name in COLUMNS}
        for values in zip(*columns.values(), strict=True):
            yield Row(*values)


def theorems_with(snapshot: Snapshot, where: Any) -> Any:
    """Return the names of the theorems that have such rows, as an Arrow array."""
    names: set[str] = set()
    for batch in snapshot.scan(columns=["theorem_name"], filter=where):
        names.update(batch.column(0).unique().to_pylist())
    return pa.array(sorted(names), pa.string())


def tree_lines(tree: Tree) -> Iterator[str]:
    """Yield a line for each node of a tree, children below their parent and further in."""
    waiting = [(node, 0) for node in reversed(tree.roots)]
    while waiting:
        node, depth = waiting.pop()
        yield f"{'  ' * depth}{_line(node)}"
        waiting.extend((child, depth + 1) for child in reversed(node.children))


def _line(node: Node) -> str:
    row = node.row
    state = "no goals" if row.is_finished else " ".join((row.after or "").split())
    tactic = " ".join(row.tactic_applied.split()) or "(root)"
    if row.is_failure:
        return f"{row.state_id} {tactic} => failed{f': {row.failure_kind}' if row.failure_kind else ''}"
    fault = f" [{node.fault}]" if node.fault else ""
    return f"{row.state_id} {tactic} => {state} [{row.label}]{fault}"
