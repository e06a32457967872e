"""Asking several checkers: agreement is a verdict, disagreement an error of ours."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certificates import equational_proofs, item, refutations
from ekiden_config import load_settings
from ekiden_judge import CheckItem, CheckResult, CrossChecker, ExactChecker, Problem
from ekiden_judge.choice import choose_checker
from ekiden_judge.cross import opinion_of
from ekiden_magma import CayleyTable
from ekiden_magma.lean import finite_answer
from scripted_checker import ScriptedChecker

PROBLEM = Problem(id="p", eq1_id=0, eq2_id=0, equation1="x = x ◇ y", equation2="x = y ◇ (x ◇ (y ◇ x))")
YES = CheckResult("ACCEPTED", "It is right.")
NO = CheckResult("LEAN_REJECTED", "It is wrong")
AXIOM = CheckResult("DISALLOWED_AXIOMS", "It needs choice.")
UNDECIDED = CheckResult("NEEDS_LEAN", "No idea.")
LATE = CheckResult("LEAN_TIMEOUT", "Too slow.", repeatable=False)
CRASHED = CheckResult("LEAN_REJECTED", "It crashed.", repeatable=False)
BROKEN = CheckResult("HARNESS_ERROR", "A defect.", repeatable=False)
ALL = [YES, NO, AXIOM, UNDECIDED, LATE, CRASHED, BROKEN]


def cross(*said: CheckResult) -> CheckResult:
    names = ("exact", "coq", "lean")
    checkers = [ScriptedChecker({"x": result}, name=name) for name, result in zip(names, said, strict=False)]
    [result] = CrossChecker(checkers).check_batch([CheckItem(PROBLEM, "true", "x")])
    return result


def test_checkers_that_agree_give_the_verdict_of_the_strongest():
    found = cross(YES, YES, CheckResult("ACCEPTED", "Lean: yes.", axioms=("propext",)))
    assert replace(found, seconds=0.0) == CheckResult(
        "ACCEPTED", "Lean: yes. (decided by exact, coq, lean)", axioms=("propext",)
    )
    assert cross(NO, NO, AXIOM).error_code == "DISALLOWED_AXIOMS"


def test_undecided_agrees_with_anything():
    assert [cross(*said).error_code for said in ((YES, UNDECIDED, UNDECIDED), (UNDECIDED, NO, UNDECIDED))] == [
        "ACCEPTED",
        "LEAN_REJECTED",
    ]
    assert cross(UNDECIDED, UNDECIDED, UNDECIDED).error_code == "NEEDS_LEAN"
    assert cross(YES, YES, LATE).error_code == "LEAN_TIMEOUT"


def test_a_disagreement_is_an_error_of_ours_with_both_opinions():
    result = cross(YES, UNDECIDED, NO)
    assert (result.error_code, result.repeatable) == ("HARNESS_ERROR", False)
    assert result.message == (
        "The checkers disagree, which is an error of Ekiden's and no verdict. The checker 'exact' accepts: It is right."
        " The checker 'lean' refuses: It is wrong. Please report it."
    )


@given(st.lists(st.sampled_from(ALL), min_size=1, max_size=3))
def test_accepted_means_that_somebody_accepts_and_nobody_refuses(said: list[CheckResult]):
    opinions = {opinion_of(result) for result in said}
    result = cross(*said)
    if result.error_code == "ACCEPTED":
        assert "accepts" in opinions
        assert "refuses" not in opinions
    if opinions >= {"accepts", "refuses"}:
        assert result.error_code == "HARNESS_ERROR"


@given(st.lists(st.sampled_from(ALL), min_size=2, max_size=3))
def test_the_order_of_the_checkers_never_makes_a_disagreement_vanish(said: list[CheckResult]):
    disagree = cross(*said).message.startswith("The checkers disagree")
    assert cross(*reversed(said)).message.startswith("The checkers disagree") == disagree


def test_items_keep_their_order_and_each_is_told_once():
    exact = ExactChecker()
    code = finite_answer(CayleyTable(((0, 0), (1, 1))))
    other = ScriptedChecker({code: YES, "x": UNDECIDED}, name="lean")
    told: dict[int, CheckResult] = {}
    items = [CheckItem(PROBLEM, "false", text) for text in ("x", code, "x")]
    results = CrossChecker([exact, other]).check_batch(items, done=told.__setitem__)
    assert [result.error_code for result in results] == ["NEEDS_LEAN", "ACCEPTED", "NEEDS_LEAN"]
    assert results == [told[0], told[1], told[2]]
    assert results[1].certificate == "table"


def test_its_identity_is_that_of_all_checkers():
    first, second = ScriptedChecker({}, identity="a 1"), ScriptedChecker({}, identity="b 2")
    assert CrossChecker([first, second]).identity == "cross(a 1; b 2)"


@pytest.mark.coq
@pytest.mark.lean
@pytest.mark.timeout(600)
def test_the_exact_checker_coq_and_lean_agree():
    right = [item(number, made) for number, made in enumerate([*refutations(15, 7), *equational_proofs(10, 7)])]
    wrong = CheckItem(PROBLEM, "false", finite_answer(CayleyTable(((0, 1), (1, 0)))))
    with choose_checker("cross", load_settings()) as checker:
        results = checker.check_batch([*right, wrong])
    assert {result.error_code for result in results[:-1]} == {"ACCEPTED"}
    assert {result.message.rpartition(" (")[2] for result in results} == {"decided by exact, coq, lean)"}
    assert results[-1].error_code == "LEAN_REJECTED"
