"""The helper that solvers import: what it sends, what it answers, and that it never raises."""

import importlib.util
import json
import socket
import threading
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
from inline_snapshot import snapshot

from ekiden_orchestrator.marathon.folder import HELPER
from model_server import Answer, ModelServer, refusal

Reply = dict[str, object]
Ask = Callable[..., Reply]


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model server that the environment shows as a run's proxy, with 10,000 tokens."""
    with ModelServer() as server:
        for name in ("JUDGE_MARATHON_MODEL", "JUDGE_MARATHON_MANIFEST"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "token")
        monkeypatch.setenv("JUDGE_MARATHON_MANIFEST", "manifest.jsonl")
        monkeypatch.setenv("JUDGE_MARATHON_BUDGET_TOKENS", "10000")
        yield server


@pytest.fixture
def helper() -> ModuleType:
    """The helper as a solver finds it: nothing of Ekiden around it, nothing counted yet."""
    spec = importlib.util.spec_from_file_location("marathon_llm", HELPER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def call_llm(helper: ModuleType) -> Ask:
    return helper.call_llm


def test_an_answer_has_the_shape_of_the_contract(upstream: ModelServer, call_llm: Ask, helper: ModuleType) -> None:
    upstream.script(Answer("17", tokens=(20, 5)), Answer("18", tokens=(30, 7)))
    assert call_llm("What is 8 + 9?") == snapshot(
        {"response": "17", "tokens_used_call": 25, "tokens_used_total": 25, "budget_remaining": 9975}
    )
    assert call_llm("And 9 + 9?") == snapshot(
        {"response": "18", "tokens_used_call": 37, "tokens_used_total": 62, "budget_remaining": 9938}
    )
    assert (helper.tokens_used(), helper.budget_remaining()) == (62, 9938)


def test_a_call_is_one_plain_request_with_the_documented_defaults(upstream: ModelServer, call_llm: Ask) -> None:
    call_llm("Prove it: x ◇ y")
    (heard,) = upstream.heard
    assert heard.headers["authorization"] == "Bearer token"
    assert heard.json == snapshot(
        {
            "model": "openai/gpt-oss-120b",
            "messages": [{"role": "user", "content": "Prove it: x ◇ y"}],
            "max_tokens": 4096,
            "temperature": 0.0,
        }
    )


def test_effort_provider_and_seed_are_really_sent_through_the_proxy(upstream: ModelServer, call_llm: Ask) -> None:
    settings: dict[str, object] = {
        "model": "m",
        "provider": "deepinfra/bf16",
        "max_output_tokens": 8192,
        "temperature": 0.5,
        "reasoning_effort": "high",
        "use_seed": True,
        "seed": 0,
    }
    call_llm("Prove it", config=settings)
    assert upstream.heard[0].json == snapshot(
        {
            "model": "m",
            "messages": [{"role": "user", "content": "Prove it"}],
            "max_tokens": 8192,
            "temperature": 0.5,
            "seed": 0,
            "provider": {"order": ["deepinfra/bf16"]},
            "reasoning": {"effort": "high"},
        }
    )


def test_a_purpose_goes_to_the_proxys_log_and_to_no_model(
    upstream: ModelServer, call_llm: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, object] = {"purpose": "normal_0001 ◇"}
    call_llm("Prove it", config=given)
    assert upstream.heard[0].headers["x-ekiden-purpose"] == "normal_0001 ?"
    monkeypatch.delenv("JUDGE_MARATHON_MANIFEST")
    call_llm("Prove it", config=given)
    assert "x-ekiden-purpose" not in upstream.heard[1].headers
    assert all("purpose" not in heard.json for heard in upstream.heard)


def test_a_seed_is_sent_only_when_it_is_to_be_used(upstream: ModelServer, call_llm: Ask) -> None:
    call_llm("Prove it", config={"seed": 7})
    call_llm("Prove it", config={"use_seed": True})
    assert all("seed" not in heard.json for heard in upstream.heard)


def test_an_address_that_is_neither_proxy_nor_openrouter_gets_no_routing(
    upstream: ModelServer, call_llm: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    given: dict[str, object] = {"base_url": upstream.url, "provider": "deepinfra", "reasoning_effort": "low"}
    assert "response" in call_llm("Prove it", config=given)
    assert {"provider", "reasoning"}.isdisjoint(upstream.heard[0].json)


def test_the_runs_model_is_the_default(upstream: ModelServer, call_llm: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_MARATHON_MODEL", "the/runs")
    call_llm("Prove it")
    call_llm("Prove it", config={"model": "another"})
    assert [heard.model for heard in upstream.heard] == ["the/runs", "another"]


@pytest.mark.parametrize(
    ("fields", "reply"),
    [
        ({"content": None, "reasoning": "thought"}, {"response": "thought"}),
        ({"content": "", "reasoning_content": "thought"}, {"response": "thought"}),
        ({"content": None}, {"response": ""}),
        ({"content": "said", "reasoning": "thought"}, {"response": "said"}),
    ],
)
def test_an_empty_answer_falls_back_to_the_reasoning(
    upstream: ModelServer, call_llm: Ask, fields: Reply, reply: Reply
) -> None:
    body = {"choices": [{"message": fields, "finish_reason": "stop"}], "usage": {"total_tokens": 3}}
    upstream.script(Answer(body=json.dumps(body).encode()))
    assert call_llm("Prove it") == reply | {
        "tokens_used_call": 3,
        "tokens_used_total": 3,
        "budget_remaining": 9997,
    }


@pytest.mark.parametrize(("content", "cut"), [("", True), ("some", False)])
def test_only_an_answer_cut_before_its_first_word_is_called_truncated(
    upstream: ModelServer, call_llm: Ask, content: str, cut: bool
) -> None:
    body = {"choices": [{"message": {"content": content}, "finish_reason": "length"}]}
    upstream.script(Answer(body=json.dumps(body).encode()))
    assert call_llm("Prove it").get("truncated", False) is cut


def test_an_answer_without_usage_is_counted_by_its_length(upstream: ModelServer, call_llm: Ask) -> None:
    upstream.script(Answer("x" * 41, usage="missing"), Answer("", usage="missing"))
    assert call_llm("y" * 83)["tokens_used_call"] == 20 + 10
    assert call_llm("z")["tokens_used_call"] == 1 + 1


def test_what_the_proxy_says_is_believed(upstream: ModelServer, call_llm: Ask, helper: ModuleType) -> None:
    told = {"X-Marathon-Tokens-Used-Call": "700", "X-Marathon-Tokens-Remaining": "41"}
    upstream.script(Answer("17", tokens=(1, 1), headers=told))
    reply = call_llm("What is 8 + 9?")
    assert (reply["tokens_used_call"], reply["budget_remaining"], helper.budget_remaining()) == (700, 41, 41)
    upstream.script(Answer(status=402, headers={"X-Marathon-Tokens-Remaining": "40"}, body=b"{}"))
    assert call_llm("Again?")["budget_remaining"] == 40


@pytest.mark.parametrize(
    ("variables", "reply"),
    [
        ({"OPENAI_API_KEY": ""}, ("OPENAI_API_KEY not set (marathon proxy unreachable?)", 10_000)),
        ({"JUDGE_MARATHON_BUDGET_TOKENS": "0"}, ("token budget is zero — no LLM calls allowed", 0)),
        ({"JUDGE_MARATHON_BUDGET_TOKENS": ""}, ("token budget is zero — no LLM calls allowed", 0)),
        ({"JUDGE_MARATHON_BUDGET_TOKENS": "4096"}, ("token budget would be exhausted by this call", 4096)),
    ],
)
def test_calls_that_cannot_be_let_through_are_not_made(
    upstream: ModelServer,
    call_llm: Ask,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    reply: tuple[str, int],
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert tuple(call_llm("Prove it").values()) == reply
    assert upstream.connections == 0


def test_a_used_up_budget_is_told_as_such(upstream: ModelServer, call_llm: Ask) -> None:
    upstream.script(Answer("much", tokens=(1, 9_999)))
    call_llm("Prove it")
    assert call_llm("Prove it", config={"max_output_tokens": 1}) == {
        "error": "token budget exhausted",
        "budget_remaining": 0,
    }


def test_without_a_cap_nothing_is_held_back(
    upstream: ModelServer, call_llm: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_MARATHON_BUDGET_TOKENS", "-5")
    reply = call_llm("Prove it", config={"max_output_tokens": 10**9})
    assert (reply["budget_remaining"], len(upstream.heard)) == (-1, 1)


@pytest.mark.parametrize("status", [400, 401, 402, 413, 429, 500, 502])
def test_an_error_is_asked_for_once_and_told_with_its_status(upstream: ModelServer, call_llm: Ask, status: int) -> None:
    upstream.script(refusal(status, "told by the proxy", retry_after="0"))
    reply = call_llm("Prove it")
    assert str(reply["error"]).startswith(f"LLM API error: Error code: {status} - {{")
    assert "told by the proxy" in str(reply["error"])
    assert reply["budget_remaining"] == 10_000
    assert len(upstream.heard) == 1


@pytest.mark.parametrize("body", [b"no JSON", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{"message": null}]}'])
def test_an_answer_without_a_choice_is_an_error(upstream: ModelServer, call_llm: Ask, body: bytes) -> None:
    upstream.script(Answer(body=body))
    assert str(call_llm("Prove it")["error"]).startswith("LLM response parse error: ")


def test_a_proxy_that_is_gone_is_an_error(
    upstream: ModelServer, call_llm: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
        assert str(call_llm("Prove it")["error"]).startswith("LLM API error: Connection error: ConnectionRefusedError")
    monkeypatch.setenv("OPENAI_BASE_URL", upstream.url)
    upstream.script(Answer("half", cut_after=1))
    assert str(call_llm("Prove it")["error"]).startswith("LLM API error: Connection error: ")


@pytest.mark.parametrize(
    "given",
    [
        {"config": {"max_output_tokens": "many"}},
        {"config": {"http_timeout_seconds": "long"}},
        {"config": {"temperature": object()}},
        {"config": {"base_url": "ftp://somewhere"}},
        {"config": {"api_key": "two\nlines"}},
        {"prompt": None},
    ],
)
def test_what_is_no_call_is_an_error_and_no_exception(upstream: ModelServer, call_llm: Ask, given: Reply) -> None:
    reply = call_llm(given.pop("prompt", "Prove it"), **given)
    assert str(reply["error"]).startswith("LLM call failed: ")
    assert not upstream.heard


def test_a_silent_model_is_given_up_after_the_time_of_the_whole_call(upstream: ModelServer, call_llm: Ask) -> None:
    upstream.script(Answer("late", pause_after=0), Answer("late", pause_after=1))
    reply = call_llm("Prove it", max_seconds=0.01)
    assert reply == {"error": "LLM request timed out (1s)", "budget_remaining": 10_000}
    upstream.wait_for_hangups(1)
    assert call_llm("Prove it", config={"http_timeout_seconds": 1.0})["error"] == "LLM request timed out (1s)"
    assert len(upstream.heard) == 2


def test_a_model_that_drips_does_not_stretch_the_time(call_llm: Ask, upstream: ModelServer) -> None:
    """Each byte starts the time-out of a socket anew; the call ends nevertheless."""
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                while not stop.wait(0.05):
                    try:
                        connection.sendall(b" ")
                    except OSError:
                        return

        dripping = threading.Thread(target=drip)
        dripping.start()
        try:
            url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
            reply = call_llm("Prove it", config={"base_url": url}, max_seconds=1.0)
        finally:
            stop.set()
            dripping.join()
    assert reply["error"] == "LLM request timed out (1s)"


def test_several_threads_share_one_count(upstream: ModelServer, call_llm: Ask, helper: ModuleType) -> None:
    upstream.script(*(Answer("x", tokens=(2, 3)) for _ in range(16)))
    threads = [threading.Thread(target=call_llm, args=("Prove it",)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert helper.tokens_used() == 16 * 5
