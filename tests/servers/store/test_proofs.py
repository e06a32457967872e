"""What counts as a proof is the same for whoever counts."""

from pathlib import Path

from ekiden_store import Step, compare_sets, read_runs, read_stats, stored_names
from ekiden_store.queries.progress import read_progress
from servers.store.test_stats import filled, lost_tree, proved_tree, tried


def test_all_who_count_take_the_same_for_attempts_and_for_proofs(tmp_path: Path):
    store = filled(
        tmp_path / "store",
        *proved_tree("proved"),
        *lost_tree("lost"),
        *proved_tree("copied", origin="ground_truth"),
        tried("given up", 1, None, "", "⊢ q"),
        tried("given up", 10, 1, "sorry", "", is_proof_complete=True),
        tried("failed", 1, None, "", "⊢ q"),
        tried("failed", 10, 1, "simp", "", is_proof_complete=True, outcome="failed"),
        Step(theorem_name="judged", kind="verdict", run_id="r", verdict="accepted", is_proof_complete=True),
        Step(theorem_name="", kind="message", run_id="r", is_proof_complete=True),
    )
    with store.snapshot() as snapshot:
        counted = read_stats(snapshot).proved
        outcomes = read_progress(snapshot).whole.outcomes
        (run,) = read_runs(snapshot)
        total = compare_sets(snapshot, {"r": ["r"], "none": []}).totals[0]
        attempted, proved = stored_names(snapshot, attempted=True), stored_names(snapshot, proved=True)
    assert proved == {"proved", "judged"}
    assert attempted == {"proved", "judged", "lost", "given up", "failed"}
    assert (counted.attempted, counted.proved, counted.gave_up) == (5, 2, 1)
    assert (outcomes.attempted, outcomes.proved, outcomes.gave_up) == (5, 2, 1)
    assert (run.attempted, run.proved) == (total.attempted, total.proved) == (5, 2)
