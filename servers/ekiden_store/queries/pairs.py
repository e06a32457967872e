"""What can be learnt from attempts: tactics with the state BEFORE them."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from ekiden_store.arrow import pc
from ekiden_store.columns import STATE_KINDS
from ekiden_store.queries.row_filter import RowFilter, both
from ekiden_store.queries.sorry import gives_up
from ekiden_store.queries.trees import AttemptKey, Node, Row, Tree, theorems_with, trees
from ekiden_store.snapshot import Snapshot

Unusable = Literal[
    "root",
    "failed_tactic",
    "sorry",
    "finished_before",
    "state_before_unknown",
    "unknown_parent",
    "ambiguous_parent",
    "cycle",
]


@dataclass(frozen=True, slots=True)
class Example:
    """A tactic and the state that it was applied to.

    Attributes:
        theorem: The theorem.
        state: The state before the tactic.
        tactic: The tactic.
        depth: How many tactics led to the state.
        after: The state after the tactic; empty: no goal is left; None: not known, or the tactic failed.
    """

    theorem: str
    state: str
    tactic: str
    depth: int
    after: str | None = None


@dataclass(slots=True)
class Tally:
    """What became of the rows that were asked for.

    Attributes:
        rows: How many there were.
        used: How many became something.
        unusable: How many did not, by reason.
        conflicts: How many pairs were left out because their negative side is positive elsewhere.
    """

    rows: int = 0
    used: int = 0
    conflicts: int = 0
    unusable: Counter[str] = field(default_factory=Counter[str])


def positive_paths(snapshot: Snapshot, *, where: Any = None, min_steps: int = 1) -> Iterator[list[Example]]:
    """Yield the completed proofs, each as its tactics from the root to the end, with the state before each.

    A proof is what leads to a row that completes one; labels make no difference. A proof of which a state is not known,
    or which uses `sorry`, is left out.

    Args:
        snapshot: The store.
        where: Which attempts: a pyarrow expression; None: all.
        min_steps: Only proofs with at least so many tactics.

    Raises:
        StoreError: The rows cannot be read.
    """
    complete = both(where, pc.field("is_proof_complete"))
    names = theorems_with(snapshot, complete)
    for tree in trees(snapshot, where=both(where, pc.field("theorem_name").isin(names))):
        for path in tree.proofs():
            steps = [node for node in path if node.row.tactic_applied]
            if len(steps) >= min_steps and path[0].fault is None and not any(map(unusable, steps)):
                yield [example_of(node) for node in steps]


def examples(
    snapshot: Snapshot,
    rows: RowFilter,
    *,
    finishing: bool = True,
    on_proofs: bool = False,
    verdicts: Collection[str] = (),
    tally: Tally | None = None,
) -> Iterator[Example]:
    """Yield the tactics of some rows, each with the state before it.

    The state before is what the row says, else what its parent led to. A row of which it is not known yields nothing.

    Args:
        snapshot: The store.
        rows: Which rows.
        finishing: Whether tactics that left no goal are wanted.
        on_proofs: Whether only tactics are wanted that lie on a completed proof, whatever their label says.
        verdicts: Only attempts are wanted that were judged so, each time that they were; empty: all.
        tally: Counts what became of the rows.

    Raises:
        StoreError: The rows cannot be read.
    """
    tally = tally if tally is not None else Tally()
    for tree in trees_of(snapshot, rows, verdicts):
        for node in tree.nodes:
            if not is_wanted(node.row, rows):
                continue
            tally.rows += 1
            reason = unusable(node)
            if reason is None and not finishing and node.row.after == "":
                reason = "finishing"
            if reason is None and on_proofs and not node.leads_to_proof:
                reason = "on_no_proof"
            if reason is not None:
                tally.unusable[reason] += 1
                continue
            tally.used += 1
            yield example_of(node)


def unusable(node: Node, *, failed: bool = False) -> Unusable | None:
    """Return why a node is no tactic with the state before it; None: it is one."""
    if not node.row.tactic_applied.strip():
        return "root"
    if node.row.is_failure and not failed:
        return "failed_tactic"
    if gives_up(node.row.tactic_applied):
        return "sorry"
    before = node.state_before
    if before is None:
        return node.fault or "state_before_unknown"
    return None if before.strip() else "finished_before"


def trees_of(snapshot: Snapshot, rows: RowFilter, verdicts: Collection[str]) -> Iterator[Tree]:
    """Yield the trees that have such rows, with all the rows of the theorem that a parent may be among."""
    wanted = both(rows.expression(), pc.field("kind").isin(list(STATE_KINDS)))
    names = theorems_with(snapshot, wanted)
    whole = both(rows.rows_of_attempts().expression(), pc.field("theorem_name").isin(names))
    judged = _judged(snapshot, verdicts) if verdicts else None
    for tree in trees(snapshot, where=whole):
        if judged is None or _is_among(tree.key, judged):
            yield tree


def _judged(snapshot: Snapshot, verdicts: Collection[str]) -> set[AttemptKey]:
    """Return the attempts that have a verdict, and no other than these."""
    found: dict[bool, set[AttemptKey]] = {True: set(), False: set()}
    names = ["run_id", "attempt_id", "theorem_name", "verdict"]
    for batch in snapshot.scan(columns=names, filter=(pc.field("kind") == "verdict") & (pc.field("verdict") != "")):
        for *key, verdict in zip(*(batch.column(name).to_pylist() for name in names), strict=True):
            found[verdict in verdicts].add(AttemptKey(*key))
    return found[True] - found[False]


def _is_among(key: AttemptKey, judged: Collection[AttemptKey]) -> bool:
    """Tell whether an attempt, or one that it is a part of, is among some."""
    names = key.attempt_id.split("/")
    return any(key._replace(attempt_id="/".join(names[:end])) in judged for end in range(1, len(names) + 1))


def is_wanted(row: Row, rows: RowFilter) -> bool:
    """Tell whether a row is let through, among the rows of the attempts that are."""
    return (
        (not rows.labels or row.label in rows.labels)
        and (not rows.kinds or row.kind in rows.kinds)
        and (not rows.origins or row.origin in rows.origins)
        and row.origin not in rows.without_origins
        and (not rows.iterations or row.iteration in rows.iterations)
        and (not rows.models or row.model in rows.models)
        and (rows.min_depth is None or row.depth_from_root >= rows.min_depth)
        and (rows.max_depth is None or row.depth_from_root <= rows.max_depth)
    )


def example_of(node: Node) -> Example:
    """Return the tactic of a node that is usable, with the state before it."""
    row = node.row
    after = None if row.is_failure else row.after
    return Example(
        row.theorem_name, node.state_before or "", row.tactic_applied, max(row.depth_from_root, 1) - 1, after
    )


def plain(tactic: str) -> str:
    """Return a tactic with single spaces."""
    return " ".join(tactic.split())
