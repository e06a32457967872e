"""What can be learnt from attempts: tactics with the state BEFORE them, and children of one parent that contrast."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal

import numpy as np

from ekiden_store.arrow import pa, pc
from ekiden_store.sampling_hashes import Least, Numbers, text_numbers
from ekiden_store.selection_rows import RowFilter, both
from ekiden_store.snapshot import Snapshot
from ekiden_store.stats import STATE_KINDS
from ekiden_store.trees import AttemptKey, Node, Row, Tree, theorems_with, trees

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
_SORRY = re.compile(r"(?<![\w.'])(?:sorry|admit|sorryAx)(?![\w'])")


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


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two tactics that were applied to the same state: one lies on a proof, the other does not.

    Attributes:
        theorem: The theorem.
        state: The state before both.
        depth: How many tactics led to the state.
        positive: The tactic that lies on a proof.
        negative: The other.
        positive_after: The state after the one; empty: no goal is left; None: not known.
        negative_after: The state after the other; None: not known, or it failed.
        positive_score: What the value model gave the state after the one; None: no score.
        negative_score: The same for the other.
        positive_log_prob: The log-probability that the model gave the one; None: not told.
        negative_log_prob: The same for the other.
        positive_remaining: How many tactics the proof still takes after the one; None: not known.
    """

    theorem: str
    state: str
    depth: int
    positive: str
    negative: str
    positive_after: str | None
    negative_after: str | None
    positive_score: float | None = None
    negative_score: float | None = None
    positive_log_prob: float | None = None
    negative_log_prob: float | None = None
    positive_remaining: int | None = None


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
                yield [_example(node) for node in steps]


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
    for tree in _trees_of(snapshot, rows, verdicts):
        for node in tree.nodes:
            if not _is_wanted(node.row, rows):
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
            yield _example(node)


def contrasts(
    snapshot: Snapshot,
    rows: RowFilter,
    *,
    failed: bool = False,
    with_states: bool = False,
    on_proofs: bool = True,
    conflicts: bool = False,
    verdicts: Collection[str] = (),
    tally: Tally | None = None,
) -> Iterator[Contrast]:
    """Yield pairs of a positive row and a negative one that are children of the same parent.

    A negative child that leaves no goal or leads to a completed proof after all is none.

    Args:
        snapshot: The store.
        rows: Which rows, by their positive side; its labels make no difference.
        failed: Whether tactics that failed count as negative too.
        with_states: Whether only pairs are wanted whose states after the tactics are known, not finished and different.
        on_proofs: Whether the positive row must lie on a completed proof; else its label is believed.
        conflicts: Whether pairs are wanted whose negative side is positive elsewhere: its state is labelled so
            somewhere in the store, or another attempt at the theorem is on a proof there, or by the same tactic.
        verdicts: Only attempts are wanted that were judged so, each time that they were; empty: all.
        tally: Counts what became of the positive rows.

    Raises:
        StoreError: The rows cannot be read.
    """
    tally = tally if tally is not None else Tally()
    rows = rows.model_copy(update={"labels": ("positive",)})
    labelled = None if conflicts else _positive_states(snapshot)
    for _, attempts in groupby(_trees_of(snapshot, rows, verdicts), key=lambda tree: tree.key.theorem_name):
        nodes = [node for tree in attempts for node in tree.nodes]
        good = None if labelled is None else _Good(labelled, nodes)
        for node in nodes:
            if not _is_wanted(node.row, rows):
                continue
            tally.rows += 1
            reason = unusable(node)
            if reason is None and on_proofs and not node.leads_to_proof:
                reason = "on_no_proof"
            if reason is None:
                found = siblings(node, failed=failed)
                pairs = [_contrast(node, other) for other in found if good is None or other not in good]
                tally.conflicts += len(found) - len(pairs)
                if with_states:
                    pairs = [pair for pair in pairs if _states_differ(pair)]
                tally.used += bool(pairs)
                reason = None if pairs else "no_sibling"
                yield from pairs
            if reason is not None:
                tally.unusable[reason] += 1


class _Good:
    """What is known to be good: states that are labelled positive anywhere, and what lies on proofs of one theorem."""

    def __init__(self, labelled: Numbers, nodes: Iterable[Node]) -> None:
        self._labelled = labelled
        self._states: set[str | None] = set()
        self._moves: set[tuple[str | None, str]] = set()
        for node in nodes:
            if node.leads_to_proof or (node.row.label == "positive" and not node.row.is_failure):
                self._states.add(node.row.after)
                self._moves.add((node.state_before, _plain(node.row.tactic_applied)))

    def __contains__(self, node: Node) -> bool:
        if (node.state_before, _plain(node.row.tactic_applied)) in self._moves:
            return True
        after = None if node.row.is_failure else node.row.after
        if after is None:
            return False
        if after in self._states:
            return True
        number = int.from_bytes(hashlib.blake2b(after.encode(), digest_size=8).digest(), "little")
        place = int(np.searchsorted(self._labelled, np.uint64(number)))
        return place < len(self._labelled) and int(self._labelled[place]) == number


def _positive_states(snapshot: Snapshot) -> Numbers:
    """Return a number for each state that is labelled positive, in order."""
    found = Least()
    is_positive = pc.field("kind").isin(list(STATE_KINDS)) & (pc.field("label") == "positive")
    for batch in snapshot.scan(columns=["state_pp"], filter=is_positive & (pc.field("state_pp") != "")):
        numbers = text_numbers(pa.Table.from_batches([batch]).column(0))
        found.add(numbers, numbers)
    return found.values()


def siblings(node: Node, *, failed: bool = False) -> list[Node]:
    """Return the negative children of a node's own parent: hard negatives.

    What left no goal is none, whatever its label and whether or not the row says that the proof is complete.

    Args:
        node: A positive node.
        failed: Whether tactics that failed count too.
    """
    if node.parent is None:
        return []
    return [
        other
        for other in node.parent.children
        if other is not node
        and not other.leads_to_proof
        and (failed if other.row.is_failure else other.row.label == "negative" and other.row.after != "")
        and unusable(other, failed=failed) is None
        and other.state_before == node.state_before
        and _plain(other.row.tactic_applied) != _plain(node.row.tactic_applied)
    ]


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


def gives_up(tactic: str) -> bool:
    """Tell whether a tactic leaves out what it should prove; one that only speaks of it counts as well."""
    return _SORRY.search(tactic) is not None


def _trees_of(snapshot: Snapshot, rows: RowFilter, verdicts: Collection[str]) -> Iterator[Tree]:
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


def _is_wanted(row: Row, rows: RowFilter) -> bool:
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


def _example(node: Node) -> Example:
    row = node.row
    after = None if row.is_failure else row.after
    return Example(
        row.theorem_name, node.state_before or "", row.tactic_applied, max(row.depth_from_root, 1) - 1, after
    )


def _contrast(node: Node, other: Node) -> Contrast:
    positive, negative = _example(node), _example(other)
    return Contrast(
        positive.theorem,
        positive.state,
        positive.depth,
        positive.tactic,
        negative.tactic,
        positive.after,
        negative.after,
        positive_score=_number(node.row.ebm_score) if node.row.scored else None,
        negative_score=_number(other.row.ebm_score) if other.row.scored else None,
        positive_log_prob=_number(node.row.llm_log_prob) or None,
        negative_log_prob=_number(other.row.llm_log_prob) or None,
        positive_remaining=node.row.remaining_depth if node.row.remaining_depth >= 0 else None,
    )


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _states_differ(pair: Contrast) -> bool:
    return bool(pair.positive_after and pair.negative_after and pair.positive_after != pair.negative_after)


def _plain(tactic: str) -> str:
    return " ".join(tactic.split())
