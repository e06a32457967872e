"""The official client libraries through the proxy: they work as they do without it, and every call is metered."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from anthropic import BadRequestError, InternalServerError, NotFoundError
from anthropic.types import MessageParam, ToolParam, ToolUseBlock
from openai import OpenAI
from openai.types.chat import ChatCompletionToolParam

from ekiden_budget.records import TokenParts
from ekiden_budget.serving import Proxy
from ekiden_budget.upstreams import find_upstreams
from ekiden_policies.budget import Caps
from model_server import Answer, Heard, ModelServer, ToolCall, refusal
from proxy_bed import CHAT, KEY, UPSTREAM, ProxyBed, budget_settings, proxy_bed

QUESTION = "What is 8 + 9?"
TOOL: ChatCompletionToolParam = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}
PRICES = {"m": 1, "dear": 9}
CALL = ToolCall("add", '{"a": 8, "b": 9}')


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[ProxyBed]:
    with proxy_bed(tmp_path) as made:
        yield made


def chat_text(client: OpenAI) -> str:
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": QUESTION}])
    return str(reply.choices[0].message.content)


def test_a_plain_chat_costs_what_its_answer_says(bed: ProxyBed) -> None:
    bed.server.script(Answer("17", tokens=(11, 5)))
    assert chat_text(bed.openai()) == "17"
    assert (bed.tokens, bed.outcomes, bed.status.reserved.tokens) == (16, ["answered"], 0)
    [call] = bed.calls
    assert (call.label.dialect, call.label.model, call.label.upstream) == ("chat", "m", UPSTREAM)


def test_the_upstream_gets_its_own_key_and_never_the_callers_token(bed: ProxyBed) -> None:
    chat_text(bed.openai())
    bed.anthropic().messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": QUESTION}])
    first, second = bed.server.heard
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert second.headers["x-api-key"] == KEY
    assert all(bed.token not in str(heard) for heard in bed.server.heard)


def test_the_same_question_costs_the_same_in_every_way_of_asking(tmp_path: Path) -> None:
    settled: dict[str, int] = {}
    for way in WAYS:
        folder = tmp_path / way
        folder.mkdir()
        with proxy_bed(folder, Answer("17", tokens=(11, 5))) as bed:
            assert "17" in ask(bed, way), way
            assert bed.outcomes == ["answered"], way
            settled[way] = bed.tokens
    assert set(settled.values()) == {16}, settled


def ask(bed: ProxyBed, way: str) -> str:
    """Ask the question in one of the ways there are, and return the answer's text."""
    return WAYS[way](bed)


def chat_stream(bed: ProxyBed) -> str:
    with bed.openai().chat.completions.stream(model="m", messages=[{"role": "user", "content": QUESTION}]) as stream:
        return str(stream.get_final_completion().choices[0].message.content)


def responses_stream(bed: ProxyBed) -> str:
    with bed.openai().responses.stream(model="m", input=QUESTION) as stream:
        return stream.get_final_response().output_text


def messages(bed: ProxyBed) -> str:
    asked: list[MessageParam] = [{"role": "user", "content": QUESTION}]
    return str(bed.anthropic().messages.create(model="m", max_tokens=99, messages=asked).content[0])


def messages_stream(bed: ProxyBed) -> str:
    asked: list[MessageParam] = [{"role": "user", "content": QUESTION}]
    with bed.anthropic().messages.stream(model="m", max_tokens=99, messages=asked) as stream:
        return stream.get_final_text()


WAYS: dict[str, Callable[[ProxyBed], str]] = {
    "chat": lambda bed: chat_text(bed.openai()),
    "chat stream": chat_stream,
    "responses": lambda bed: bed.openai().responses.create(model="m", input=QUESTION).output_text,
    "responses stream": responses_stream,
    "messages": messages,
    "messages stream": messages_stream,
    "http": lambda bed: bed.http().post("/chat/completions", json=CHAT).text,
}


def test_a_stream_is_passed_on_byte_for_byte(bed: ProxyBed) -> None:
    asked = {**CHAT, "stream": True, "stream_options": {"include_usage": True}, "max_tokens": 50}
    through = bed.http().post("/v1/chat/completions", json=asked).content
    [heard] = bed.server.heard
    direct = bed.http().post(f"{bed.server.url}/chat/completions", content=heard.body).content
    assert through == direct
    assert b'"usage"' in through


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/messages"])
def test_named_events_are_passed_on_byte_for_byte(bed: ProxyBed, path: str) -> None:
    asked: dict[str, object] = {"model": "m", "stream": True}
    asked |= {"input": "◇"} if "resp" in path else {"messages": [{"role": "user", "content": "◇"}], "max_tokens": 9}
    through = bed.http().post(path, json=asked).content
    direct = bed.http().post(bed.server.address + path, content=bed.server.heard[0].body).content
    assert through == direct


def test_a_usage_event_that_the_caller_did_not_ask_for_is_read_and_hidden(bed: ProxyBed) -> None:
    bed.server.script(Answer("17", tokens=(11, 5)))
    chunks = list(
        bed.openai().chat.completions.create(model="m", messages=[{"role": "user", "content": QUESTION}], stream=True)
    )
    assert all(chunk.choices and chunk.usage is None for chunk in chunks)
    assert bed.server.heard[0].json["stream_options"] == {"include_usage": True}
    assert bed.tokens == 16


def test_a_stream_is_settled_before_its_end_is_passed_on(bed: ProxyBed) -> None:
    seen: list[int] = []
    asked = {**CHAT, "stream": True}
    with bed.http().stream("POST", "/v1/chat/completions", json=asked) as reply:
        for line in reply.iter_lines():
            if line == "data: [DONE]":
                seen.append(bed.tokens)
                break
    assert seen == [bed.tokens]
    assert bed.outcomes == ["answered"]


def test_tool_calls_come_through_in_every_format(bed: ProxyBed) -> None:
    bed.server.script(*[Answer(tool_calls=(CALL,), tokens=(30, 8))] * 4)
    openai = bed.openai()
    chat = openai.chat.completions.create(
        model="m", messages=[{"role": "user", "content": QUESTION}], tools=[TOOL]
    ).choices[0]
    assert chat.message.tool_calls is not None
    with openai.chat.completions.stream(
        model="m", messages=[{"role": "user", "content": QUESTION}], tools=[TOOL]
    ) as stream:
        assert stream.get_final_completion().choices[0].finish_reason == "tool_calls"
    with openai.responses.stream(
        model="m",
        input=QUESTION,
        tools=[{"type": "function", "name": "add", "parameters": {"type": "object"}, "strict": False}],
    ) as events:
        [item] = events.get_final_response().output
        assert item.type == "function_call"
        assert json.loads(item.arguments) == {"a": 8, "b": 9}
    tool: ToolParam = {"name": "add", "input_schema": {"type": "object"}}
    with bed.anthropic().messages.stream(
        model="m", max_tokens=99, messages=[{"role": "user", "content": QUESTION}], tools=[tool]
    ) as messages:
        [block] = messages.get_final_message().content
    assert isinstance(block, ToolUseBlock)
    assert block.input == {"a": 8, "b": 9}
    assert (bed.tokens, set(bed.outcomes)) == (4 * 38, {"answered"})


def test_embeddings_are_metered(bed: ProxyBed) -> None:
    reply = bed.openai().embeddings.create(model="e", input=["one", "two"])
    assert len(reply.data) == 2
    assert bed.tokens == reply.usage.total_tokens


def test_the_models_list_is_read_by_both_libraries(bed: ProxyBed) -> None:
    assert [model.id for model in bed.openai().models.list()] == ["scripted"]
    assert [model.id for model in bed.anthropic().models.list()] == ["scripted"]
    assert [heard.path for heard in bed.server.heard] == ["/v1/models"]
    assert bed.calls == []


def test_a_caller_reads_its_own_budget_from_headers_and_from_an_address(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, Answer("17", tokens=(11, 5)), caps=Caps(tokens=10_000)) as bed:
        raw = bed.openai().chat.completions.with_raw_response.create(
            model="m", messages=[{"role": "user", "content": QUESTION}]
        )
        assert {
            name: raw.headers[f"x-marathon-tokens-{name}"] for name in ("used-call", "used-total", "remaining")
        } == {
            "used-call": "16",
            "used-total": "16",
            "remaining": "9984",
        }
        assert raw.headers["x-request-id"] == "scripted"
        report = bed.http().get("/v1/budget").json()
        assert (report["budget_id"], report["answered"]) == (bed.budget, 1)


def test_dollars_are_metered_where_prices_are_known(tmp_path: Path) -> None:
    prices = {"m": {"input_usd_per_million": "1", "output_usd_per_million": "10"}}
    with proxy_bed(tmp_path, Answer("17", tokens=(11, 5)), prices=prices, caps=Caps(nanodollars=10**9)) as bed:
        reply = bed.http().post("/v1/chat/completions", json=CHAT)
        assert reply.headers["x-ekiden-budget-usd-used-call"] == "0.000061"
        assert reply.headers["x-ekiden-budget-usd-left"] == "0.999939"
        assert bed.status.settled.nanodollars == 61_000


def test_a_call_whose_price_nobody_knows_is_refused_under_a_cap_in_dollars(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, caps=Caps(nanodollars=10**9)) as bed:
        reply = bed.http().post("/v1/chat/completions", json=CHAT)
        assert reply.status_code == 402
        assert "price" in reply.json()["error"]["message"]
        assert bed.server.heard == []


def test_a_soft_limit_is_told_and_refuses_nothing(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, caps=Caps(soft_tokens=10)) as bed:
        reply = bed.http().post("/v1/chat/completions", json=CHAT)
        assert reply.status_code == 200
        assert "soft limit of 10 tokens" in reply.headers["x-ekiden-budget-notice"]


def test_what_a_caller_says_a_call_is_for_is_in_the_audit_log(bed: ProxyBed) -> None:
    bed.http().post("/v1/chat/completions", json=CHAT, headers={"x-ekiden-purpose": "normal_0003"})
    assert bed.calls[0].label.purpose == "normal_0003"


def test_tokens_in_and_out_are_in_the_audit_log(bed: ProxyBed) -> None:
    for way in WAYS:
        bed.server.script(Answer("17", tokens=(11, 5)))
        ask(bed, way)
    assert [call.parts for call in bed.calls] == [TokenParts(11, 5)] * len(WAYS)


def test_samples_of_one_prompt_have_one_hash_and_their_temperature_in_the_audit_log(bed: ProxyBed) -> None:
    other = {**CHAT, "messages": [{"role": "user", "content": "And 8 + 8?"}]}
    for asked in ({**CHAT, "temperature": 0.25}, {**CHAT, "temperature": 1, "max_tokens": 9}, other):
        assert bed.http().post("/v1/chat/completions", json=asked).status_code == 200
    for odd in (10**400, "hot", True, -1):
        bed.http().post("/v1/chat/completions", json={**CHAT, "temperature": odd})
    hashes = [call.label.prompt_sha256 for call in bed.calls]
    assert [len(hashes[0]), hashes.count(hashes[0]), hashes[2] == hashes[0]] == [64, 6, False]
    assert [call.label.temperature for call in bed.calls] == [0.25, 1.0, None, None, None, None, None]


def test_output_limits_are_clamped_and_models_pinned_before_a_call_is_sent(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, pinned={"temperature": 0.5}, max_output_tokens=100) as bed:
        asked = {**CHAT, "max_tokens": 1e400, "temperature": 2}
        body = json.dumps(asked).encode()
        assert b"Infinity" in body
        assert bed.http().post("/v1/chat/completions", content=body).status_code == 200
        [heard] = bed.server.heard
        assert (heard.output_limit, heard.json["temperature"]) == (100, 0.5)


def test_models_that_are_not_allowed_are_refused_and_not_listed(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, allowed_models=["good/*", "better"]) as bed:
        reply = bed.http().post("/v1/chat/completions", json=CHAT)
        assert (reply.status_code, "'m'" in reply.json()["error"]["message"]) == (400, True)
        # what the upstream lists is not allowed; the name that the rule spells out is
        assert [model.id for model in bed.openai().models.list()] == ["better"]


def test_a_child_spends_from_all_budgets_above_it(bed: ProxyBed) -> None:
    parent = bed.status.budget
    child = bed.ledger.open_budget("child", Caps(tokens=20_000), parent=parent)
    bed.server.script(Answer("17", tokens=(11, 5)))
    assert chat_text(bed.openai(token=child.token)) == "17"
    assert bed.ledger.status(child.budget).settled.tokens == bed.tokens == 16


def test_a_new_token_ends_the_old_one(bed: ProxyBed) -> None:
    new = bed.ledger.renew_token(bed.status.budget)
    assert bed.http().get("/v1/budget").status_code == 401
    assert bed.http(authorization=f"Bearer {new}").get("/v1/budget").status_code == 200


def test_an_answer_that_says_nothing_of_its_cost_is_billed_at_the_reservation(bed: ProxyBed) -> None:
    for usage in ("missing", "unreadable"):
        for stream in (False, True):
            bed.server.script(Answer("17", usage=usage))
            reply = bed.http().post("/v1/chat/completions", json={**CHAT, "max_tokens": 100, "stream": stream})
            assert "17" in reply.text
    assert bed.outcomes == ["unreadable"] * 4
    assert all(call.billed == call.reserved for call in bed.calls)


def test_an_answer_dearer_than_its_reservation_never_passes_the_cap(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, Answer("17", tokens=(1_000_000, 5)), caps=Caps(tokens=5_000)) as bed:
        assert bed.http().post("/v1/chat/completions", json=CHAT).status_code == 200
        assert bed.tokens == 5_000
        assert bed.calls[0].excess.tokens == 1_000_005 - 5_000


def test_a_call_that_was_asked_as_a_stream_and_answered_whole_is_metered(bed: ProxyBed) -> None:
    def whole(heard: Heard) -> bytes:
        usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
        return json.dumps({"choices": [], "usage": usage}).encode()

    bed.server.script(Answer(body=whole(Heard("POST", "", {}, b"")), headers={"content-type": "application/json"}))
    bed.http().post("/v1/chat/completions", json={**CHAT, "stream": True})
    assert (bed.tokens, bed.outcomes) == (16, ["answered"])


def test_openrouter_gets_what_it_adds_and_the_model_that_answers_there_is_paid(tmp_path: Path) -> None:
    listed = {name: {"input_usd_per_million": dollars, "output_usd_per_million": 0} for name, dollars in PRICES.items()}
    with ModelServer() as server:
        mirror = {"base_url": server.url, "openrouter": True}
        asked = {**CHAT, "models": ["m", "dear"], "provider": {"order": ["x"]}, "reasoning": {"effort": "low"}}
        with proxy_bed(tmp_path, upstreams={"mirror": mirror}, prices=listed) as bed:
            for stream in (False, True):
                server.script(Answer("17", tokens=(11, 5)))
                bed.http().post("/v1/chat/completions", json={**asked, "stream": stream})
            [plain, _] = server.heard
            assert {name: plain.json[name] for name in asked} == asked
            assert [call.billed and call.billed.nanodollars for call in bed.calls] == [11_000, 11_000]


def test_other_upstreams_get_the_effort_in_their_own_words_and_no_routing(bed: ProxyBed) -> None:
    asked = {**CHAT, "provider": {"order": ["x"]}, "models": ["m", "n"], "reasoning": {"effort": "low"}}
    bed.http().post("/v1/chat/completions", json=asked)
    assert bed.server.heard[0].json == {**CHAT, "max_tokens": 4096, "reasoning_effort": "low"}


def test_tokens_of_a_message_are_counted_free_of_charge(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, allowed_models=["m"], pinned={"temperature": 0.0}, caps=Caps(tokens=1)) as bed:
        count = bed.anthropic().messages.count_tokens
        asked: list[MessageParam] = [{"role": "user", "content": QUESTION}]
        assert count(model="m", messages=asked, system="Be brief.").input_tokens > 0
        [heard] = bed.server.heard
        assert (heard.path, heard.headers["x-api-key"]) == ("/v1/messages/count_tokens", KEY)
        assert heard.json == {"model": "m", "messages": asked, "system": "Be brief."}
        with pytest.raises(BadRequestError, match="'dear' may not be used"):
            count(model="dear", messages=asked)
        bed.server.script(refusal(404, "no such thing"))
        with pytest.raises(NotFoundError, match="no such thing"):
            count(model="m", messages=asked)
        bed.server.script(refusal(401, f"bad key {KEY}"))
        with pytest.raises(InternalServerError, match="refused the key of whoever runs the budget"):
            count(model="m", messages=asked)
        assert (bed.calls, bed.tokens) == ([], 0)


def test_two_proxies_share_a_ledger(bed: ProxyBed) -> None:
    settings = budget_settings(bed.server.url)
    with Proxy(bed.ledger, find_upstreams(settings, {"SCRIPTED_KEY": KEY}), settings) as other:
        client = bed.stack.enter_context(OpenAI(base_url=f"{other.url}/v1", api_key=bed.token))
        chat_text(client)
    chat_text(bed.openai())
    assert bed.outcomes == ["answered", "answered"]
