"""The counterexample search as a program uses it."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from ekiden_cayley.errors import CayleyError
from ekiden_cayley.infinite import RULE_SPACES, InfiniteSearch
from ekiden_cayley.refuter import Refuter
from ekiden_cayley.small_orders import all_magmas
from ekiden_cayley.stop import Stop
from ekiden_magma import CayleyTable, Law, parse_law
from ekiden_magma.certificate import Refutation
from ekiden_magma.check import check
from ekiden_magma.natural import ResidueModel
from servers.cayley.strategies import as_magmas, laws

if TYPE_CHECKING:
    from ekiden_cayley.outcome import Outcome, Progress

PROBLEMS = Path(__file__).parents[2] / "data" / "problems" / "normal.jsonl"
SMALL = [magma for order in (1, 2, 3) for magma in as_magmas(all_magmas(order))]
REFUTER = Refuter()

COMMUTATIVE, ASSOCIATIVE = parse_law("x ◇ y = y ◇ x"), parse_law("x ◇ (y ◇ z) = (x ◇ y) ◇ z")
LONG = parse_law("x = y ◇ (x ◇ (((x ◇ y) ◇ z) ◇ (z ◇ w)))"), parse_law("x = (x ◇ y) ◇ (y ◇ x)")


def refutation_of(outcome: Outcome) -> Refutation:
    assert outcome.reason == "refuted"
    assert outcome.refutation is not None
    check(outcome.refutation)
    return outcome.refutation


def order_of(outcome: Outcome) -> int:
    model = refutation_of(outcome).model
    assert isinstance(model, CayleyTable)
    return model.order


@settings(max_examples=100, deadline=None)
@given(law1=laws(5, "xyz"), law2=laws(5, "xyz"))
def test_a_pair_is_refuted_if_a_small_table_refutes_it_and_by_a_smallest_one(law1: Law, law2: Law) -> None:
    smallest = next((m.order for m in SMALL if m.satisfies(law1) and not m.satisfies(law2)), None)
    outcome = REFUTER.refute(law1, law2, time_limit_s=0.05 if smallest is None else 20)
    if smallest is not None:
        assert order_of(outcome) == smallest == outcome.no_model_up_to + 1
        assert outcome.is_smallest
    elif outcome.refutation is not None:
        check(outcome.refutation)


def test_every_false_problem_of_the_public_set_is_refuted() -> None:
    rows = [json.loads(line) for line in PROBLEMS.read_text(encoding="utf-8").splitlines()]
    pairs = [(parse_law(r["equation1"]), parse_law(r["equation2"])) for r in rows if not r["answer"]]
    outcomes = REFUTER.refute_batch(pairs, time_limit_s=50)
    assert len(outcomes) == 500
    for outcome, (law1, law2) in zip(outcomes, pairs, strict=True):
        refutation = refutation_of(outcome)
        assert (refutation.law1, refutation.law2) == (law1, law2)


def test_no_true_problem_of_the_public_set_is_refuted() -> None:
    rows = [json.loads(line) for line in PROBLEMS.read_text(encoding="utf-8").splitlines()]
    pairs = [(parse_law(r["equation1"]), parse_law(r["equation2"])) for r in rows if r["answer"]]
    outcomes = REFUTER.refute_batch(pairs[:200], time_limit_s=3)
    assert [outcome.refutation for outcome in outcomes] == [None] * 200


def test_a_smallest_table_is_proved_smallest() -> None:
    law1, law2 = parse_law("x = y ◇ (((x ◇ y) ◇ x) ◇ y)"), parse_law("x = x ◇ (y ◇ y)")
    outcome = REFUTER.refute(law1, law2, smallest=True, time_limit_s=50)
    assert (order_of(outcome), outcome.no_model_up_to, outcome.is_smallest) == (7, 6, True)
    assert outcome.note.endswith("no smaller table exists.")


@pytest.mark.parametrize(
    ("law1", "law2", "because"),
    [
        ("x ◇ y = y ◇ x", "z = z", "both sides of law 2 are the same term"),
        ("x = y ◇ z", "x ◇ y = y ◇ x", "law 1 makes every two elements equal, since 'x' occurs on one side only"),
        ("x ◇ y = y ◇ x", "(y ◇ y) ◇ z = z ◇ (y ◇ y)", "law 2 is an instance of law 1"),
        ("x = x ◇ y", "w ◇ (z ◇ u) = w ◇ z", "law 2 is an instance of law 1"),
    ],
)
def test_a_plain_implication_is_said_to_be_one(law1: str, law2: str, because: str) -> None:
    outcome = REFUTER.refute(parse_law(law1), parse_law(law2))
    assert (outcome.reason, outcome.refutation, outcome.implied_because) == ("exhausted", None, because)
    assert outcome.note == f"No counterexample exists: {because}."


def test_a_law_never_refutes_itself_and_finding_nothing_is_no_proof() -> None:
    outcome = REFUTER.refute(COMMUTATIVE, parse_law("x ◇ (y ◇ z) = (z ◇ y) ◇ x"), time_limit_s=0.2)
    assert (outcome.reason, outcome.refutation, outcome.implied_because) == ("time", None, None)
    assert "this does not prove the implication" in outcome.note
    assert outcome.no_model_up_to >= 3


def test_cancelling_from_another_thread_ends_a_long_search() -> None:
    stop, reached = Stop(), threading.Event()
    ended: list[Outcome] = []

    def progress(at: Progress) -> None:
        if at.stage == "model finding":
            reached.set()

    def search() -> None:
        ended.append(REFUTER.refute(*LONG, time_limit_s=600, max_order=12, stop=stop, progress=progress))

    thread = threading.Thread(target=search)
    thread.start()
    assert reached.wait(20)
    stop.cancel()
    thread.join(20)
    assert [outcome.reason for outcome in ended] == ["cancelled"]


def test_a_stop_that_has_expired_ends_the_search_before_it_begins() -> None:
    stop = Stop()
    stop.cancel()
    outcome = REFUTER.refute(COMMUTATIVE, ASSOCIATIVE, stop=stop)
    assert (outcome.reason, outcome.no_model_up_to) == ("cancelled", 1)
    assert REFUTER.refute(COMMUTATIVE, ASSOCIATIVE, time_limit_s=0).reason == "time"


def test_slices_of_time_lead_to_the_same_end_as_one_long_run() -> None:
    law1, law2 = parse_law("x = y ◇ (((x ◇ y) ◇ x) ◇ y)"), parse_law("x = x ◇ (y ◇ y)")
    whole = REFUTER.refute(law1, law2, smallest=True, time_limit_s=50)
    search = REFUTER.search(law1, law2, smallest=True)
    slices = 0
    while search.advance(Stop(0.002)) is None:
        slices += 1
    assert slices > 3
    assert search.outcome is not None
    assert refutation_of(search.outcome) == refutation_of(whole)


def test_a_released_search_goes_on() -> None:
    search = REFUTER.search(*LONG, max_order=8)
    while search.weight == 0:
        assert search.advance(Stop(0.05)) is None
    proved = search.no_model_up_to
    search.release()
    assert search.weight == 0
    search.advance(Stop(0.05))
    assert search.no_model_up_to >= proved


def test_equal_seeds_give_equal_refutations() -> None:
    pair = parse_law("x = (x ◇ y) ◇ (y ◇ (z ◇ x))"), parse_law("x = x ◇ (x ◇ x)")
    outcomes = [Refuter(seed=3).refute(*pair, time_limit_s=20) for _ in range(2)]
    assert outcomes[0].refutation == outcomes[1].refutation
    assert outcomes[0].method == outcomes[1].method


def test_a_batch_settles_easy_pairs_although_a_hard_one_comes_first() -> None:
    easy = (COMMUTATIVE, ASSOCIATIVE)
    told: list[int] = []
    outcomes = REFUTER.refute_batch(
        [LONG, easy, LONG, easy], time_limit_s=2, max_order=12, on_outcome=lambda place, _: told.append(place)
    )
    assert [outcome.reason for outcome in outcomes] == ["time", "refuted", "time", "refuted"]
    assert told[:2] == [1, 3]
    assert sorted(told) == [0, 1, 2, 3]


def test_an_empty_batch_has_no_outcomes() -> None:
    assert REFUTER.refute_batch([], time_limit_s=1) == []


def test_a_cancelled_batch_gives_an_outcome_for_every_pair() -> None:
    stop = Stop()

    def cancel(_place: int, _outcome: Outcome) -> None:
        stop.cancel()

    outcomes = REFUTER.refute_batch(
        [(COMMUTATIVE, ASSOCIATIVE), LONG, LONG], max_order=12, stop=stop, on_outcome=cancel
    )
    assert [outcome.reason for outcome in outcomes] == ["refuted", "cancelled", "cancelled"]


def test_one_refuter_serves_many_threads() -> None:
    rows = [json.loads(line) for line in PROBLEMS.read_text(encoding="utf-8").splitlines()[:60]]
    pairs = [(parse_law(r["equation1"]), parse_law(r["equation2"])) for r in rows if not r["answer"]]
    refuter = Refuter()
    found: list[list[Outcome]] = []

    def work() -> None:
        found.append([refuter.refute(*pair) for pair in pairs])

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(50)
    assert len(found) == 6
    assert all([o.refutation for o in outcomes] == [o.refutation for o in found[0]] for outcomes in found)
    for outcome in found[0]:
        refutation_of(outcome)


def test_laws_with_ten_operations_and_six_variables_are_searched() -> None:
    law1 = parse_law("x ◇ (y ◇ (z ◇ (w ◇ (u ◇ v)))) = ((((x ◇ y) ◇ z) ◇ w) ◇ u) ◇ v")
    refutation_of(REFUTER.refute(law1, COMMUTATIVE, time_limit_s=20))
    huge = parse_law("x = (y ◇ (z ◇ w)) ◇ ((u ◇ v) ◇ ((x ◇ y) ◇ (z ◇ (w ◇ (u ◇ x)))))")
    outcome = REFUTER.refute(huge, parse_law("x = y ◇ (x ◇ (z ◇ y))"), time_limit_s=0.5, max_order=20)
    assert outcome.reason in {"refuted", "time"}


@pytest.mark.parametrize("max_order", [-1, 0, 1, 65])
def test_an_order_out_of_range_is_refused(max_order: int) -> None:
    with pytest.raises(CayleyError, match=f"max_order is {max_order}; it must be 2..64"):
        REFUTER.refute(COMMUTATIVE, ASSOCIATIVE, max_order=max_order)


@pytest.mark.parametrize("limit", [-1.0, float("nan")])
def test_a_time_limit_that_is_no_time_is_refused(limit: float) -> None:
    with pytest.raises(CayleyError, match="The time limit is"):
        REFUTER.refute(COMMUTATIVE, ASSOCIATIVE, time_limit_s=limit)


def test_progress_names_the_stage_and_what_was_counted() -> None:
    seen: list[Progress] = []
    law1, law2 = parse_law("x = y ◇ (((x ◇ y) ◇ x) ◇ y)"), parse_law("x = x ◇ (y ◇ y)")
    REFUTER.refute(law1, law2, smallest=True, time_limit_s=50, progress=seen.append)
    stages = list(dict.fromkeys(at.stage for at in seen))
    assert stages == ["start", "small tables", "library", "families", "model finding"]
    proved = [at.no_model_up_to for at in seen]
    assert proved == sorted(proved)
    assert "small tables, order 3: 3340 tables" in map(str, seen)


@pytest.mark.parametrize(
    ("law1", "law2"),
    [
        ("x = y ◇ ((z ◇ (y ◇ y)) ◇ x)", "x = (y ◇ y) ◇ ((x ◇ y) ◇ x)"),
        ("x = (x ◇ y) ◇ ((y ◇ z) ◇ y)", "x ◇ y = x ◇ ((y ◇ x) ◇ z)"),
    ],
)
def test_pairs_that_no_table_of_order_up_to_5_refutes_are_refuted_by_infinite_models(law1: str, law2: str) -> None:
    outcome = REFUTER.refute(parse_law(law1), parse_law(law2), time_limit_s=50)
    assert isinstance(refutation_of(outcome).model, ResidueModel)
    assert outcome.method == "searching infinite models on the naturals"
    assert outcome.no_model_up_to >= 5
    assert not outcome.is_smallest


def test_the_search_of_infinite_models_is_the_same_in_small_and_large_budgets() -> None:
    pair = parse_law("x = x ◇ (x ◇ x)"), parse_law("x = (x ◇ x) ◇ x")

    def found(budget: int) -> object:
        search = InfiniteSearch(*pair, RULE_SPACES[1])
        while not search.exhausted:
            refutation = search.advance(budget)
            if refutation is not None:
                return refutation
        return None

    assert found(1) == found(1_000_000) is not None


@settings(max_examples=30, deadline=None)
@given(law1=laws(4, "xy"), law2=laws(4, "xy"))
def test_infinite_models_found_satisfy_law_1_and_break_law_2(law1: Law, law2: Law) -> None:
    for space in RULE_SPACES[:3]:
        found = InfiniteSearch(law1, law2, space).advance(20_000)
        if found is not None:
            check(Refutation(law1, law2, found.model, found.assignment))
