"""The solver that asks a model in two passes."""

import pytest

from orchestrator.solvers.conftest import Contract
from orchestrator.solvers.scripts import (
    ALSO_FOUR,
    COMMUTES,
    DEEPER,
    FOUR,
    NEEDS_FOUR,
    TURNED,
    TURNED_PROOF,
    asked,
    by_law,
    effort,
    proof,
    table,
)
from orchestrator.solvers.test_baseline import statuses

WRONG_PROOF = "intro x y z w\nexact h (x ◇ y) z"
REPLIES: dict[str, str | int] = {
    TURNED: proof(TURNED_PROOF),
    DEEPER: proof(WRONG_PROOF),
    NEEDS_FOUR[1]: table(FOUR),
    ALSO_FOUR[1]: table(FOUR),
}
HELPER_WITH_AN_ERROR = """
import json, os
asked = []
def call_llm(prompt, *, config=None, max_seconds=None):
    asked.append(prompt)
    with open(os.environ["JUDGE_MARATHON_SCRATCH_DIR"] + "/asked.jsonl", "a") as file:
        file.write(json.dumps(len(asked)) + "\\n")
    if len(asked) == 1:
        return {"error": os.environ["ERROR"], "budget_remaining": 50_000}
    return {"response": "I do not know.", "budget_remaining": 50_000}
def tokens_used():
    return 0
def budget_remaining():
    return 50_000
"""


@pytest.fixture
def asks(contract: Contract) -> Contract:
    """Four problems that need a model, the hard ones first."""
    contract.add("deeper", COMMUTES, DEEPER)
    contract.add("also four", *ALSO_FOUR)
    contract.add("turned", COMMUTES, TURNED)
    contract.add("four", *NEEDS_FOUR)
    contract.respond = by_law(REPLIES)
    return contract


def test_right_answers_of_a_model_are_submitted_and_wrong_ones_are_not(asks: Contract) -> None:
    ended = asks.run("triage")
    assert ended.ids == ["turned", "four"]
    assert [problem["verdict"] for problem in ended.answers] == ["true", "false"]
    assert statuses(asks.problems, ended) == ["accepted", "accepted"]
    assert "the answer is incorrect" in ended.stderr
    assert "does not satisfy law A and break law B" in ended.stderr


def test_easy_looking_problems_come_first_and_only_the_missed_ones_again(asks: Contract) -> None:
    calls = [(asked(heard), effort(heard), heard.output_limit) for heard in asks.run("triage").heard]
    assert calls == [
        (TURNED, "low", 8192),
        (ALSO_FOUR[1], "low", 8192),
        (DEEPER, "low", 8192),
        (NEEDS_FOUR[1], "low", 8192),
        (ALSO_FOUR[1], "high", 16_384),
        (DEEPER, "high", 16_384),
    ]


def test_a_call_says_which_model_provider_seed_and_temperature_it_wants(asks: Contract) -> None:
    asks.problems = asks.problems[2:3]
    [heard] = asks.run("triage").heard
    body = {key: value for key, value in heard.json.items() if key != "messages"}
    assert body == {
        "model": "openai/gpt-oss-120b",
        "max_tokens": 8192,
        "temperature": 0.0,
        "seed": 0,
        "provider": {"order": ["deepinfra/bf16"]},
        "reasoning": {"effort": "low"},
    }
    [other] = asks.run("triage", JUDGE_MARATHON_MODEL="another/model").heard
    assert other.model == "another/model"


def test_the_prompt_holds_the_problem_and_no_placeholder(asks: Contract) -> None:
    asks.problems = [{"id": "star", "eq1_id": 43, "eq2_id": 99, "equation1": "x * y = y * x", "equation2": TURNED}]
    [heard] = asks.run("triage").heard
    assert "Law A (Equation43): x ◇ y = y ◇ x\n" in heard.prompt
    assert f"Law B (Equation99): {TURNED}\n" in heard.prompt
    assert "No magma on 2 or 3 elements satisfies law A and breaks law B" in heard.prompt
    assert not {"{problem.", "{history.", "{solver."} & {heard.prompt[at : at + 9] for at in range(len(heard.prompt))}
    assert '{"verdict": "false", "counterexample_table": [[0, 1], [1, 0]]}' in heard.prompt


def test_proofs_are_logged(asks: Contract) -> None:
    asks.add("direct", COMMUTES, "x ◇ (y ◇ z) = (y ◇ z) ◇ x")
    numbers = {"eq1_id": 1, "eq2_id": 2}
    assert asks.run("triage").scratch["proof_patterns.jsonl"] == [
        {"id": "direct", **numbers, "proof": "intro x y z\nexact h x (y ◇ z)"},
        {"id": "turned", **numbers, "proof": TURNED_PROOF},
    ]


def test_what_needs_no_model_is_settled_without_one(asks: Contract) -> None:
    asks.problems = []
    asks.add("false", COMMUTES, "x = y")
    asks.add("instance", COMMUTES, "x ◇ (y ◇ z) = (y ◇ z) ◇ x")
    asks.add("singleton", "x = y ◇ (y ◇ z)", TURNED)
    ended = asks.run("triage", tokens=0)
    assert statuses(asks.problems, ended) == ["accepted"] * 3
    assert ended.heard == []


def test_without_ekiden_the_same_tables_are_found_and_unchecked_proofs_submitted(asks: Contract) -> None:
    ended = asks.run("triage", ekiden=False)
    assert ended.ids == ["turned", "deeper", "four"]
    assert statuses(asks.problems, ended) == ["accepted", "incorrect", "accepted"]


def test_zero_tokens_ask_nobody(asks: Contract) -> None:
    ended = asks.run("triage", tokens=0)
    assert (ended.answers, ended.heard) == ([], [])


def test_the_first_pass_of_calls_leaves_a_tenth_of_the_budget(asks: Contract) -> None:
    asks.respond = by_law({})
    used = 0
    heard = asks.run("triage", tokens=20_000).heard
    for call in heard:
        assert used + 2000 < 20_000
        used += call.input_tokens + 3
    assert {effort(call) for call in heard} == {"low", "high"}
    few = asks.run("triage", tokens=2000).heard
    assert few == []


@pytest.mark.parametrize(
    ("error", "calls"),
    [
        ("token budget would be exhausted by this call", 8),
        ("LLM API error: Error code: 402 - {'error': {'message': 'token budget exhausted: this call may use 9'}}", 8),
        ("LLM request timed out (60s)", 8),
        ("token budget is zero — no LLM calls allowed", 1),
        ("OPENAI_API_KEY not set (marathon proxy unreachable?)", 1),
    ],
)
def test_one_call_that_does_not_fit_ends_no_pass(asks: Contract, error: str, calls: int) -> None:
    ended = asks.run("triage", tokens=100_000, JUDGE_MARATHON_LIB_DIR=asks.helper(HELPER_WITH_AN_ERROR), ERROR=error)
    assert len(ended.scratch["asked.jsonl"]) == calls


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404])
def test_whoever_refuses_three_calls_in_a_row_is_asked_no_more(asks: Contract, status: int) -> None:
    asks.respond = by_law(dict.fromkeys([TURNED, DEEPER, NEEDS_FOUR[1], ALSO_FOUR[1]], status))
    assert len(asks.run("triage", tokens=100_000).heard) == 3


def test_an_upstream_in_trouble_costs_only_its_own_problem(asks: Contract) -> None:
    asks.respond = by_law(REPLIES | {TURNED: 500})
    assert asks.run("triage").ids == ["four"]


def test_two_runs_with_one_model_leave_the_same_file(asks: Contract) -> None:
    first, second = asks.run("triage"), asks.run("triage")
    assert first.output == second.output
    assert first.scratch == second.scratch
