"""Examples and contrasts for training."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from ekiden_store import Step, Store
from ekiden_store.arrow import pc
from ekiden_store.queries.pairs import Example, Tally, examples, positive_paths
from ekiden_store.queries.pairs_contrast import Contrast, contrasts
from ekiden_store.queries.row_filter import RowFilter
from servers.store.test_stats import filled, lost_tree, proved_tree, tried

POSITIVE = RowFilter(labels=("positive",))


def learnt(store: Store, rows: RowFilter = POSITIVE, **options: Any) -> list[Example]:
    with store.snapshot() as snapshot:
        return list(examples(snapshot, rows, **options))


def contrasted(store: Store, rows: RowFilter = POSITIVE, **options: Any) -> list[Contrast]:
    with store.snapshot() as snapshot:
        return list(contrasts(snapshot, rows, **options))


def paths(store: Store, **options: Any) -> list[list[str]]:
    with store.snapshot() as snapshot:
        return [[f"{each.state} >> {each.tactic}" for each in path] for path in positive_paths(snapshot, **options)]


def test_an_example_is_a_tactic_with_the_state_before_it(tmp_path: Path):
    tally = Tally()
    assert learnt(filled(tmp_path / "store", *proved_tree("a")), tally=tally) == [
        Example("a", "⊢ a", "intro h", 0, "h ⊢ a"),
        Example("a", "h ⊢ a", "simp", 1, ""),
    ]
    assert tally == Tally(rows=3, used=2, unusable={"root": 1})  # pyright: ignore[reportArgumentType]  # a Counter equals a dict


def test_a_proof_of_one_step_is_an_example_too(tmp_path: Path):
    short = [
        tried("a", 1, None, "", "⊢ a", label="positive"),
        tried("a", 10, 1, "simp", "", label="positive", is_proof_complete=True),
    ]
    store = filled(tmp_path / "store", *short)
    assert learnt(store) == [Example("a", "⊢ a", "simp", 0, "")]
    assert learnt(store, finishing=False) == []


def test_the_parent_is_found_though_the_filter_does_not_let_it_through(tmp_path: Path):
    store = filled(tmp_path / "store", *proved_tree("a", model="m"), *lost_tree("b", model="m"))
    deep = RowFilter(labels=("positive",), min_depth=2, max_depth=2, models=("m",), kinds=("search_node",))
    assert learnt(store, deep) == [Example("a", "h ⊢ a", "simp", 1, "")]
    assert learnt(store, RowFilter(labels=("negative",), theorems=("b",))) == [
        Example("b", "⊢ b", "simp", 0, "⊢ smaller b")
    ]
    assert learnt(store, RowFilter(models=("other",))) == []
    assert learnt(store, RowFilter(iterations=(3,))) == learnt(store, RowFilter(origins=("probe",))) == []
    assert learnt(store, RowFilter(without_origins=("search",), without_theorems=("b",))) == []


def test_known_proofs_bring_the_state_before_themselves(tmp_path: Path):
    known: dict[str, Any] = {"label": "positive", "origin": "ground_truth"}
    steps = [
        tried("a", 0, None, "intro h", "⊢ a", state_before="⊢ a", **known),
        tried("a", 0, 0, "simp", "h ⊢ a", state_before="h ⊢ a", step=1, **known),
        tried("a", 0, 0, "omega", "⊢ elsewhere", step=2, label="negative"),
    ]
    store = filled(tmp_path / "store", *steps)
    assert learnt(store) == [Example("a", "⊢ a", "intro h", 0, None), Example("a", "h ⊢ a", "simp", 0, None)]
    assert contrasted(store, failed=True) == []


def test_a_row_whose_state_before_is_not_known_is_told_and_left_out(tmp_path: Path):
    tally = Tally()
    lost = tried("a", 10, 1, "simp", "⊢ b", label="positive")
    failed = tried("a", 11, 1, "ring", "", label="positive", outcome="failed")
    orphan = tried("a", 12, None, "ring", "", label="positive")
    after_end = [
        tried("b", 1, None, "", "", label="positive", is_proof_complete=True),
        tried("b", 10, 1, "rfl", "", label="positive"),
    ]
    assert learnt(filled(tmp_path / "store", lost, failed, orphan, *after_end), tally=tally) == []
    assert (tally.rows, tally.used) == (5, 0)
    assert tally.unusable == {
        "unknown_parent": 1,
        "failed_tactic": 1,
        "state_before_unknown": 1,
        "root": 1,
        "finished_before": 1,
    }


def test_positives_that_lie_on_no_proof_can_be_left_out(tmp_path: Path):
    wandered = [
        tried("z", 1, None, "", "⊢ z", label="positive"),
        tried("z", 10, 1, "simp", "⊢ y", label="positive"),
    ]
    store = filled(tmp_path / "store", *proved_tree("a"), *wandered)
    assert [each.theorem for each in learnt(store)].count("z") == 1
    assert {each.theorem for each in learnt(store, on_proofs=True)} == {"a"}


def test_a_path_leads_from_the_root_to_a_completed_proof(tmp_path: Path):
    store = filled(tmp_path / "store", *proved_tree("a"), *lost_tree("b"))
    assert paths(store) == [["⊢ a >> intro h", "h ⊢ a >> simp"]]
    assert paths(store, min_steps=3) == []
    assert paths(store, where=pc.field("theorem_name") == "b") == []


def test_a_path_needs_no_label_and_a_label_makes_none(tmp_path: Path):
    labelled = tried("b", 1, None, "", "⊢ b", label="positive")
    store = filled(tmp_path / "store", *proved_tree("a")[::4], labelled)  # the step between is missing
    assert paths(store) == []
    bare = [tried("c", 1, None, "", "⊢ c"), tried("c", 10, 1, "simp", "", is_proof_complete=True)]
    assert paths(filled(tmp_path / "other", *bare)) == [["⊢ c >> simp"]]


def test_a_contrast_is_two_children_of_one_parent(tmp_path: Path):
    store = filled(tmp_path / "store", *proved_tree("a"), *lost_tree("b"))
    left = Contrast("a", "⊢ a", 0, "intro h", "left", "h ⊢ a", "⊢ left a", positive_remaining=1)
    failed = Contrast("a", "⊢ a", 0, "intro h", "omega", "h ⊢ a", None, positive_remaining=1)
    right = Contrast("a", "h ⊢ a", 1, "simp", "right", "", "h ⊢ right a", positive_remaining=0)
    tally = Tally()
    assert contrasted(store, tally=tally) == [left, right]
    assert tally == Tally(rows=3, used=2, unusable={"root": 1})  # pyright: ignore[reportArgumentType]  # a Counter equals a dict
    assert contrasted(store, failed=True) == [left, failed, right]
    assert contrasted(store, with_states=True) == [left]


def test_the_same_state_in_another_attempt_makes_no_contrast(tmp_path: Path):
    alone = [
        tried("a", 1, None, "", "⊢ a", label="positive", attempt_id="one"),
        tried("a", 10, 1, "simp", "", label="positive", is_proof_complete=True, attempt_id="one"),
        tried("a", 1, None, "", "⊢ a", label="negative", attempt_id="two"),
        tried("a", 10, 1, "ring", "⊢ b", label="negative", attempt_id="two"),
    ]
    assert contrasted(filled(tmp_path / "store", *alone)) == []


def test_another_proof_is_no_negative(tmp_path: Path):
    other = [
        tried("a", 13, 1, "exact h", "", step=13, label="negative", is_proof_complete=True),
        tried("a", 14, 1, "constructor", "⊢ c", step=14, label="negative"),
        tried("a", 102, 14, "rfl", "", step=102, label="negative", is_proof_complete=True),
        tried("a", 15, 1, "  intro   h ", "h ⊢ a", step=15, label="negative"),
    ]
    store = filled(tmp_path / "store", *proved_tree("a"), *other)
    assert {pair.negative for pair in contrasted(store)} == {"left", "right"}


def test_a_tactic_that_left_no_goal_is_no_negative_though_nobody_called_the_proof_complete(tmp_path: Path):
    harvested = tried("a", 13, 1, "exact h", "", step=13, label="negative", origin="harvest")
    store = filled(tmp_path / "store", *proved_tree("a"), harvested)
    assert {pair.negative for pair in contrasted(store)} == {"left", "right"}


def test_what_is_positive_elsewhere_is_no_negative_unless_it_is_wanted(tmp_path: Path):
    other = {"attempt_id": "again", "run_id": "later"}
    elsewhere = [
        tried("a", 1, None, "", "⊢ a", label="positive", **other),
        tried("a", 10, 1, "left", "⊢ another text of it", label="positive", **other),
        tried("a", 100, 10, "done", "", label="positive", is_proof_complete=True, **other),
        tried("z", 1, None, "", "h ⊢ right a", label="positive"),
    ]
    store = filled(tmp_path / "store", *proved_tree("a"), *elsewhere)
    tally = Tally()
    assert contrasted(store, tally=tally) == []
    assert (tally.conflicts, tally.unusable["no_sibling"]) == (2, 4)
    assert [pair.negative for pair in contrasted(store, conflicts=True)] == ["left", "right"]


def test_a_tactic_that_leads_to_the_same_state_as_the_positive_one_is_no_negative(tmp_path: Path):
    loop = tried("a", 13, 1, "intro h'", "h ⊢ a", step=13, label="negative")
    store = filled(tmp_path / "store", *proved_tree("a"), loop)
    assert {pair.negative for pair in contrasted(store)} == {"left", "right"}


def test_the_positive_side_of_a_contrast_lies_on_a_proof_unless_labels_are_believed(tmp_path: Path):
    store = filled(tmp_path / "store", *proved_tree("a")[:4])
    tally = Tally()
    assert contrasted(store, tally=tally) == []
    assert tally.unusable == {"root": 1, "on_no_proof": 1}
    assert [pair.negative for pair in contrasted(store, on_proofs=False)] == ["left"]


def test_scores_are_told_where_there_are_some(tmp_path: Path):
    steps = proved_tree("a", llm_log_prob=-2.5, ebm_score=0.0, scored=True)
    steps[2] = replace(steps[2], ebm_score=float("nan"), llm_log_prob=0.0)
    steps[5] = replace(steps[5], scored=False, ebm_score=0.0)
    told = [
        (pair.positive_score, pair.negative_score, pair.positive_log_prob, pair.negative_log_prob)
        for pair in contrasted(filled(tmp_path / "store", *steps))
    ]
    assert told == [(0.0, None, -2.5, None), (0.0, None, -2.5, -2.5)]


def test_a_positive_without_a_sibling_is_told(tmp_path: Path):
    tally = Tally()
    alone: list[Step] = proved_tree("a")[:5:4]
    assert contrasted(filled(tmp_path / "store", *alone), tally=tally) == []
    assert tally.unusable == {"root": 1, "unknown_parent": 1}
    tally = Tally()
    assert contrasted(filled(tmp_path / "other", *proved_tree("a")[:2], proved_tree("a")[4]), tally=tally) == []
    assert tally.unusable == {"root": 1, "no_sibling": 2}
