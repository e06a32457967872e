"""How far attempts have come: success, labels, depths and costs, over iterations. Rows are read once, in batches."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ekiden_store.arrow import pa, pc
from ekiden_store.columns import STATE_KINDS
from ekiden_store.queries.progress_figures import Depth, Progress, Spent
from ekiden_store.queries.progress_results import Tallies, progress_of
from ekiden_store.queries.progress_tables import (
    ACCEPTED,
    ASKED,
    GAVE_UP,
    NO_LENGTH,
    PROVED,
    Indices,
    Rows,
    is_among,
    texts_array,
)
from ekiden_store.queries.proofs import Proofs, are_attempts
from ekiden_store.queries.sampling_hashes import Numbers, attempt_numbers, text_numbers
from ekiden_store.queries.stats import LabelCounts, grouped_counts
from ekiden_store.snapshot import Snapshot

_COLUMNS = (
    "theorem_name",
    "run_id",
    "attempt_id",
    "kind",
    "label",
    "depth_from_root",
    "timestamp_ms",
    "iteration",
    "failure_kind",
    "verdict",
    "model",
    "tokens_in",
    "tokens_out",
    "cost_nanodollars",
    "duration_ms",
    "origin",
)
_MOST_FAILURES = 10_000
OTHER_FAILURES = "(others)"

Mask = npt.NDArray[np.bool_]


def read_progress(snapshot: Snapshot, *, where: Any = None, asked: Collection[str] | None = None) -> Progress:
    """Return how far attempts have come.

    Args:
        snapshot: The store.
        where: Which rows: a pyarrow expression; None: all.
        asked: The names of all theorems that were to be proved. Without them those that left no row are not known, and
            a share of the attempted theorems alone can be told.

    Raises:
        StoreError: The rows cannot be read.
    """
    names = None if asked is None else sorted(set(asked))
    numbers = None if names is None else np.unique(text_numbers(texts_array(names)))
    reading = _Reading(numbers, Proofs(snapshot))
    for batch in snapshot.scan(columns=(*_COLUMNS, *reading.proofs.columns), filter=where):
        if batch.num_rows:
            reading.add(pa.Table.from_batches([batch]))
    return progress_of(reading.tallies, None if names is None else len(names))


@dataclass(slots=True)
class _Reading:
    asked: Numbers | None
    proofs: Proofs
    tallies: Tallies = field(default_factory=Tallies)

    def add(self, table: Any) -> None:
        tallies = self.tallies
        scenes = tallies.scenes.numbered(table)
        tallies.kinds.update(dict(grouped_counts(table, "kind")))
        tallies.origins.update(dict(grouped_counts(table, "origin")))
        tallies.attempts.add(attempt_numbers(table))
        numbers = text_numbers(table.column("theorem_name"))
        is_named = pc.not_equal(table.column("theorem_name"), "").to_numpy()
        tallies.theorems.add(numbers[is_named])
        is_own = are_attempts(table).to_numpy()
        is_state = pc.is_in(table.column("kind"), pa.array(STATE_KINDS)).to_numpy()
        self._add_scenes(table.append_column("scene", pa.array(scenes)), is_own, is_state)
        self._add_depths(table.filter(pa.array(is_state)))
        self._add_failures(table.filter(pa.array(is_own)))
        chosen = is_own & is_named
        self._add_theorems(table.filter(pa.array(chosen)), numbers[chosen], scenes[chosen], is_state[chosen])

    def _add_scenes(self, table: Any, is_own: Mask, is_state: Mask) -> None:
        tallies = self.tallies
        for scene, rows in grouped_counts(table, "scene"):
            tallies.rows[scene] += rows
        for scene, label, rows in grouped_counts(table.filter(pa.array(is_state)), "scene", "label"):
            tallies.labels.setdefault(scene, LabelCounts()).add(label, rows)
        is_timed = pc.greater(table.column("timestamp_ms"), pa.scalar(0, pa.uint64()))
        times = table.filter(is_timed).group_by("scene", use_threads=False)
        for row in times.aggregate([("timestamp_ms", "min"), ("timestamp_ms", "max")]).to_pylist():
            first, last = tallies.times.get(row["scene"], (row["timestamp_ms_min"], row["timestamp_ms_max"]))
            tallies.times[row["scene"]] = min(first, row["timestamp_ms_min"]), max(last, row["timestamp_ms_max"])
        for scene, spent in _spent(table.filter(pa.array(is_own))):
            tallies.spent.setdefault(scene, Spent()).add(spent)

    def _add_depths(self, states: Any) -> None:
        for origin, label, rows in grouped_counts(states, "origin", "label"):
            self.tallies.labels_by_origin.setdefault(origin, LabelCounts()).add(label, rows)
        for depth, label, rows in grouped_counts(states, "depth_from_root", "label"):
            self.tallies.depths.setdefault(depth, Depth()).labels.add(label, rows)

    def _add_failures(self, own: Any) -> None:
        failures = self.tallies.failures
        for kind, rows in grouped_counts(own.filter(pc.equal(own.column("outcome"), "failed")), "failure_kind"):
            is_kept = kind in failures or len(failures) < _MOST_FAILURES
            failures[kind if is_kept else OTHER_FAILURES] += rows

    def _add_theorems(self, table: Any, theorems: Numbers, scenes: Indices, is_state: Mask) -> None:
        flags = np.zeros(table.num_rows, dtype=np.uint8)
        is_proved, is_given_up = (mask.to_numpy() for mask in self.proofs.completed(table))
        flags[is_proved] |= PROVED
        flags[is_given_up] |= GAVE_UP
        flags[pc.equal(table.column("verdict"), "accepted").to_numpy()] |= ACCEPTED
        flags[np.ones_like(is_state) if self.asked is None else is_among(theorems, self.asked)] |= ASKED
        depths = table.column("depth_from_root").to_numpy().astype(np.int64)
        costs = pc.fill_null(table.column("cost_nanodollars"), 0).to_numpy()
        shortest = np.where(is_proved & is_state, depths, NO_LENGTH)
        deepest = np.where(is_state, depths, -1)
        self.tallies.known.add(Rows(theorems, scenes, flags, shortest, deepest, costs))


def _spent(own: Any) -> Iterator[tuple[int, Spent]]:
    is_call = pc.equal(own.column("kind"), "model_call")
    has_tokens = pc.or_(own.column("tokens_in").is_valid(), own.column("tokens_out").is_valid())
    counts = {
        "calls": is_call,
        "unpriced_calls": pc.and_(is_call, own.column("cost_nanodollars").is_null()),
        "uncounted_calls": pc.and_(is_call, pc.invert(has_tokens)),
    }
    for name, values in counts.items():
        own = own.append_column(name, values.cast(pa.int64()))
    sums = ("cost_nanodollars", "tokens_in", "tokens_out", "duration_ms")
    wanted: list[tuple[str | list[str], str]] = [([], "count_all"), *((name, "sum") for name in (*counts, *sums))]
    for row in own.group_by("scene", use_threads=False).aggregate(wanted).to_pylist():
        values = {name: row[f"{name}_sum"] for name in (*counts, *sums)}
        yield row["scene"], Spent(rows=row["count_all"], **values)
