"""Any number of runs beside each other."""

from pathlib import Path
from typing import Any

import pytest

from ekiden_store import Step, Store, StoreError
from ekiden_store.queries.comparing_sets import SetComparison, compare_sets
from ekiden_store.queries.paired import Paired, share_interval
from ekiden_store.queries.runs import RunSummary, read_runs
from servers.store.test_stats import filled, lost_tree, proved_tree


def proof(theorem: str, run: str, depth: int, **columns: Any) -> Step:
    return Step(
        theorem_name=theorem, kind="tactic", run_id=run, depth_from_root=depth, is_proof_complete=True, **columns
    )


def compared(store: Store, *runs: str, **options: Any) -> SetComparison:
    with store.snapshot() as snapshot:
        return compare_sets(snapshot, {run: [run] for run in runs}, **options)


def test_shares_are_compared_over_what_both_were_asked_alone(tmp_path: Path):
    full = [proof(f"t{number}", "full", 1) for number in range(8)]
    partial = [*(proof(f"t{number}", "partial", 1) for number in range(2)), *lost_tree("t2", run_id="partial")]
    found = compared(filled(tmp_path / "store", *full, *partial), "full", "partial")
    assert [(total.asked, total.attempted, total.proved) for total in found.totals] == [(8, 8, 8), (3, 3, 2)]
    assert (found.is_same, found.pairs[0].left_out) == (False, (5, 0))
    assert found.pairs[0].table == Paired(both=2, only_first=1, only_second=0, neither=0)
    assert (found.pairs[0].lost, found.pairs[0].newly_proved) == (("t2",), ())


def test_what_was_asked_for_and_left_no_row_is_not_proved(tmp_path: Path):
    store = filled(tmp_path / "store", proof("a", "old", 1), proof("a", "new", 1), proof("b", "new", 1))
    found = compared(store, "old", "new", asked={"a", "b", "c"})
    assert [(total.asked, total.attempted, total.proved) for total in found.totals] == [(3, 1, 1), (3, 2, 2)]
    assert found.is_same
    assert found.pairs[0].table == Paired(both=1, only_first=0, only_second=1, neither=1)
    assert found.totals[1].share == share_interval(2, 3)


def test_proofs_are_counted_by_the_depth_of_the_shortest(tmp_path: Path):
    store = filled(
        tmp_path / "store",
        proof("a", "old", 9),
        proof("a", "old", 2),
        proof("a", "old", 0),
        proof("b", "old", 5),
        proof("c", "old", 0),
        proof("d", "old", 3, outcome="failed"),
        proof("a", "new", 100),
    )
    found = compared(store, "old", "new")
    assert [total.depths for total in found.totals] == [{"2": 1, "4 to 7": 1, "not told": 1}, {"16 or more": 1}]


def test_each_is_held_against_the_first_and_several_comparisons_are_allowed_for(tmp_path: Path):
    rows = [row for number in range(8) for row in lost_tree(f"t{number}", run_id="base")]
    rows += [proof(f"t{number}", run, 1) for number in range(8) for run in ("better", "better_too")]
    store = filled(tmp_path / "store", *rows)
    found = compared(store, "base", "better", "better_too")
    assert [(pair.first, pair.second) for pair in found.pairs] == [("base", "better"), ("base", "better_too")]
    assert [pair.p_value for pair in found.pairs] == pytest.approx([2 / 2**8] * 2)
    assert [pair.adjusted_p_value for pair in found.pairs] == pytest.approx([4 / 2**8] * 2)
    assert found.pairs[0].difference == 1.0


def test_a_run_that_is_not_there_is_told_with_those_that_are_like_it(tmp_path: Path):
    store = filled(tmp_path / "store", *(proof("a", run, 1) for run in ("iter_0", "iter_1", "other")))
    with pytest.raises(StoreError, match=r"no run 'iter0' with attempts in the store; the nearest are 'iter_0', 'it"):
        compared(store, "iter_1", "iter0")
    with pytest.raises(StoreError, match=r"no run 'zzz' with attempts in the store; there are 3: 'iter_0', 'iter_1'"):
        compared(store, "iter_1", "zzz")
    with pytest.raises(StoreError, match="name two runs at least"):
        compared(store, "iter_1")


def test_runs_are_listed_with_what_became_of_them(tmp_path: Path):
    store = filled(
        tmp_path / "store",
        proof("a", "old", 1, timestamp_ms=5, cost_nanodollars=3),
        Step(theorem_name="b", kind="model_call", run_id="old", timestamp_ms=9, cost_nanodollars=4),
        proof("c", "old", 1, timestamp_ms=0, origin="ground_truth"),
        Step(theorem_name="", kind="model_call", run_id="new", timestamp_ms=20),
        *proved_tree("d", run_id=""),
    )
    with store.snapshot() as snapshot:
        found = {each.run: each for each in read_runs(snapshot)}
    assert found["old"] == RunSummary("old", 3, 2, 1, cost_nanodollars=7, first_ms=5, last_ms=9)
    assert found["new"] == RunSummary("new", 1, 0, 0, first_ms=20, last_ms=20)
    assert (found[""].attempted, found[""].proved) == (1, 1)
