"""The solver whose proofs become examples."""

import json

import pytest

from model_server import Heard
from orchestrator.solvers.conftest import Contract
from orchestrator.solvers.scripts import (
    COMMUTES,
    DEEPER,
    FOUR,
    NEEDS_FOUR,
    TURNED,
    TURNED_PROOF,
    TWISTED,
    asked,
    by_law,
    effort,
    proof,
    table,
)
from orchestrator.solvers.test_baseline import load, statuses

BY_SIMP = "simp [h]"
REPLIES: dict[str, str | int] = {
    TURNED: proof(TURNED_PROOF),
    NEEDS_FOUR[1]: table(FOUR),
    TWISTED: proof(BY_SIMP),
    DEEPER: proof("intro x y z w\nexact h (x ◇ y) z"),
}
FEWSHOT = load("fewshot")


def examples_in(heard: Heard) -> list[dict[str, object]]:
    """Return the examples of a prompt: they are JSON in the very form that is asked for."""
    before = heard.prompt.split("Now the problem.")[0] if "Now the problem." in heard.prompt else ""
    return [json.loads(line) for line in before.split("\n") if line.startswith("{")]


@pytest.fixture
def learns(contract: Contract) -> Contract:
    """Problems that need a model, of rising difficulty."""
    contract.add("deeper", COMMUTES, DEEPER)
    contract.add("twisted", COMMUTES, TWISTED)
    contract.add("turned", COMMUTES, TURNED)
    contract.add("four", *NEEDS_FOUR)
    contract.respond = by_law(REPLIES)
    return contract


def test_an_accepted_proof_is_an_example_for_later_problems(learns: Contract) -> None:
    ended = learns.run("fewshot")
    shown = {asked(heard): [each["proof"] for each in examples_in(heard)] for heard in ended.heard}
    assert [*shown] == [TWISTED, TURNED, DEEPER, NEEDS_FOUR[1]]
    assert shown == {TWISTED: [], TURNED: [], DEEPER: [TURNED_PROOF], NEEDS_FOUR[1]: [TURNED_PROOF]}
    assert [heard.prompt.count("were checked and accepted in this run") for heard in ended.heard] == [0, 0, 1, 1]
    assert {effort(heard) for heard in ended.heard} == {"low"}


def test_a_proof_that_no_checker_accepted_is_submitted_but_is_no_example(learns: Contract) -> None:
    ended = learns.run("fewshot")
    assert ended.ids == ["twisted", "turned", "four"]
    assert statuses(learns.problems, ended) == ["undecided", "accepted", "accepted"]
    assert [entry["id"] for entry in ended.scratch["proof_lib.jsonl"]] == ["turned"]


def test_the_cheap_filter_takes_what_looks_whole(learns: Contract) -> None:
    ended = learns.run("fewshot", FEWSHOT_VERIFY_BEFORE_CACHE="0")
    assert [entry["proof_body"] for entry in ended.scratch["proof_lib.jsonl"]] == [BY_SIMP, TURNED_PROOF]
    assert "were submitted, though not checked, in this run" in ended.heard[-1].prompt


def test_without_ekiden_no_proof_is_an_example(learns: Contract) -> None:
    ended = learns.run("fewshot", ekiden=False)
    assert "turned" in ended.ids
    assert "proof_lib.jsonl" not in ended.scratch
    assert [examples_in(heard) for heard in ended.heard] == [[]] * 4


def test_the_pool_is_kept_in_the_scratch_folder(learns: Contract) -> None:
    [entry] = learns.run("fewshot").scratch["proof_lib.jsonl"]
    assert entry == {
        "id": "turned",
        "eq1_id": 1,
        "eq2_id": 2,
        "equation1": COMMUTES,
        "equation2": TURNED,
        "proof_body": TURNED_PROOF,
    }


def test_proofs_of_the_first_pass_are_examples_and_the_best_two_are_shown(learns: Contract) -> None:
    for number, right in enumerate(["(y ◇ z) ◇ x", "(y ◇ y) ◇ x", "(x ◇ x) ◇ x", "((y ◇ z) ◇ w) ◇ x"]):
        left = right.rpartition(" ◇ ")[0].join(["x ◇ ", ""])
        learns.add(f"direct {number}", COMMUTES, f"{left} = {right}")
    ended = learns.run("fewshot")
    assert len(ended.scratch["proof_lib.jsonl"]) == 5
    assert {len(examples_in(heard)) for heard in ended.heard} == {2}
    one = learns.run("fewshot", FEWSHOT_K="1")
    assert {len(examples_in(heard)) for heard in one.heard} == {1}


def test_calls_end_when_less_is_left_than_a_call_needs(learns: Contract) -> None:
    assert learns.run("fewshot", tokens=2047).heard == []
    assert len(learns.run("fewshot", tokens=12_000).heard) == 4


def test_two_runs_with_one_model_leave_the_same_file(learns: Contract) -> None:
    first, second = learns.run("fewshot"), learns.run("fewshot")
    assert first.output == second.output
    assert first.scratch == second.scratch


@pytest.mark.parametrize(
    ("body", "whole"),
    [
        ("exact h x", True),
        ("exact (h ⟨x, y⟩)", True),
        ("exact (h x", False),
        ("exact (h x]", False),
        ("exact h x)", False),
        ("-- sorry\nexact h x", True),
        ("exact foo.sorry", False),
        ("admit", False),
        ("exact unreachable!", False),
        ("-- nothing", False),
        ("/- nothing -/", False),
    ],
)
def test_the_cheap_filter_looks_at_gaps_and_brackets(body: str, whole: bool) -> None:
    assert FEWSHOT.looks_whole(body) == whole


def test_relevance_prefers_the_same_letters_then_alike_texts() -> None:
    def question(law1: str, law2: str) -> object:
        return FEWSHOT.read_question({"id": "q", "equation1": law1, "equation2": law2})

    wanted = question(COMMUTES, TURNED)
    alike = question(COMMUTES, "(x ◇ y) ◇ z = z ◇ (x ◇ y)")
    other = question("x = x ◇ (y ◇ z)", "x = ((x ◇ y) ◇ z) ◇ x")
    fewer = question("x = x ◇ x", "x ◇ x = (x ◇ x) ◇ x")
    scores = [FEWSHOT.relevance(known, wanted) for known in (alike, other, fewer)]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3
