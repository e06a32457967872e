"""Children of one parent that contrast: one lies on a proof, the other does not."""

import hashlib
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ekiden_store.arrow import pa, pc
from ekiden_store.queries.pairs import Tally, example_of, is_wanted, plain, trees_of, unusable
from ekiden_store.queries.row_filter import RowFilter
from ekiden_store.queries.sampling_hashes import Least, Numbers, text_numbers
from ekiden_store.queries.stats import STATE_KINDS
from ekiden_store.queries.trees import Node
from ekiden_store.snapshot import Snapshot


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
    for _, attempts in groupby(trees_of(snapshot, rows, verdicts), key=lambda tree: tree.key.theorem_name):
        nodes = [node for tree in attempts for node in tree.nodes]
        good = None if labelled is None else _Good(labelled, nodes)
        for node in nodes:
            if not is_wanted(node.row, rows):
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
                self._moves.add((node.state_before, plain(node.row.tactic_applied)))

    def __contains__(self, node: Node) -> bool:
        if (node.state_before, plain(node.row.tactic_applied)) in self._moves:
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
        and plain(other.row.tactic_applied) != plain(node.row.tactic_applied)
    ]


def _contrast(node: Node, other: Node) -> Contrast:
    positive, negative = example_of(node), example_of(other)
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
