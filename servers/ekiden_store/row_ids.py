"""Which ids of rows a store has already."""

from collections.abc import Sequence

from ekiden_store.arrow import pa, pc
from ekiden_store.snapshot import Snapshot


def known_ids(snapshot: Snapshot, ids: Sequence[str]) -> set[str]:
    """Return those of some ids that rows of the snapshot have."""
    if not ids:
        return set()
    column = pc.field("row_id")
    near = (column >= min(ids)) & (column <= max(ids)) & column.isin(pa.array(ids, pa.string()))
    return {
        row_id for batch in snapshot.scan(columns=["row_id"], filter=near) for row_id in batch.column(0).to_pylist()
    }
