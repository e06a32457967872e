"""Completed proofs that prove nothing: one of their tactics leaves out what it should prove."""

from typing import Any

from ekiden_store.arrow import pa, pc
from ekiden_store.columns import STATE_KINDS
from ekiden_store.snapshot import Snapshot
from ekiden_store.sorry import gives_up
from ekiden_store.trees import theorems_with, trees


def gave_up_rows(snapshot: Snapshot) -> Any:
    """Return the ids of the rows that complete a proof with `sorry` in one of its tactics, as an Arrow array.

    Only attempts with such a tactic are looked at as trees; in most stores there are few.

    Args:
        snapshot: The store.

    Raises:
        StoreError: The rows cannot be read.
    """
    tactic = pc.field("tactic_applied")
    is_suspect = pc.match_substring(tactic, "sorry") | pc.match_substring(tactic, "admit")
    wanted = is_suspect & pc.field("kind").isin(list(STATE_KINDS)) & (pc.field("outcome") != "failed")
    attempts: set[str] = set()
    theorems: set[str] = set()
    for batch in snapshot.scan(columns=["attempt_id", "theorem_name", "tactic_applied"], filter=wanted):
        for attempt, theorem, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if gives_up(text):
                attempts.add(attempt)
                theorems.add(theorem)
    if not theorems:
        return pa.array([], pa.string())
    where = pc.field("theorem_name").isin(list(theorems)) & pc.field("attempt_id").isin(list(attempts))
    complete = where & pc.field("is_proof_complete")
    where = where & pc.field("theorem_name").isin(theorems_with(snapshot, complete))
    return pa.array([node.row.row_id for tree in trees(snapshot, where=where) for node in tree.gave_up()], pa.string())
