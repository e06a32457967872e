"""How far attempts have come, beside what pandas makes of the same rows."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from attempts import Shape, attempts
from ekiden_store import Step, Store
from ekiden_store.arrow import pc
from ekiden_store.queries.progress import read_progress
from ekiden_store.queries.progress_figures import Group, Progress, Share
from ekiden_store.queries.stats import LabelCounts, read_stats

STATES = ["search_node", "tactic"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("progress") / "store")
    rows = list(attempts(Shape()))
    with store.writer() as writer:
        writer.append(rows[:1000])
    store.compact()
    with store.writer() as writer:
        writer.append(rows[1000:])
    return store


@pytest.fixture(scope="module")
def frame(store: Store) -> Any:
    with store.snapshot() as snapshot:
        return snapshot.dataset().to_table().to_pandas()


def progress(store: Store, **options: Any) -> Progress:
    with store.snapshot() as snapshot:
        return read_progress(snapshot, **options)


def filled(folder: Path, *steps: Step) -> Store:
    store = Store(folder)
    with store.writer() as writer:
        writer.append(list(steps))
    return store


def proofs(frame: Any) -> Any:
    own = frame[(frame.origin != "ground_truth") & (frame.theorem_name != "")]
    done = own[own.is_proof_complete & (own.outcome != "failed")]
    return done[~done.tactic_applied.str.contains("sorry")]


def check_group(group: Group, frame: Any, *, whole: int | None = None) -> None:
    """Compare a group of rows with what pandas says."""
    own = frame[frame.origin != "ground_truth"]
    named = own[own.theorem_name != ""]
    done = proofs(frame)
    proved, attempted = set(done.theorem_name), set(named.theorem_name)
    outcomes, spent = group.outcomes, group.spent
    assert (group.rows, spent.rows, spent.calls) == (len(frame), len(own), (own.kind == "model_call").sum())
    assert (outcomes.attempted, outcomes.proved, outcomes.proofs) == (len(attempted), len(proved), len(proved))
    assert (group.success.part, group.success.whole) == (len(proved), len(attempted) if whole is None else whole)
    shortest = done[done.kind.isin(STATES)].groupby("theorem_name").depth_from_root.min()
    expected = {int(length): int(count) for length, count in shortest.value_counts().items()}
    if missing := len(proved - set(shortest.index)):
        expected[None] = missing  # pyright: ignore[reportArgumentType]  # no row tells the length
    assert outcomes.lengths == expected
    told = own.cost_nanodollars.dropna()
    assert spent.cost_nanodollars == (int(told.sum()) if len(told) else None)
    assert spent.unpriced_calls == own[own.kind == "model_call"].cost_nanodollars.isna().sum()
    assert (spent.tokens or 0) == own.tokens_in.fillna(0).sum() + own.tokens_out.fillna(0).sum()
    assert (spent.duration_ms or 0) == own.duration_ms.sum()
    lost = named[~named.theorem_name.isin(proved)]
    assert outcomes.failed_nanodollars == lost.cost_nanodollars.fillna(0).sum()
    if proved and len(told):
        assert group.per_proof.nanodollars == pytest.approx(told.sum() / len(proved))
    labels = frame[frame.kind.isin(STATES)].label.value_counts()
    assert group.labels == LabelCounts(**{str(label): int(count) for label, count in labels.items()})


def test_all_figures_are_those_of_pandas(store: Store, frame: Any) -> None:
    found = progress(store)
    check_group(found.whole, frame)
    assert [iteration.number for iteration in found.iterations] == [0, 1, 2, None]
    seen: set[str] = set()
    tried: set[str] = set()
    for iteration in found.iterations:
        is_here = frame.iteration.isna() if iteration.number is None else frame.iteration == iteration.number
        check_group(iteration.group, frame[is_here])
        proved = set(proofs(frame[is_here]).theorem_name)
        assert iteration.new == len(proved - seen)
        seen |= proved
        own = frame[is_here & (frame.origin != "ground_truth") & (frame.theorem_name != "")]
        tried |= set(own.theorem_name)
        assert (iteration.so_far.part, iteration.so_far.whole) == (len(seen), len(tried))
    assert sum(iteration.group.rows for iteration in found.iterations) == len(frame)
    for run in found.runs:
        check_group(run.group, frame[frame.run_id == run.run_id])
    assert {run.run_id for run in found.runs} == set(frame.run_id)
    assert sum(run.new for run in found.runs) == found.runs[-1].so_far.part == found.whole.outcomes.proved
    assert [run.group.first_ms for run in found.runs] == sorted(frame.groupby("run_id").timestamp_ms.min())
    for model in found.models:
        check_group(model.group, frame[frame.model == model.name])


def test_depths_failures_and_origins_are_those_of_pandas(store: Store, frame: Any) -> None:
    found = progress(store)
    states = frame[frame.kind.isin(STATES)]
    own = states[(states.origin != "ground_truth") & (states.theorem_name != "")]
    deepest = own.groupby("theorem_name").depth_from_root.max()
    shortest = proofs(states).groupby("theorem_name").depth_from_root.min()
    for depth, at in found.depths.items():
        assert at.labels.total == (states.depth_from_root == depth).sum()
        assert at.labels.positive == ((states.depth_from_root == depth) & (states.label == "positive")).sum()
        assert (at.reached, at.finished) == ((deepest >= depth).sum(), (shortest == depth).sum())
    assert sum(at.labels.total for at in found.depths.values()) == len(states)
    for origin, labels in found.labels_by_origin.items():
        assert labels.total == (states.origin == origin).sum()
    failed = frame[(frame.outcome == "failed") & (frame.origin != "ground_truth")]
    assert found.failures == failed.failure_kind.value_counts().to_dict()
    assert found.failed == len(failed)
    judged = set(frame[frame.verdict == "accepted"].theorem_name)
    assert found.whole.outcomes.accepted == len(judged & set(proofs(frame).theorem_name))


def test_figures_agree_with_the_counts_of_stats(store: Store) -> None:
    found = progress(store)
    with store.snapshot() as snapshot:
        stats = read_stats(snapshot)
    outcomes = found.whole.outcomes
    assert (found.kinds, found.origins, found.attempts) == (stats.kinds, stats.origins, stats.attempts)
    assert (found.theorems, found.copied, outcomes.gave_up) == (stats.theorems, stats.proved.copied, 1)
    assert (outcomes.attempted, outcomes.proved) == (stats.proved.attempted, stats.proved.proved)
    assert outcomes.gave_up == stats.proved.gave_up
    assert found.whole.labels == stats.labels


def test_theorems_that_left_no_row_are_in_every_denominator(store: Store, frame: Any) -> None:
    asked = [f"theorem_{number}" for number in range(20, 80)]
    found = progress(store, asked=[*asked, asked[0]])
    everything = progress(store)
    done = proofs(frame)
    proved = set(done.theorem_name) & set(asked)
    assert (found.asked, found.not_attempted) == (60, 20)
    assert (found.whole.success.part, found.whole.success.whole) == (len(proved), 60)
    assert {iteration.group.success.whole for iteration in found.iterations} == {60}
    assert (found.iterations[-1].so_far.part, found.iterations[-1].so_far.whole) == (len(proved), 60)
    assert found.whole.per_proof == everything.whole.per_proof, "all that was spent is divided by all that was proved"


def test_an_empty_store_has_no_shares_and_no_groups(tmp_path: Path) -> None:
    found = progress(Store(tmp_path / "store"), asked=["a"])
    assert (found.whole.rows, found.attempts, found.theorems, found.not_attempted) == (0, 0, 0, 1)
    assert (found.iterations, found.runs, found.models, found.depths, found.failures) == ([], [], [], {}, {})
    assert found.whole.success == Share.of(0, 1)
    assert progress(Store(tmp_path / "store")).whole.success.value is None


def test_what_no_row_tells_is_unknown_and_never_0(tmp_path: Path) -> None:
    call = Step(theorem_name="a", kind="model_call", run_id="r")
    proof = Step(theorem_name="a", kind="tactic", is_proof_complete=True, depth_from_root=2, run_id="r")
    found = progress(filled(tmp_path / "store", call, proof))
    spent, per_proof = found.whole.spent, found.whole.per_proof
    assert (spent.cost_nanodollars, spent.tokens, spent.duration_ms) == (None, None, None)
    assert (per_proof.nanodollars, per_proof.nanodollars_of_failures, per_proof.tokens) == (None, None, None)
    assert (spent.unpriced_calls, spent.uncounted_calls) == (1, 1)


def test_the_price_of_a_proof_holds_what_failures_and_the_run_as_a_whole_cost(tmp_path: Path) -> None:
    run = Step(theorem_name="", kind="model_call", cost_nanodollars=5)
    lost = Step(theorem_name="b", kind="model_call", cost_nanodollars=30)
    won = Step(theorem_name="a", kind="model_call", cost_nanodollars=10)
    proofs = [Step(theorem_name="a", kind="tactic", is_proof_complete=True) for _ in range(3)]
    found = progress(filled(tmp_path / "store", run, lost, won, *proofs))
    assert found.whole.per_proof.nanodollars == 45, "three proofs of one theorem prove one theorem"
    assert found.whole.per_proof.nanodollars_of_failures == 30


def test_a_proof_whose_first_tactic_is_sorry_proves_nothing(tmp_path: Path) -> None:
    node = Step(theorem_name="a", kind="tactic", run_id="r", attempt_id="r/a", cost_nanodollars=4)
    first = replace(node, step=1, state_id=1, parent_state_id=0, tactic_applied="have h : p := sorry", state_pp="⊢ q")
    last = replace(node, step=2, state_id=2, parent_state_id=1, tactic_applied="simp", is_proof_complete=True)
    found = progress(filled(tmp_path / "store", replace(node, state_pp="⊢ p"), first, last))
    outcomes = found.whole.outcomes
    assert (outcomes.attempted, outcomes.proved, outcomes.gave_up, outcomes.failed_nanodollars) == (1, 0, 1, 12)


def test_only_some_rows_are_counted(store: Store, frame: Any) -> None:
    found = progress(store, where=pc.field("run_id") == "third")
    check_group(found.whole, frame[frame.run_id == "third"])
    assert [run.run_id for run in found.runs] == ["third"]


def test_a_negative_iteration_and_an_absurd_depth_are_kept(tmp_path: Path) -> None:
    deep = Step(theorem_name="a", kind="tactic", depth_from_root=2**32 - 1, iteration=-(2**31), is_proof_complete=True)
    found = progress(filled(tmp_path / "store", deep))
    assert [iteration.number for iteration in found.iterations] == [-(2**31)]
    assert list(found.depths) == [2**32 - 1]
    assert found.whole.outcomes.proved == 1


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [(0, 10, 0.0, 0.27753), (5, 10, 0.23659, 0.76341), (10, 10, 0.72247, 1.0), (1, 1, 0.20655, 1.0)],
)
def test_the_interval_is_wilsons(part: int, whole: int, low: float, high: float) -> None:
    share = Share.of(part, whole)
    assert share.value == part / whole
    assert share.low is not None
    assert share.high is not None
    assert math.isclose(share.low, low, abs_tol=1e-5)
    assert math.isclose(share.high, high, abs_tol=1e-5)
