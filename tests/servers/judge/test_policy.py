"""What a policy lets pass: axioms and constants that show, and library theorems whose axioms do not."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_judge import Problem, ProofPolicy
from ekiden_judge.policy import (
    STRICT,
    TRACKS,
    Dependencies,
    Ruling,
    axioms_of,
    library_axioms,
    may_name,
    policy_of,
    rule_on,
)
from ekiden_judge.problem import STANDARD_AXIOMS
from ekiden_judge.verdict import CheckCode

PROBLEM = Problem(id="p", eq1_id=0, eq2_id=0, equation1="x = y", equation2="x = x")
ANY_CONSTANT = ProofPolicy(allowed_axioms=tuple(STANDARD_AXIOMS))


def code_of(policy: ProofPolicy, *, axioms: str = "", unproved: str = "", names: str = "") -> CheckCode:
    return rule_on(policy, Dependencies(axioms.split(), unproved.split(), names.split())).error_code


def test_a_problem_without_a_policy_gets_the_one_asked_for():
    own = ProofPolicy(allowed_axioms=("propext",))
    with_own = PROBLEM.model_copy(update={"proof_policy": own})
    assert [policy_of(PROBLEM, "tracks"), policy_of(PROBLEM, "strict"), policy_of(with_own, "tracks")] == [
        TRACKS,
        STRICT,
        own,
    ]


def test_a_proof_without_axioms_passes_every_policy():
    proof = Dependencies(
        (), ("Eq.trans", "Nat.decidableForallFin._proof_1"), ("Goal", "Eq.trans", "instDecidableEqFin")
    )
    message = "Lean's kernel accepts `submission : Goal`; it rests on no axiom."
    assert [rule_on(policy, proof) for policy in (STRICT, TRACKS, ANY_CONSTANT)] == [Ruling("ACCEPTED", message)] * 3


@pytest.mark.parametrize("axiom", sorted(STANDARD_AXIOMS))
def test_an_axiom_passes_only_where_it_is_allowed(axiom: str):
    assert code_of(STRICT, axioms=axiom) == "DISALLOWED_AXIOMS"
    assert code_of(TRACKS, axioms=axiom) == "ACCEPTED"
    assert code_of(ProofPolicy(allowed_axioms=(axiom,)), axioms=axiom) == "ACCEPTED"


@pytest.mark.parametrize("axiom", ["Lean.ofReduceBool", "Lean.trustCompiler", "mine", "submission.mine"])
def test_other_axioms_pass_no_track(axiom: str):
    assert code_of(TRACKS, axioms=f"propext {axiom}") == "DISALLOWED_AXIOMS"


def test_a_hole_passes_not_even_a_policy_that_lists_it():
    assert rule_on(ProofPolicy(allowed_axioms=("sorryAx",)), Dependencies(["sorryAx"], (), ())) == Ruling(
        "DISALLOWED_AXIOMS", "The proof has a hole: it rests on 'sorryAx', which nothing allows."
    )


def test_a_library_theorem_that_needs_a_refused_axiom_is_refused_by_name():
    assert rule_on(STRICT, Dependencies((), ("Eq.trans", "eq_self"), ())) == Ruling(
        "DISALLOWED_AXIOMS",
        "The proof uses 'eq_self', which rests on the axiom 'propext', but the policy allows no axiom.",
    )
    assert code_of(ProofPolicy(allowed_axioms=("propext",)), unproved="eq_self") == "ACCEPTED"
    assert code_of(ProofPolicy(allowed_axioms=("propext",)), unproved="funext") == "DISALLOWED_AXIOMS"


def test_a_library_theorem_that_is_not_known_is_left_to_a_native_lean():
    ruling = rule_on(STRICT, Dependencies((), ("List.some_lemma",), ()))
    assert ruling == Ruling(
        "NEEDS_LEAN",
        "The kernel accepts the proof, but the policy allows no axiom, and this Lean has no proofs of its library: it "
        "cannot show which axioms 'List.some_lemma' need. A native Lean can tell.",
    )
    assert code_of(ProofPolicy(allowed_axioms=("propext", "Quot.sound")), unproved="List.some_lemma") == "NEEDS_LEAN"


def test_a_library_theorem_passes_where_the_standard_axioms_do():
    assert rule_on(TRACKS, Dependencies((), ("List.some_lemma", "eq_self"), ())) == Ruling(
        "ACCEPTED",
        "Lean's kernel accepts `submission : Goal`; it rests on the axiom 'propext', and on theorems of Lean's library "
        "whose axioms this Lean cannot show, at most the standard three: 'List.some_lemma'.",
    )


def test_the_axioms_of_known_library_theorems_count_among_those_found():
    proof = Dependencies(("propext",), ("funext", "Eq.trans", "List.some_lemma"), ())
    assert axioms_of(proof) == ("Quot.sound", "propext")


def test_a_refused_constant_decides_even_where_the_axioms_are_not_known():
    policy = ProofPolicy(allowed_declarations=("Goal",))
    assert code_of(policy, unproved="List.some_lemma", names="Goal HAdd.hAdd") == "DISALLOWED_DECLARATIONS"


@pytest.mark.parametrize(
    ("constant", "passes"),
    [
        ("Goal", True),
        ("Goal.mine", True),
        ("Goals", True),  # the track's own list has `Goal` as a plain prefix
        ("Eq", True),
        ("Eq.trans", True),
        ("Eqs", False),
        ("Fin", True),
        ("Finset.sum", False),
        ("letFun", True),
        ("letFuns", False),
        ("instDecidableEqFin", True),
        ("of_decide_eq_true", True),
        ("submission._proof_1", True),
        ("submission", True),
        ("submissions", False),
        ("Equation4", True),
        ("Equation4.mine", False),
        ("Equation", False),
        ("Equation٤", False),
        ("HAdd.hAdd", False),
        ("HMod.hMod", False),
        ("ite", False),
        ("helper", False),
        ("_private.0.submission.helper", False),
        ("magmaFin", False),
    ],
)
def test_the_constants_that_the_tracks_allow(constant: str, passes: bool):
    assert may_name(TRACKS, constant) == passes


def test_a_policy_without_allowed_declarations_looks_at_no_constant():
    assert may_name(ProofPolicy(allowed_declaration_prefixes=("Eq.",)), "helper")


names = st.sampled_from(["Eq.trans", "eq_self", "funext", "Classical.em", "List.some_lemma", "helper", "propext"])
axiom_sets = st.sets(st.sampled_from([*STANDARD_AXIOMS, "Lean.ofReduceBool"]))
proofs = st.builds(Dependencies, axiom_sets.map(sorted), st.lists(names), st.lists(names))


@given(axiom_sets, axiom_sets, proofs)
def test_what_a_policy_accepts_is_accepted_by_one_that_allows_more(some: set[str], more: set[str], proof: Dependencies):
    narrow = ProofPolicy(allowed_axioms=tuple(some))
    wide = ProofPolicy(allowed_axioms=tuple(some | more))
    if rule_on(narrow, proof).error_code == "ACCEPTED":
        assert rule_on(wide, proof).error_code == "ACCEPTED"
    if rule_on(wide, proof).error_code == "DISALLOWED_AXIOMS":
        assert rule_on(narrow, proof).error_code == "DISALLOWED_AXIOMS"


@given(axiom_sets, proofs)
def test_nothing_is_accepted_that_shows_or_is_known_to_need_a_refused_axiom(allowed: set[str], proof: Dependencies):
    accepted = rule_on(ProofPolicy(allowed_axioms=tuple(allowed)), proof).error_code == "ACCEPTED"
    assert not accepted or allowed >= set(axioms_of(proof))


def test_the_list_of_library_theorems_names_axioms_and_constants_only():
    known = {name: library_axioms(name) for name in ("Eq.trans", "funext", "Classical.em", "Nat.decEq._proof_7")}
    assert known == {
        "Eq.trans": frozenset(),
        "funext": {"Quot.sound"},
        "Classical.em": STANDARD_AXIOMS,
        "Nat.decEq._proof_7": frozenset(),
    }
    assert library_axioms("Nat.decEq._proof_x") is None
    assert not any(re.search(r"Equation|Magma|submission", name) for name in known)
