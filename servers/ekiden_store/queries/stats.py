"""What a store holds, in numbers. Rows are read once, in batches."""

import math
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ekiden_store.arrow import pa, pc
from ekiden_store.columns import NOT_ATTEMPTED, STATE_KINDS
from ekiden_store.queries.proofs import Proofs, are_attempts
from ekiden_store.queries.sampling_hashes import Distinct, Numbers, attempt_numbers, mixed, text_numbers
from ekiden_store.queries.sampling_spilled import LeastRows
from ekiden_store.snapshot import Snapshot

_NO_CANDIDATES = (*NOT_ATTEMPTED, "probe", "harvest")
_COLUMNS = (
    "theorem_name",
    "run_id",
    "attempt_id",
    "kind",
    "label",
    "depth_from_root",
    "state_id",
    "parent_state_id",
    "state_pp",
    "tactic_applied",
    "origin",
    "verdict",
)


@dataclass(slots=True)
class LabelCounts:
    """How many rows have which label."""

    positive: int = 0
    negative: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        """How many rows there are."""
        return self.positive + self.negative + self.unknown

    def add(self, label: str, rows: int) -> None:
        """Count some rows."""
        setattr(self, label, getattr(self, label) + rows)


@dataclass(frozen=True, slots=True)
class Candidates:
    """How many different tactics were tried in a state, over the states in which some were: those of the model.

    Attributes:
        expansions: In how many states tactics were tried.
        average: Tactics in a state on average.
        least: The fewest; never 0, for a state without candidates leaves no row.
        most: The most.
    """

    expansions: int = 0
    average: float = 0.0
    least: int = 0
    most: int = 0


@dataclass(frozen=True, slots=True)
class Proved:
    """How many theorems were proved: a completed proof counts; a label, a copied proof and `sorry` do not.

    Attributes:
        proved: Theorems with a completed proof.
        gave_up: Theorems whose completed proofs all leave something out, with `sorry`.
        attempted: Theorems with a row that is not a copied proof; those that could not even be started count if the
            failure was stored.
        copied: Theorems of which there are copied proofs alone.
        asked: Theorems that were to be proved; None: not told.
        not_attempted: How many of those left no row.
    """

    proved: int
    attempted: int
    copied: int
    gave_up: int = 0
    asked: int | None = None
    not_attempted: int | None = None

    @property
    def of_attempted(self) -> float | None:
        """The share of the attempted theorems that was proved."""
        return self.proved / self.attempted if self.attempted else None

    @property
    def of_asked(self) -> float | None:
        """The share of all theorems that were to be proved; None: not told which those are."""
        return self.proved / self.asked if self.asked else None


@dataclass(frozen=True, slots=True)
class Stats:
    """What a store holds, in numbers.

    Attributes:
        rows: All rows.
        kinds: Rows by kind.
        origins: Rows by where they come from.
        verdicts: Rows by what the judge said, where it said something.
        labels: States by label.
        depths: The same, by depth.
        theorems: How many theorems there are.
        largest: The theorems with the most states, and their labels.
        attempts: How many attempts there are.
        unique_states: How many different texts of states there are, the finished one aside.
        states_with_both_labels: How many of those are positive here and negative there.
        proved: How many theorems were proved.
        candidates: How many tactics were tried in a state.
    """

    rows: int
    kinds: dict[str, int]
    origins: dict[str, int]
    verdicts: dict[str, int]
    labels: LabelCounts
    depths: dict[int, LabelCounts]
    theorems: int
    largest: dict[str, LabelCounts]
    attempts: int
    unique_states: int
    states_with_both_labels: int
    proved: Proved
    candidates: Candidates


def read_stats(
    snapshot: Snapshot, *, where: Any = None, largest: int = 20, asked: Collection[str] | None = None
) -> Stats:
    """Return what a store holds, in numbers.

    Args:
        snapshot: The store.
        where: Which rows: a pyarrow expression; None: all.
        largest: How many theorems to list by name.
        asked: The names of all theorems that were to be proved. Without them those that left no row are not known, and
            a share of the attempted theorems alone can be told.

    Raises:
        StoreError: The rows cannot be read.
    """
    counted = _Counted(Proofs(snapshot))
    for batch in snapshot.scan(columns=(*_COLUMNS, *counted.proofs.columns), filter=where):
        counted.add(pa.Table.from_batches([batch]))
    return counted.stats(largest, None if asked is None else set(asked))


class _Tries:
    """Counts different tactics by the state that they were tried in."""

    def __init__(self) -> None:
        self._tried = LeastRows(width=2, same=2)

    def add(self, table: Any, attempts: Numbers) -> None:
        states = mixed(attempts, table.column("parent_state_id").to_numpy().astype(np.uint64))
        self._tried.add(states, text_numbers(table.column("tactic_applied")))

    def candidates(self) -> Candidates:
        expansions, tactics, least, most = 0, 0, math.inf, 0
        for rows in self._tried.pieces():
            if len(rows):
                starts = np.flatnonzero(np.r_[True, rows[1:, 0] != rows[:-1, 0]])
                counts = np.diff(np.r_[starts, len(rows)])
                expansions, tactics = expansions + len(counts), tactics + len(rows)
                least, most = min(least, int(counts.min())), max(most, int(counts.max()))
        return Candidates(expansions, tactics / expansions, int(least), most) if expansions else Candidates()


@dataclass(slots=True)
class _Counted:
    proofs: Proofs
    rows: int = 0
    kinds: Counter[str] = field(default_factory=Counter[str])
    origins: Counter[str] = field(default_factory=Counter[str])
    verdicts: Counter[str] = field(default_factory=Counter[str])
    depths: dict[int, LabelCounts] = field(default_factory=dict[int, LabelCounts])
    theorems: dict[str, LabelCounts] = field(default_factory=dict[str, LabelCounts])
    attempted: set[str] = field(default_factory=set[str])
    proved: set[str] = field(default_factory=set[str])
    gave_up: set[str] = field(default_factory=set[str])
    attempts: Distinct = field(default_factory=Distinct)
    states: Distinct = field(default_factory=Distinct)
    positive: Distinct = field(default_factory=Distinct)
    negative: Distinct = field(default_factory=Distinct)
    tries: _Tries = field(default_factory=_Tries)

    def add(self, table: Any) -> None:
        self.rows += table.num_rows
        for counter, name in ((self.kinds, "kind"), (self.origins, "origin"), (self.verdicts, "verdict")):
            for value, rows in grouped_counts(table, name):
                counter[value] += rows
        for name in table.column("theorem_name").unique().to_pylist():
            self.theorems.setdefault(name, LabelCounts())
        is_named = pc.not_equal(table.column("theorem_name"), "")  # other rows belong to a run as a whole
        own = table.filter(pc.and_(are_attempts(table), is_named))
        completed = self.proofs.completed(own)
        for names, rows in (
            (self.attempted, own),
            (self.proved, own.filter(completed.proved)),
            (self.gave_up, own.filter(completed.gave_up)),
        ):
            names.update(rows.column("theorem_name").unique().to_pylist())
        numbers = attempt_numbers(table)
        self.attempts.add(numbers)
        is_state = pc.is_in(table.column("kind"), pa.array(STATE_KINDS))
        self._add_states(table.filter(is_state), numbers[is_state.to_numpy()])

    def _add_states(self, table: Any, attempts: Numbers) -> None:
        for name, label, rows in grouped_counts(table, "theorem_name", "label"):
            self.theorems[name].add(label, rows)
        for depth, label, rows in grouped_counts(table, "depth_from_root", "label"):
            self.depths.setdefault(depth, LabelCounts()).add(label, rows)
        told = table.filter(pc.not_equal(table.column("state_pp"), ""))
        states, labels = text_numbers(told.column("state_pp")), told.column("label").to_numpy()
        self.states.add(states)
        self.positive.add(states[labels == "positive"])
        self.negative.add(states[labels == "negative"])
        tried = pc.and_(
            pc.and_(table.column("parent_state_id").is_valid(), pc.not_equal(table.column("tactic_applied"), "")),
            pc.invert(pc.is_in(table.column("origin"), pa.array(_NO_CANDIDATES))),
        )
        self.tries.add(table.filter(tried), attempts[tried.to_numpy()])

    def stats(self, largest: int, asked: set[str] | None) -> Stats:
        self.theorems.pop("", None)
        first = sorted(self.theorems.items(), key=lambda item: (-item[1].total, item[0]))[:largest]
        proved = self.proved if asked is None else self.proved & asked
        gave_up = (self.gave_up if asked is None else self.gave_up & asked) - proved
        attempted = self.attempted if asked is None else self.attempted & asked
        return Stats(
            rows=self.rows,
            kinds=dict(sorted(self.kinds.items())),
            origins=dict(sorted(self.origins.items())),
            verdicts=dict(sorted((verdict, rows) for verdict, rows in self.verdicts.items() if verdict)),
            labels=total_labels(self.depths.values()),
            depths=dict(sorted(self.depths.items())),
            theorems=len(self.theorems),
            largest=dict(first),
            attempts=len(self.attempts),
            unique_states=len(self.states),
            states_with_both_labels=self.positive.shared_with(self.negative),
            proved=Proved(
                proved=len(proved),
                attempted=len(attempted),
                copied=len(self.theorems.keys() - self.attempted),
                gave_up=len(gave_up),
                asked=None if asked is None else len(asked),
                not_attempted=None if asked is None else len(asked - attempted),
            ),
            candidates=self.tries.candidates(),
        )


def total_labels(counts: Iterable[LabelCounts]) -> LabelCounts:
    """Return all counts together."""
    total = LabelCounts()
    for each in counts:
        total.positive += each.positive
        total.negative += each.negative
        total.unknown += each.unknown
    return total


def grouped_counts(table: Any, *names: str) -> Any:
    """Yield the values that some columns of a table have together, each time with how many rows have them."""
    counts = table.group_by(list(names), use_threads=False).aggregate([([], "count_all")])
    return zip(*(counts.column(name).to_pylist() for name in (*names, "count_all")), strict=True)
