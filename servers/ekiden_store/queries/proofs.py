"""What counts as an attempt and as a proof, wherever theorems are counted.

An attempt is a row that is no copied proof. A proof is completed by a row that did not fail, unless a tactic on the way
to it leaves out what it should prove; a label makes none.
"""

from typing import Any, NamedTuple

from ekiden_store.arrow import pa, pc
from ekiden_store.columns import NOT_ATTEMPTED, STATE_KINDS
from ekiden_store.queries.sorry import gives_up
from ekiden_store.queries.trees import theorems_with, trees
from ekiden_store.snapshot import Snapshot


class Completed(NamedTuple):
    """Which rows of a table complete something, as columns of truth values.

    Attributes:
        proved: Those that complete a proof.
        gave_up: Those that complete one with `sorry` in one of its tactics, which proves nothing.
    """

    proved: Any
    gave_up: Any


class Proofs:
    """Tells which rows of a store complete a proof."""

    def __init__(self, snapshot: Snapshot) -> None:
        """Find out which proofs give up.

        Raises:
            StoreError: The rows cannot be read.
        """
        self._gave_up = _gave_up_rows(snapshot)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it tells it from."""
        return ("is_proof_complete", "outcome", *(("row_id",) if len(self._gave_up) else ()))

    def completed(self, table: Any) -> Completed:
        """Return which rows of a table with these columns complete something."""
        complete = pc.and_(table.column("is_proof_complete"), pc.not_equal(table.column("outcome"), "failed"))
        if not len(self._gave_up):
            return Completed(complete, pc.and_(complete, pa.scalar(False)))  # Arrow's own form
        gave_up = pc.and_(complete, pc.is_in(table.column("row_id"), self._gave_up))
        return Completed(pc.and_not(complete, gave_up), gave_up)


def are_attempts(table: Any) -> Any:
    """Return which rows of a table with the column `origin` are attempts, as a column of truth values."""
    return pc.invert(pc.is_in(table.column("origin"), pa.array(NOT_ATTEMPTED)))


def attempts_alone() -> Any:
    """Return an expression for the rows that are attempts."""
    return ~pc.field("origin").isin(list(NOT_ATTEMPTED))


def _gave_up_rows(snapshot: Snapshot) -> Any:
    """Return the ids of the rows that complete a proof with `sorry` in one of its tactics, as an Arrow array.

    Only attempts with such a tactic are looked at as trees; in most stores there are few.
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
