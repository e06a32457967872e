"""Two runs beside each other."""

from pathlib import Path
from typing import Any

import pytest

from ekiden_store import Step, Store, StoreError
from ekiden_store.queries.comparing import Comparison, Side, Spent, TheoremChange, compare_runs
from servers.store.test_stats import filled, lost_tree, proved_tree


def called(theorem: str, run: str, **columns: Any) -> Step:
    return Step(theorem_name=theorem, kind="model_call", run_id=run, **columns)


def compared(store: Store, before: Any = ("old",), after: Any = ("new",)) -> Comparison:
    with store.snapshot() as snapshot:
        return compare_runs(snapshot, before, after)


def two_runs(folder: Path) -> Store:
    return filled(
        folder,
        *proved_tree("both", run_id="old"),
        *proved_tree("both", run_id="new"),
        *proved_tree("lost", run_id="old"),
        *lost_tree("lost", run_id="new"),
        *lost_tree("gained", run_id="old"),
        *proved_tree("gained", run_id="new"),
        *lost_tree("hard", run_id="old"),
        *lost_tree("hard", run_id="new"),
        *proved_tree("first", run_id="old"),
        *proved_tree("second", run_id="new"),
        *proved_tree("copied", run_id="new", origin="ground_truth"),
        *proved_tree("other", run_id="elsewhere"),
        called("gained", "new", cost_nanodollars=5, tokens_in=7, duration_ms=3),
        called("gained", "new", cost_nanodollars=6, tokens_out=2),
        called("hard", "new", cost_nanodollars=100),
    )


def test_runs_are_compared_theorem_by_theorem(tmp_path: Path):
    found = compared(two_runs(tmp_path / "store"))
    assert {each.theorem: each.change for each in found.theorems} == {
        "both": "both",
        "first": "only_before",
        "gained": "newly_proved",
        "hard": "neither",
        "lost": "lost",
        "second": "only_after",
    }
    assert found.counts == {"newly_proved": 1, "lost": 1, "both": 1, "neither": 1, "only_before": 1, "only_after": 1}
    assert found.shared == 4
    assert [(run.runs, run.attempted, run.proved, run.proved_of_shared) for run in (found.before, found.after)] == [
        (("old",), 5, 3, 2),
        (("new",), 5, 3, 2),
    ]


def test_what_was_spent_is_told_and_what_is_not_known_is_no_zero(tmp_path: Path):
    found = compared(two_runs(tmp_path / "store"))
    assert next(each for each in found.theorems if each.theorem == "gained") == TheoremChange(
        "gained",
        "newly_proved",
        Side(False, Spent(rows=2, states=2)),
        Side(True, Spent(rows=8, states=6, cost_nanodollars=11, tokens_in=7, tokens_out=2, duration_ms=3), depth=2),
    )
    assert found.after.spent == Spent(25, 22, cost_nanodollars=111, tokens_in=7, tokens_out=2, duration_ms=3)
    assert found.before.spent.cost_nanodollars is None


def test_several_runs_count_as_one(tmp_path: Path):
    found = compared(two_runs(tmp_path / "store"), before="old", after=["new", "elsewhere"])
    assert found.after.runs == ("elsewhere", "new")
    assert (found.after.attempted, found.after.proved) == (6, 4)


def test_what_cannot_be_compared_is_refused(tmp_path: Path):
    store = two_runs(tmp_path / "store")
    with pytest.raises(StoreError, match="no run 'none'"):
        compared(store, after=["none"])
    with pytest.raises(StoreError, match="'old' cannot be compared with itself"):
        compared(store, after=["old", "new"])


def test_what_belongs_to_no_theorem_is_spent_by_the_run_and_attempts_nothing(tmp_path: Path):
    store = filled(tmp_path / "store", *lost_tree("a", run_id="old"), called("", "new", cost_nanodollars=9))
    found = compared(store)
    assert [each.theorem for each in found.theorems] == ["a"]
    assert (found.after.attempted, found.after.spent.cost_nanodollars) == (0, 9)
