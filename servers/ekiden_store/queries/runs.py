"""The runs of a store: which there are, and what became of each."""

import difflib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from ekiden_store.arrow import pa, pc
from ekiden_store.errors import StoreError
from ekiden_store.queries.proofs import Proofs, are_attempts
from ekiden_store.queries.sampling_hashes import Distinct, text_numbers
from ekiden_store.snapshot import Snapshot

_COLUMNS = ("run_id", "theorem_name", "origin", "cost_nanodollars", "timestamp_ms")
_SHOWN = 3


@dataclass(slots=True)
class RunSummary:
    """A run.

    Attributes:
        run: Its id; empty: rows that name none.
        rows: How many rows it has.
        attempted: How many theorems it attempted; copied proofs are no attempt.
        proved: How many of those it proved.
        cost_nanodollars: What it cost, in 10⁻⁹ US dollars; None: no row tells.
        first_ms: When its first row was made, in milliseconds since 1970; None: no row tells.
        last_ms: When its last row was made.
    """

    run: str
    rows: int = 0
    attempted: int = 0
    proved: int = 0
    cost_nanodollars: int | None = None
    first_ms: int | None = None
    last_ms: int | None = None


@dataclass(slots=True)
class _Theorems:
    attempted: Distinct = field(default_factory=Distinct)
    proved: Distinct = field(default_factory=Distinct)


def read_runs(snapshot: Snapshot, *, where: Any = None) -> list[RunSummary]:
    """Return the runs of a store, the newest first; rows are read once, in batches.

    Args:
        snapshot: The store.
        where: Which rows: a pyarrow expression; None: all.

    Raises:
        StoreError: The rows cannot be read.
    """
    found: dict[str, RunSummary] = {}
    theorems: dict[str, _Theorems] = {}
    proofs = Proofs(snapshot)
    for batch in snapshot.scan(columns=(*_COLUMNS, *proofs.columns), filter=where):
        table = pa.Table.from_batches([batch])
        _add_sums(found, table)
        own = table.filter(pc.and_(are_attempts(table), pc.not_equal(table.column("theorem_name"), "")))
        _add_theorems(theorems, own, proofs.completed(own).proved.to_numpy())
    for run, distinct in theorems.items():
        found[run].attempted, found[run].proved = len(distinct.attempted), len(distinct.proved)
    return sorted(found.values(), key=lambda each: (-(each.last_ms or 0), each.run))


def require_runs(snapshot: Snapshot, names: Iterable[str]) -> None:
    """Refuse the names of runs that are not there, with those that are like them.

    Raises:
        StoreError: There is no such run.
    """
    wanted = [name for name in names if name]
    ids = _run_ids(snapshot) if wanted else set[str]()
    if missing := [name for name in wanted if name not in ids]:
        raise StoreError(f"There is no run {missing[0]!r} in the store{nearest(missing[0], ids)}.")


def nearest_runs(snapshot: Snapshot, name: str) -> str:
    """Return words that name the runs whose ids are most like one that is not there."""
    return nearest(name, _run_ids(snapshot))


def nearest(name: str, names: Collection[str]) -> str:
    """Return words that tell which names are most like one that is not there, to go on a sentence."""
    near = difflib.get_close_matches(name, sorted(names), n=_SHOWN, cutoff=0.5)
    if near:
        return f"; the nearest are {', '.join(map(repr, near))}" if near[1:] else f"; the nearest is {near[0]!r}"
    shown = ", ".join(map(repr, sorted(names)[:_SHOWN]))
    return f"; there are {len(names)}: {shown}{', ...' if len(names) > _SHOWN else ''}" if names else "; it has none"


def _run_ids(snapshot: Snapshot) -> set[str]:
    ids: set[str] = set()
    for batch in snapshot.scan(columns=["run_id"]):
        ids.update(batch.column(0).unique().to_pylist())
    return ids - {""}


def _add_sums(found: dict[str, RunSummary], table: Any) -> None:
    times = table.column("timestamp_ms")
    known = pc.if_else(pc.greater(times, 0), times, pa.scalar(None, times.type))
    table = table.select(["run_id", "cost_nanodollars"]).append_column("time", known)
    wanted: list[tuple[str | list[str], str]] = [([], "count_all"), ("cost_nanodollars", "sum"), ("time", "min")]
    for row in table.group_by("run_id", use_threads=False).aggregate([*wanted, ("time", "max")]).to_pylist():
        each = found.setdefault(row["run_id"], RunSummary(row["run_id"]))
        each.rows += row["count_all"]
        if (cost := row["cost_nanodollars_sum"]) is not None:
            each.cost_nanodollars = (each.cost_nanodollars or 0) + cost
        if row["time_min"] is not None:
            each.first_ms = min(each.first_ms or row["time_min"], row["time_min"])
            each.last_ms = max(each.last_ms or 0, row["time_max"])


def _add_theorems(theorems: dict[str, _Theorems], table: Any, is_proved: Any) -> None:
    numbers = text_numbers(table.column("theorem_name"))
    runs = table.column("run_id").combine_chunks().dictionary_encode()
    places = runs.indices.to_numpy(zero_copy_only=False)
    for place, run in enumerate(runs.dictionary.to_pylist()):
        mine = places == place
        of_run = theorems.setdefault(run, _Theorems())
        of_run.attempted.add(numbers[mine])
        of_run.proved.add(numbers[mine & is_proved])
