"""Models in Solo: through the budget, with the prompt of the solver."""

import json
from collections.abc import Iterator

import pytest

from ekiden_budget import Ledger
from ekiden_config import UpstreamSettings
from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.solo.config import SoloConfig, read_config, with_route
from ekiden_orchestrator.solo.errors import SoloError
from model_server import Answer, Heard, ModelServer, refusal
from orchestrator.solo.conftest import SoloBed
from orchestrator.solvers.scripts import COMMUTES, NEEDS_FOUR, TURNED, TURNED_PROOF, by_law, proof, table

PROMPT = "Round {history.round} for {problem.equation1}: {solver.wish}{history.attempts}"
ASK = 'tell(call("llm", context={"wish": "please"}))'


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def test_the_filled_prompt_is_the_one_message_of_a_call(bed: SoloBed, model: ModelServer) -> None:
    bed.connect(model.url)
    model.script(Answer("an answer"))
    bed.run(bed.solver(ASK, prompt=PROMPT))
    assert bed.told() == [{"response": "an answer"}]
    [heard] = model.heard
    assert heard.json == {
        "model": "openai/gpt-oss-120b",
        "messages": [{"role": "user", "content": "Round 1 for x = x * y: please(no previous attempts)"}],
        "max_tokens": 65_536,
        "temperature": 0.0,
        "seed": 0,
    }
    assert heard.headers["authorization"] == "Bearer upstream-key"


def test_the_history_holds_earlier_answers(bed: SoloBed, model: ModelServer) -> None:
    bed.connect(model.url)
    bed.run(bed.solver(f'call("judge", verdict="false", code=WRONG)\n{ASK}', prompt="{history.attempts}"))
    assert model.heard[0].prompt.startswith("Attempt 1: verdict false, incorrect\nLaw 1 fails in the model")


def test_calls_are_settled_in_the_ledger_beside_the_results(bed: SoloBed, model: ModelServer) -> None:
    bed.connect(model.url)
    model.script(Answer("a", tokens=(70, 30)), Answer("b", tokens=(3, 4)))
    bed.problems.append({**bed.problems[0], "id": "second"})
    bed.run(bed.solver(ASK), tokens=200_000)
    assert {name: record.tokens for name, record in bed.results.results.items()} == {"easy": 100, "second": 7}
    with Ledger(bed.results_file.with_name("out.budget.sqlite3"), create=False) as ledger:
        run, *problems = ledger.tree()
    assert (run.role, run.caps.tokens, run.settled.tokens, run.closed) == ("solo", 200_000, 107, True)
    assert [(each.name, each.settled.tokens) for each in problems] == [("easy", 100), ("second", 7)]


def test_zero_tokens_reach_no_model(bed: SoloBed, model: ModelServer) -> None:
    bed.connect(model.url)
    bed.run(bed.solver(ASK), tokens=0)
    assert str(bed.told_reply["error"]).startswith("LLM API error: 402: token budget exhausted")
    assert (bed.record.ending, bed.record.reason[:18]) == ("out of budget", "LLM API error: 402")
    assert model.connections == 0


def test_records_and_the_end_of_a_run_say_why_calls_were_not_answered(bed: SoloBed, model: ModelServer) -> None:
    bed.connect(model.url)
    model.script(refusal(404), Answer("a", tokens=(70, 30)))
    bed.problems.append({**bed.problems[0], "id": "second"})
    bed.run(bed.solver(f"{ASK}\n{ASK}"), tokens=140_000)
    first, second = bed.results.results.values()
    assert first.llm_endings == {"answered": 1, "turned_away": 1}
    assert [reason.split(" (")[0] for reason in first.llm_failures] == ["turned away by the upstream"]
    assert second.llm_failures == {}
    assert "Model calls: 3 answered, 1 turned away by the upstream (HTTP 404" in bed.output.getvalue()


def test_all_problems_share_the_budget(bed: SoloBed, model: ModelServer) -> None:
    bed.connect(model.url)
    bed.configure(llm={"max_output_tokens": 1000})
    model.script(Answer("a", tokens=(100, 900)))
    bed.problems.append({**bed.problems[0], "id": "second"})
    bed.run(bed.solver(ASK), tokens=1500)
    replies = [record.log[0].reply for record in bed.results.results.values()]
    assert [sorted(reply) for reply in replies] == [["response"], ["error"]]
    assert len(model.heard) == 1


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (Answer("", reasoning="thought"), {"response": "thought"}),
        (Answer(""), {"response": ""}),
        (refusal(500, "down"), {"error": "LLM API error: 502: "}),
    ],
)
def test_replies_are_what_the_protocol_says(
    bed: SoloBed, model: ModelServer, answer: Answer, reply: dict[str, str]
) -> None:
    bed.connect(model.url)
    model.script(answer)
    bed.run(bed.solver(ASK))
    assert {key: str(value)[: len(reply[key])] for key, value in bed.told_reply.items()} == reply


def test_an_answer_that_met_its_limit_before_it_began_is_truncated(bed: SoloBed, model: ModelServer) -> None:
    bed.connect(model.url)
    choice = {"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": "length"}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    model.script(Answer(body=json.dumps({"choices": [choice], "usage": usage}).encode()))
    bed.run(bed.solver(ASK))
    assert bed.told() == [{"response": "", "truncated": True}]


def test_a_model_that_is_silent_is_given_up(bed: SoloBed, model: ModelServer) -> None:
    bed.connect(model.url)
    bed.configure(llm={"http_timeout_seconds": 1})
    model.script(Answer("late", pause_after=0))
    bed.run(bed.solver(ASK))
    assert bed.told() == [{"error": "LLM request timed out (1s)"}]


def test_a_solver_of_somebody_cannot_be_kept_from_keys_without_namespaces(bed: SoloBed, model: ModelServer) -> None:
    bed.connect(model.url)
    bed.change(isolation="group")
    with pytest.raises(MarathonError, match="could read the keys"):
        bed.run(bed.solver(ASK))
    assert not bed.results_file.exists()


def test_the_configurations_own_address_comes_first(bed: SoloBed, model: ModelServer) -> None:
    bed.configure(
        llm={"base_url": model.url, "api_key_env": "SCRIPTED_API_KEY", "model": "scripted", "use_seed": False}
    )
    bed.run(bed.solver(ASK))
    *_, heard = model.heard
    assert (heard.model, "seed" in heard.json) == ("scripted", False)
    assert heard.headers["authorization"] == "Bearer upstream-key"


@pytest.mark.parametrize(
    "llm", [{"api_key_env": "A"}, {"base_url": "ftp://x"}, {"base_url": "http://x", "api_key_env": "a b"}]
)
def test_an_address_that_is_none_is_refused(bed: SoloBed, llm: dict[str, str]) -> None:
    config = SoloConfig.model_validate({"llm": llm})
    with pytest.raises(SoloError, match=r"llm\."):
        with_route(bed.settings.budget, config.llm, {})


def test_openrouter_alone_gets_provider_and_effort() -> None:
    from ekiden_orchestrator.solo.models import ProblemModels

    llm = SoloConfig().llm
    there, elsewhere = (ProblemModels(llm, "http://x", "t", routes).request("p") for routes in (True, False))
    assert there == {
        **elsewhere,
        "provider": {"order": ["deepinfra/bf16"]},
        "reasoning": {"effort": "medium"},
    }


@pytest.mark.parametrize("name", ["config.json", "config.toml"])
def test_a_configuration_is_read_and_its_faults_are_named(bed: SoloBed, name: str) -> None:
    path = bed.root / name
    text = "[solver]\ntimeout_seconds = 7" if name.endswith("toml") else '{"solver": {"timeout_seconds": 7}}'
    path.write_text(text)
    assert read_config(path).solver.timeout_seconds == 7
    path.write_text(text.replace("timeout_seconds", "patience"))
    with pytest.raises(SoloError, match=r"solver\.patience"):
        read_config(path)
    path.write_text("{[")
    with pytest.raises(SoloError, match=r"is refused|is not TOML"):
        read_config(path)


@pytest.mark.parametrize("solver", ["baseline", "triage", "fewshot"])
def test_the_built_in_solvers_search_prove_and_then_ask(solver: str, bed: SoloBed) -> None:
    bed.problems += [
        {**bed.problems[0], "id": "direct", "equation1": "x = y ◇ y", "equation2": TURNED},
        {**bed.problems[0], "id": "turned", "equation1": COMMUTES, "equation2": TURNED},
    ]
    replies = iter(["I do not know.", table([[0, 1], [1, 0]]), proof("intro x y z\nexact h x y"), proof(TURNED_PROOF)])
    heard: list[Heard] = []

    def respond(call: Heard) -> Answer:
        heard.append(call)
        return Answer(next(replies))

    with ModelServer(responder=respond) as model:
        bed.connect(model.url)
        assert bed.run(solver)
    calls = {name: (record.judge_calls, record.llm_calls) for name, record in bed.results.results.items()}
    assert calls == {"easy": (1, 0), "direct": (1, 0), "turned": (2, 4)}
    assert "The last reply was no JSON object with a verdict." in heard[1].prompt
    assert "The table [[0, 1], [1, 0]] does not satisfy law A and break law B." in heard[2].prompt
    assert "Attempt 1: verdict true, incorrect" in heard[3].prompt
    assert "{" + "solver" not in heard[0].prompt


@pytest.mark.parametrize("status", [None, 400, 401, 402, 404, 500])
def test_a_built_in_solver_does_not_ask_again_what_would_be_answered_the_same(
    bed: SoloBed, model: ModelServer, status: int | None
) -> None:
    """Without an error, the model answers each time that it does not know: the second time to a note that says so."""
    bed.connect(model.url)
    model.respond_with(lambda _: Answer("I do not know.") if status is None else refusal(status))
    bed.problems.insert(0, {**bed.problems[0], "id": "turned", "equation1": COMMUTES, "equation2": TURNED})
    bed.run("baseline")
    first, second = bed.results.results.values()
    assert (first.llm_calls, first.ending) == ((2, "solver ended") if status is None else (1, "no model"))
    assert (second.solved, second.llm_calls) == (True, 0)


def test_two_solo_runs_with_one_model_agree(bed: SoloBed) -> None:
    bed.problems = [{**bed.problems[0], "equation1": COMMUTES, "equation2": TURNED}]
    codes: list[str | None] = []
    for _ in range(2):
        with ModelServer(responder=by_law({TURNED: proof(TURNED_PROOF)})) as model:
            bed.connect(model.url)
            assert bed.run("triage")
        codes.append(bed.record.code)
        bed.results_file.unlink()
    assert codes[0] == codes[1]


def test_the_model_is_the_one_named_else_the_configurations_else_that_of_the_settings(
    bed: SoloBed, model: ModelServer
) -> None:
    bed.connect(model.url)
    bed.change(model="scripted:settings")
    bed.run(bed.solver(ASK))
    bed.configure(llm={"model": "scripted:configuration"})
    bed.run(bed.solver(ASK))
    bed.run(bed.solver(ASK), model="scripted:named")
    asked = [heard.model for heard in model.heard if heard.method == "POST"]
    assert asked == ["scripted:settings", "scripted:configuration", "scripted:named"]


def test_a_built_in_solver_is_not_started_for_a_model_that_nobody_serves(bed: SoloBed, model: ModelServer) -> None:
    budget = bed.settings.budget.model_copy(update={"upstreams": {"own": UpstreamSettings(base_url=model.url)}})
    bed.settings = bed.settings.model_copy(update={"budget": budget})
    with pytest.raises(MarathonError, match="No upstream serves the model 'openai/gpt-oss-120b': there is own"):
        bed.run("triage")
    with pytest.raises(MarathonError, match="No upstream serves the model 'no/such'"):
        bed.run("baseline", model="no/such")
    assert not bed.results_file.exists()
    assert bed.run("triage", model="scripted")


def test_baseline_does_without_a_model_that_nobody_named_and_nobody_serves(bed: SoloBed, model: ModelServer) -> None:
    budget = bed.settings.budget.model_copy(update={"upstreams": {"own": UpstreamSettings(base_url=model.url)}})
    bed.settings = bed.settings.model_copy(update={"budget": budget})
    bed.problems.append({**bed.problems[0], "id": "turned", "equation1": COMMUTES, "equation2": TURNED})
    assert not bed.run("baseline")
    assert "Models:   none: nobody lists 'openai/gpt-oss-120b'" in bed.output.getvalue()
    assert [record.ending for record in bed.results.results.values()] == ["solved", "no model"]
    assert [heard.method for heard in model.heard] == ["GET"]


def test_harvest_refutes_in_solo_and_leaves_a_true_problem(bed: SoloBed) -> None:
    bed.problems.append({**bed.problems[0], "id": "large", "equation1": NEEDS_FOUR[0], "equation2": NEEDS_FOUR[1]})
    assert bed.run("harvest")
    bed.problems = [{**bed.problems[0], "id": "true", "equation1": COMMUTES, "equation2": COMMUTES}]
    assert not bed.run("harvest")
    record = bed.results.results["true"]
    assert (record.judge_calls, record.ending, record.reason) == (0, "solver ended", "by itself")
