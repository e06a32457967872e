"""Two runs beside each other, theorem by theorem."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from ekiden_store.arrow import pa, pc
from ekiden_store.errors import StoreError
from ekiden_store.selection_rows import both
from ekiden_store.snapshot import Snapshot
from ekiden_store.stats import NOT_ATTEMPTED, STATE_KINDS

Change = Literal["newly_proved", "lost", "both", "neither", "only_before", "only_after"]
_SUMS = ("cost_nanodollars", "tokens_in", "tokens_out", "duration_ms")
_COLUMNS = ("run_id", "theorem_name", "kind", "origin", "is_proof_complete", "outcome", *_SUMS)


@dataclass(slots=True)
class Spent:
    """What was spent; None: no row tells.

    Attributes:
        rows: How many rows there are.
        states: How many of them tell of states and tactics.
        cost_nanodollars: What they cost, in 10⁻⁹ US dollars.
        tokens_in: Tokens that models read.
        tokens_out: Tokens that models wrote.
        duration_ms: How long tools, models and tactics took; what ran side by side is added up.
    """

    rows: int = 0
    states: int = 0
    cost_nanodollars: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    duration_ms: int | None = None

    def add(self, other: "Spent") -> None:
        """Add what was spent elsewhere."""
        self.rows += other.rows
        self.states += other.states
        for name in _SUMS:
            mine, more = getattr(self, name), getattr(other, name)
            if more is not None:
                setattr(self, name, (mine or 0) + more)


@dataclass(slots=True)
class Side:
    """One theorem in one run: whether a proof was completed, and what was spent."""

    proved: bool = False
    spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True, slots=True)
class TheoremChange:
    """A theorem in both runs; None: that run did not attempt it."""

    theorem: str
    change: Change
    before: Side | None
    after: Side | None


@dataclass(frozen=True, slots=True)
class RunTotal:
    """A run as a whole.

    Attributes:
        runs: Its names.
        attempted: How many theorems it attempted.
        proved: How many of those it proved.
        proved_of_shared: How many it proved of those that both attempted.
        spent: What was spent.
    """

    runs: tuple[str, ...]
    attempted: int
    proved: int
    proved_of_shared: int
    spent: Spent


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs beside each other.

    Attributes:
        before: The one.
        after: The other.
        shared: How many theorems both attempted. Only over these are shares fairly compared.
        counts: How many theorems changed how.
        theorems: Each theorem, in the order of the alphabet.
    """

    before: RunTotal
    after: RunTotal
    shared: int
    counts: dict[Change, int]
    theorems: list[TheoremChange]


def compare_runs(
    snapshot: Snapshot, before: Collection[str], after: Collection[str], *, where: Any = None
) -> Comparison:
    """Compare two runs: a theorem is proved where a proof was completed; copied proofs are left out.

    Args:
        snapshot: The store.
        before: The name of the one, or of several runs that count as one.
        after: The same for the other.
        where: Which rows: a pyarrow expression; None: all.

    Raises:
        StoreError: A run is not there, or counts on both sides.
    """
    names = tuple(tuple(sorted({runs} if isinstance(runs, str) else set(runs))) for runs in (before, after))
    if shared_names := set(names[0]) & set(names[1]):
        raise StoreError(f"The run {min(shared_names)!r} cannot be compared with itself.")
    sides, seen = _read(snapshot, names, where)
    general = [side.pop("", Side()).spent for side in sides]  # what belongs to a run as a whole
    if missing := [name for name in (*names[0], *names[1]) if name not in seen]:
        raise StoreError(f"There is no run {missing[0]!r} with attempts in the store.")
    theorems = [
        TheoremChange(theorem, _change(sides[0].get(theorem), sides[1].get(theorem)), *(s.get(theorem) for s in sides))
        for theorem in sorted(sides[0].keys() | sides[1].keys())
    ]
    shared = sides[0].keys() & sides[1].keys()
    changes: tuple[Change, ...] = ("newly_proved", "lost", "both", "neither", "only_before", "only_after")
    return Comparison(
        before=_total(names[0], sides[0], shared, general[0]),
        after=_total(names[1], sides[1], shared, general[1]),
        shared=len(shared),
        counts={change: sum(each.change == change for each in theorems) for change in changes},
        theorems=theorems,
    )


def _read(
    snapshot: Snapshot, names: tuple[tuple[str, ...], ...], where: Any
) -> tuple[tuple[dict[str, Side], ...], set[str]]:
    wanted = pc.field("run_id").isin([*names[0], *names[1]]) & ~pc.field("origin").isin(list(NOT_ATTEMPTED))
    sides: tuple[dict[str, Side], ...] = ({}, {})
    seen: set[str] = set()
    for batch in snapshot.scan(columns=_COLUMNS, filter=both(where, wanted)):
        for run, theorem, side in _grouped(pa.Table.from_batches([batch])):
            seen.add(run)
            total = sides[run in names[1]].setdefault(theorem, Side())
            total.proved |= side.proved
            total.spent.add(side.spent)
    return sides, seen


def _grouped(table: Any) -> Any:
    is_state = pc.is_in(table.column("kind"), pa.array(STATE_KINDS))
    proved = pc.and_(table.column("is_proof_complete"), pc.not_equal(table.column("outcome"), "failed"))
    table = table.append_column("states", is_state.cast(pa.int64())).append_column("proved", proved.cast(pa.int64()))
    wanted: list[tuple[str | list[str], str]] = [
        ([], "count_all"),
        ("states", "sum"),
        ("proved", "max"),
        *((name, "sum") for name in _SUMS),
    ]
    found = table.group_by(["run_id", "theorem_name"], use_threads=False).aggregate(wanted)
    for row in found.to_pylist():
        sums = {name: row[f"{name}_sum"] for name in _SUMS}
        spent = Spent(rows=row["count_all"], states=row["states_sum"], **sums)
        yield row["run_id"], row["theorem_name"], Side(bool(row["proved_max"]), spent)


def _change(before: Side | None, after: Side | None) -> Change:
    if before is None:
        return "only_after"
    if after is None:
        return "only_before"
    changes: dict[tuple[bool, bool], Change] = {
        (True, True): "both",
        (True, False): "lost",
        (False, True): "newly_proved",
        (False, False): "neither",
    }
    return changes[before.proved, after.proved]


def _total(runs: tuple[str, ...], side: dict[str, Side], shared: Collection[str], spent: Spent) -> RunTotal:
    for each in side.values():
        spent.add(each.spent)
    proved = [theorem for theorem, each in side.items() if each.proved]
    return RunTotal(runs, len(side), len(proved), sum(theorem in shared for theorem in proved), spent)
