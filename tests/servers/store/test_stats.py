"""Counting what a store holds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ekiden_store import Step, Store
from ekiden_store.arrow import pa, pc
from ekiden_store.queries.sampling_hashes import Distinct, Least, mixed, text_numbers
from ekiden_store.queries.sampling_spilled import LeastRows
from ekiden_store.queries.stats import Candidates, LabelCounts, Proved, Stats, read_stats


def tried(theorem: str, number: int, parent: int | None, tactic: str, state: str, **columns: Any) -> Step:
    """Return a row of a search; its depth is its number's count of digits, less one."""
    given: dict[str, Any] = {"kind": "search_node", "run_id": "r", "attempt_id": f"r/{theorem}", "step": number}
    given |= {"depth_from_root": len(str(number)) - 1, "outcome": "ok" if tactic else ""}
    given |= {"state_id": number, "parent_state_id": parent, "tactic_applied": tactic, "state_pp": state} | columns
    return Step(theorem_name=theorem, **given)


def proved_tree(theorem: str, **columns: Any) -> list[Step]:
    """Return a search: 1 -intro-> 10 -simp-> 100, which is finished, and what else was tried on the way."""
    good: dict[str, Any] = {"label": "positive"}
    bad: dict[str, Any] = {"label": "negative"}
    return [
        tried(theorem, 1, None, "", f"⊢ {theorem}", remaining_depth=2, **good, **columns),
        tried(theorem, 10, 1, "intro h", f"h ⊢ {theorem}", remaining_depth=1, **good, **columns),
        tried(theorem, 11, 1, "left", f"⊢ left {theorem}", **bad, **columns),
        tried(theorem, 12, 1, "omega", "", **bad | {"outcome": "failed", "failure_kind": "lean"}, **columns),
        tried(theorem, 100, 10, "simp", "", remaining_depth=0, is_proof_complete=True, **good, **columns),
        tried(theorem, 101, 10, "right", f"h ⊢ right {theorem}", **bad, **columns),
    ]


def lost_tree(theorem: str, **columns: Any) -> list[Step]:
    return [
        tried(theorem, 1, None, "", f"⊢ {theorem}", label="negative", **columns),
        tried(theorem, 10, 1, "simp", f"⊢ smaller {theorem}", label="negative", **columns),
    ]


def filled(folder: Path, *steps: Step) -> Store:
    store = Store(folder)
    with store.writer() as writer:
        writer.append(list(steps))
    return store


def stats(store: Store, **options: Any) -> Stats:
    with store.snapshot() as snapshot:
        return read_stats(snapshot, **options)


def test_an_empty_store_has_no_shares(tmp_path: Path):
    found = stats(Store(tmp_path / "store"), asked=[])
    assert (found.rows, found.theorems, found.attempts, found.unique_states) == (0, 0, 0, 0)
    assert (found.proved.of_attempted, found.proved.of_asked) == (None, None)
    assert found.candidates == Candidates()


def test_a_store_is_counted_by_label_depth_and_theorem(tmp_path: Path):
    talk = Step(theorem_name="a", kind="message", run_id="r", attempt_id="r/a", tool_output="Let us see.")
    verdict = Step(theorem_name="a", kind="verdict", run_id="r", attempt_id="r/a", verdict="accepted")
    found = stats(filled(tmp_path / "store", *proved_tree("a"), *lost_tree("b"), talk, verdict))
    assert found == Stats(
        rows=10,
        kinds={"message": 1, "search_node": 8, "verdict": 1},
        origins={"search": 10},
        verdicts={"accepted": 1},
        labels=LabelCounts(positive=3, negative=5),
        depths={
            0: LabelCounts(positive=1, negative=1),
            1: LabelCounts(positive=1, negative=3),
            2: LabelCounts(positive=1, negative=1),
        },
        theorems=2,
        largest={"a": LabelCounts(positive=3, negative=3), "b": LabelCounts(negative=2)},
        attempts=2,
        unique_states=6,
        states_with_both_labels=0,
        proved=Proved(proved=1, attempted=2, copied=0),
        candidates=Candidates(expansions=3, average=2.0, least=1, most=3),
    )


def test_a_label_proves_nothing_and_neither_does_a_copied_proof(tmp_path: Path):
    told = tried("told", 1, None, "", "⊢ told", label="positive")
    copied = proved_tree("copied", origin="ground_truth")
    failed = tried("failed", 10, 1, "simp", "", is_proof_complete=True, outcome="failed")
    found = stats(filled(tmp_path / "store", told, *copied, failed)).proved
    assert found == Proved(proved=0, attempted=2, copied=1)
    assert found.of_attempted == 0


def test_a_proof_that_leaves_something_out_proves_nothing(tmp_path: Path):
    at_the_end = [tried("a", 1, None, "", "⊢ a"), tried("a", 10, 1, "by\n  sorry", "", is_proof_complete=True)]
    on_the_way = [
        tried("b", 1, None, "", "⊢ b"),
        tried("b", 10, 1, "have h : False := by admit", "h : False ⊢ b"),
        tried("b", 100, 10, "exact h.elim", "", is_proof_complete=True),
        tried("b", 101, 10, "sorry", "", is_proof_complete=True, outcome="failed"),
    ]
    beside = [*proved_tree("c"), tried("c", 13, 1, "sorry", "", is_proof_complete=True)]
    elsewhere = [*proved_tree("d"), tried("d", 2, None, "", "⊢ d", attempt_id="e")]
    elsewhere += [tried("d", 20, 2, "sorry", "", is_proof_complete=True, attempt_id="e")]
    only_named = [tried("f", 1, None, "", "⊢ f"), tried("f", 10, 1, "exact sorry_free", "", is_proof_complete=True)]
    store = filled(tmp_path / "store", *at_the_end, *on_the_way, *beside, *elsewhere, *only_named)
    assert stats(store).proved == Proved(proved=3, attempted=5, copied=0, gave_up=2)
    assert stats(store, asked=["a", "c", "z"]).proved == Proved(1, 2, 0, gave_up=1, asked=3, not_attempted=1)
    assert stats(store, where=pc.field("theorem_name") == "a").proved == Proved(0, 1, 0, gave_up=1)


def test_theorems_that_left_no_row_count_among_those_that_were_asked(tmp_path: Path):
    store = filled(tmp_path / "store", *proved_tree("a"), *lost_tree("b"), *proved_tree("other"))
    found = stats(store, asked=["a", "b", "c", "d"]).proved
    assert found == Proved(proved=1, attempted=2, copied=0, asked=4, not_attempted=2)
    assert (found.of_attempted, found.of_asked) == (0.5, 0.25)
    assert stats(store).proved.of_asked is None


def test_candidates_are_different_tactics_of_the_model_in_one_state_of_one_attempt(tmp_path: Path):
    again = tried("a", 13, 1, "left", "⊢ left once more")
    probe = tried("a", 14, 1, "decide", "⊢ probed", origin="probe")
    elsewhere = tried("a", 10, 1, "ring", "⊢ ring", attempt_id="second")
    found = stats(filled(tmp_path / "store", *proved_tree("a"), again, probe, elsewhere)).candidates
    assert found == Candidates(expansions=3, average=2.0, least=1, most=3)


def test_a_state_may_have_both_labels(tmp_path: Path):
    twice = [tried(name, 1, None, "", "⊢ same", label=label) for name, label in (("a", "positive"), ("b", "negative"))]
    found = stats(filled(tmp_path / "store", *twice))
    assert (found.unique_states, found.states_with_both_labels) == (1, 1)


def test_some_rows_are_counted_alone(tmp_path: Path):
    store = filled(tmp_path / "store", *proved_tree("a"), *lost_tree("b"))
    found = stats(store, where=pc.field("theorem_name") == "b", largest=0)
    assert (found.rows, found.theorems, found.largest) == (2, 1, {})


@pytest.mark.parametrize("length", [0, 1, 3_000_000])
def test_different_numbers_are_counted_in_pieces(length: int):
    numbers = np.arange(length, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)  # all different, and spread out
    distinct, half = Distinct(), Distinct()
    for start in range(0, length, 500_000):
        distinct.add(numbers[start : start + 600_000])
    half.add(numbers[: length // 2])
    assert (len(distinct), distinct.shared_with(half)) == (length, length // 2)


@pytest.mark.parametrize("keys", [1, 7, 100_000])
def test_of_each_key_the_least_value_is_kept(keys: int):
    values = np.random.default_rng(1).permutation(1_500_000).astype(np.uint64)
    key = values % np.uint64(keys)
    least = Least()
    for start in range(0, len(values), 300_000):
        least.add(key[start : start + 300_000] * np.uint64(0x9E3779B97F4A7C15), values[start : start + 300_000])
    assert least.values().tolist() == list(range(keys))


@pytest.mark.parametrize("most_waiting", [10, 5_000, 1_000_000])
def test_rows_are_told_apart_whether_or_not_memory_holds_them(most_waiting: int):
    draw = np.random.default_rng(1)
    spread_out = draw.integers(2**64, size=300, dtype=np.uint64)
    keys, values = spread_out[draw.integers(300, size=20_000)], draw.integers(50, size=20_000, dtype=np.uint64)
    pairs, least = (LeastRows(width=2, same=same, most_waiting=most_waiting) for same in (2, 1))
    for start in range(0, 20_000, 700):
        pairs.add(keys[start : start + 700], values[start : start + 700])
        least.add(keys[start : start + 700], values[start : start + 700])
    expected = sorted(set(zip(keys.tolist(), values.tolist(), strict=True)))
    assert np.concatenate(list(pairs.pieces())).tolist() == [list(pair) for pair in expected]
    first = dict(reversed(expected))
    assert dict(row for piece in least.pieces() for row in piece.tolist()) == first
    assert (len(pairs), len(least)) == (len(expected), len(first))


def test_numbers_of_texts_are_the_same_for_ever():
    column = pa.chunked_array([["a", None], ["", "a"]], pa.string())
    a, nothing, empty, again = text_numbers(column).tolist()
    assert a == again == 3405396810240292928
    assert nothing == empty != a
    left, right = (text_numbers(pa.chunked_array([[text]])) for text in "ab")
    assert mixed(left, right).tolist() != mixed(right, left).tolist()
