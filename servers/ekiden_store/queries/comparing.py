"""Two runs beside each other, theorem by theorem."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ekiden_store.arrow import pa, pc
from ekiden_store.columns import STATE_KINDS
from ekiden_store.errors import StoreError
from ekiden_store.queries.proofs import Proofs, attempts_alone
from ekiden_store.queries.row_filter import both
from ekiden_store.queries.runs import nearest_runs
from ekiden_store.snapshot import Snapshot

Change = Literal["newly_proved", "lost", "both", "neither", "only_before", "only_after"]
_SUMS = ("cost_nanodollars", "tokens_in", "tokens_out", "duration_ms")
_COLUMNS = ("run_id", "theorem_name", "kind", "depth_from_root", *_SUMS)


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
    """One theorem in one run.

    Attributes:
        proved: Whether a proof was completed.
        spent: What was spent.
        depth: How many tactics its shortest proof has; None: there is no proof, or no row tells.
    """

    proved: bool = False
    spent: Spent = field(default_factory=Spent)
    depth: int | None = None

    def add(self, other: "Side") -> None:
        """Add what became of the theorem elsewhere."""
        self.proved |= other.proved
        self.spent.add(other.spent)
        told = [depth for depth in (self.depth, other.depth) if depth is not None]
        self.depth = min(told, default=None)


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
    names = tuple(names_of(runs) for runs in (before, after))
    sides = read_sides(snapshot, names, where=where)
    general = [side.pop("", Side()).spent for side in sides]  # what belongs to a run as a whole
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


def names_of(runs: Collection[str]) -> tuple[str, ...]:
    """Return the names of runs that count as one, in the order of the alphabet; a text is one name."""
    return tuple(sorted({runs} if isinstance(runs, str) else set(runs)))


def read_sides(
    snapshot: Snapshot, sets: Sequence[Collection[str]], *, where: Any = None
) -> tuple[dict[str, Side], ...]:
    """Return what became of each theorem in each of some sets of runs; what belongs to no theorem is under ''.

    Args:
        snapshot: The store.
        sets: The names of the runs of each set; those of one set count as one run.
        where: Which rows: a pyarrow expression; None: all.

    Raises:
        StoreError: A run is not there, or counts twice.
    """
    places: dict[str, int] = {}
    for place, name in ((place, name) for place, runs in enumerate(sets) for name in runs):
        if places.setdefault(name, place) != place:
            raise StoreError(f"The run {name!r} cannot be compared with itself.")
    wanted = pc.field("run_id").isin(list(places)) & attempts_alone()
    sides: tuple[dict[str, Side], ...] = tuple({} for _ in sets)
    seen: set[str] = set()
    proofs = Proofs(snapshot)
    for batch in snapshot.scan(columns=(*_COLUMNS, *proofs.columns), filter=both(where, wanted)):
        for run, theorem, side in _grouped(pa.Table.from_batches([batch]), proofs):
            seen.add(run)
            sides[places[run]].setdefault(theorem, Side()).add(side)
    if missing := [name for name in places if name not in seen]:
        raise StoreError(
            f"There is no run {missing[0]!r} with attempts in the store{nearest_runs(snapshot, missing[0])}."
        )
    return sides


def _grouped(table: Any, proofs: Proofs) -> Any:
    is_state = pc.is_in(table.column("kind"), pa.array(STATE_KINDS))
    proved = proofs.completed(table).proved
    depth = table.column("depth_from_root")
    told = pc.if_else(pc.and_(proved, pc.greater(depth, 0)), depth, pa.scalar(None, pa.uint32()))
    for name, column in (("states", is_state.cast(pa.int64())), ("proved", proved.cast(pa.int64())), ("depth", told)):
        table = table.append_column(name, column)
    wanted: list[tuple[str | list[str], str]] = [
        ([], "count_all"),
        ("states", "sum"),
        ("proved", "max"),
        ("depth", "min"),
        *((name, "sum") for name in _SUMS),
    ]
    found = table.group_by(["run_id", "theorem_name"], use_threads=False).aggregate(wanted)
    for row in found.to_pylist():
        sums = {name: row[f"{name}_sum"] for name in _SUMS}
        spent = Spent(rows=row["count_all"], states=row["states_sum"], **sums)
        yield row["run_id"], row["theorem_name"], Side(bool(row["proved_max"]), spent, row["depth_min"])


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
