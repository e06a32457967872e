"""Requests for chat completions: what is sent, what it can cost, and what is refused."""

import json
import math
from typing import Any

import pytest

from ekiden_budget.wire import BadRequestError, CallRules, ModelCall, read_call

USER = {"role": "user", "content": "Prove it."}


def read(rules: CallRules | None = None, /, **fields: object) -> ModelCall:
    return read_call("chat", {"model": "m", "messages": [USER], **fields}, rules or CallRules())


def refused(rules: CallRules | None = None, /, **fields: object) -> BadRequestError:
    with pytest.raises(BadRequestError) as caught:
        read(rules, **fields)
    return caught.value


def test_a_plain_call_is_sent_as_it_is_but_for_its_limit() -> None:
    call = read(temperature=0.0, seed=7)
    assert call.body == {"model": "m", "messages": [USER], "temperature": 0.0, "seed": 7, "max_tokens": 4096}
    assert (call.model, call.output_bound, call.stream, call.adds_usage_event) == ("m", 4096, False, False)
    assert call.reserved_tokens == call.input_bound + 4096
    assert json.loads(call.encode()) == call.body


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (1, 1),
        (65_536, 65_536),
        (65_537, 65_536),
        (10**30, 65_536),
        (math.inf, 65_536),
        (math.nan, 65_536),
        (1e300, 65_536),
        (100.7, 100),
        (0.5, 4096),
        (0, 4096),
        (-1, 4096),
        (-math.inf, 4096),
        (None, 4096),
        ("100", 4096),
        (True, 4096),
        ([100], 4096),
    ],
)
@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_limit_is_clamped(name: str, asked: object, sent: int) -> None:
    call = read(**{name: asked})
    assert call.body["max_tokens"] == sent
    assert "max_completion_tokens" not in call.body
    assert call.output_bound == sent


@pytest.mark.parametrize(("model", "name"), [("deepseek-chat", "max_tokens"), ("gpt-5.5", "max_completion_tokens")])
def test_of_two_limits_the_lower_one_is_sent_under_the_name_that_the_model_knows(model: str, name: str) -> None:
    for limits in ({"max_tokens": 7, "max_completion_tokens": 1_000_000}, {"max_completion_tokens": 7}):
        call = read(model=model, **limits)
        assert {key: value for key, value in call.body.items() if "tokens" in key} == {name: 7}
        assert call.output_bound == 7


@pytest.mark.parametrize("model", ["o3-mini", "gpt-5.5", "openai/gpt-5-nano"])
def test_models_that_know_no_max_tokens_get_the_other_name(model: str) -> None:
    body = read(model=model).body
    assert body["max_completion_tokens"] == 4096
    assert "max_tokens" not in body


def test_every_choice_counts() -> None:
    assert read(n=128, max_tokens=10).output_bound == 1280
    assert read(n=2, best_of=5, max_tokens=10).output_bound == 50
    assert read(n=None, max_tokens=10).output_bound == 10


@pytest.mark.parametrize("count", [0, -1, 129, 1.5, True, "2", 10**30])
@pytest.mark.parametrize("name", ["n", "best_of"])
def test_a_number_of_choices_that_is_none_is_refused(name: str, count: object) -> None:
    assert refused(**{name: count}).param == name


def test_a_prediction_counts_as_if_it_were_written() -> None:
    prediction = {"type": "content", "content": "x" * 500}
    assert read(prediction=prediction, max_tokens=10, n=2).output_bound >= 2 * 510


@pytest.mark.parametrize(
    "fields",
    [
        {"messages": [{"role": "user", "content": "◇" * 1000}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "◇" * 1000}]}]},
        {"messages": [{"role": "user", "name": "x" * 3000, "content": None}]},
        {"messages": [{"role": "assistant", "tool_calls": [{"function": {"arguments": "x" * 3000}}]}]},
        {"messages": [{"role": "assistant", "reasoning_content": "x" * 3000}]},
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": {"d": "x" * 3000}}}]},
        {"functions": [{"name": "f", "description": "x" * 3000}]},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {"d": "x" * 3000}}}},
    ],
)
def test_all_that_a_model_may_read_is_counted_by_its_bytes(fields: dict[str, Any]) -> None:
    assert read(**fields).input_bound >= 3000


def test_a_prompt_costs_little_more_than_its_bytes() -> None:
    assert read(messages=[{"role": "user", "content": "x" * 10_000}]).input_bound < 10_400


def test_missing_messages_count_as_none() -> None:
    assert read_call("chat", {"model": "m"}, CallRules()).body["messages"] == []


BAD_MESSAGES: list[tuple[object, str]] = [
    ("hello", "messages"),
    ({"role": "user"}, "messages"),
    ([USER, "hello"], "messages[1]"),
    ([USER, {"role": "user", "content": 7}], "messages[1].content"),
    ([{"role": "user", "content": {"type": "text"}}], "messages[0].content"),
    ([{"role": "user", "content": [USER]}], "messages[0].content[0]"),
    ([{"role": "user", "content": ["x"]}], "messages[0].content[0]"),
    ([{"role": "user", "content": [{"type": "text", "text": None}]}], "messages[0].content[0]"),
    ([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}],
     "messages[0].content[1]"),
    ([{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}], "messages[0].content[0]"),
    ([{"role": "user", "content": [{"type": "file", "file": {}}]}], "messages[0].content[0]"),
    ([{"role": "assistant", "audio": {"id": "audio_1"}}], "messages[0]"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("messages", "param"),
    BAD_MESSAGES,
)
def test_a_bad_message_is_named_by_its_index(messages: object, param: str) -> None:
    error = refused(messages=messages)
    assert error.param == param
    assert param in str(error)


def test_images_count_by_their_number_when_they_are_allowed() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 1_000_000}}
    messages = [{"role": "user", "content": [image, image]}]
    bound = read(CallRules(allow_images=True, tokens_per_image=5000), messages=messages).input_bound
    assert 10_000 <= bound < 11_000
    assert "budget.allow_images" in str(refused(messages=messages))


@pytest.mark.parametrize("image", ["AAAA", {"type": "image_url", "image_url": {"url": "https://example.com/x.png"}}])
def test_images_beside_the_content_count_as_images(image: object) -> None:
    messages = [{"role": "user", "content": "x", "images": [image, image]}]
    assert refused(messages=messages).param == "messages[0].images[0]"
    assert read(CallRules(allow_images=True, tokens_per_image=5000), messages=messages).input_bound >= 10_000
    assert refused(messages=[{"role": "user", "content": "x", "images": "AAAA"}]).param == "messages[0].images"


def test_text_that_calls_itself_an_image_is_counted_as_text() -> None:
    image = {"type": "image_url", "image_url": {"url": "x" * 100_000}}
    messages = [{"role": "user", "content": [image]}]
    assert read(CallRules(allow_images=True), messages=messages).input_bound >= 100_000


@pytest.mark.parametrize(
    "fields",
    [
        {"web_search_options": {}},
        {"plugins": [{"id": "web"}]},
        {"audio": {"voice": "alloy"}},
        {"modalities": ["text", "audio"]},
        {"service_tier": "priority"},
        {"preset": "mine"},
        {"moderation": {"model": "x"}},
        {"chat_template": "{% for x in range(10**9) %}x{% endfor %}"},
        {"timeout": 9999},
        {"extra_headers": {"x": "y"}},
    ],
)
def test_a_field_whose_cost_nobody_can_bound_is_refused_by_name(fields: dict[str, object]) -> None:
    name = next(iter(fields))
    error = refused(**fields)
    assert error.param == name
    assert "budget.allowed_fields" in str(error)
    assert read(CallRules(allowed_fields=(name,)), **fields).body[name] == fields[name]
    assert name not in read(**{name: None}).body or name in {"plugins", "modalities", "service_tier"}


def test_the_tools_of_others_are_refused_unless_they_are_allowed() -> None:
    tools = [{"type": "function", "function": {"name": "f"}}, {"type": "openrouter:web_search"}]
    error = refused(tools=tools)
    assert error.param == "tools[1]"
    assert "'tools:openrouter:web_search'" in str(error)
    assert read(CallRules(allowed_fields=("tools:openrouter:*",)), tools=tools).body["tools"] == tools


def test_what_openrouter_and_deepseek_add_is_sent() -> None:
    fields: dict[str, Any] = {
        "provider": {"order": ["deepinfra/bf16"], "allow_fallbacks": False},
        "reasoning": {"effort": "high"},
        "transforms": ["middle-out"],
        "models": ["a/b", "c/d"],
        "route": "fallback",
        "usage": {"include": True},
        "thinking": {"type": "enabled"},
        "top_k": 5,
        "min_p": 0.1,
    }
    call = read(**fields)
    assert {name: call.body[name] for name in fields} == fields
    assert call.fallback_models == ("a/b", "c/d")


def test_the_room_for_reasoning_lies_inside_the_limit() -> None:
    assert read(reasoning={"max_tokens": 10**9}, max_tokens=2000).body["reasoning"] == {"max_tokens": 2000}
    assert refused(reasoning="high").param == "reasoning"


def test_a_model_that_is_not_allowed_is_refused_by_any_way_to_name_it() -> None:
    rules = CallRules(allowed_models=("openai/gpt-oss-*", "free"))
    assert read(rules, model="openai/gpt-oss-120b").model == "openai/gpt-oss-120b"
    assert "'openai/gpt-oss-*', 'free'" in str(refused(rules, model="gpt-5"))
    assert refused(rules, model="free", models=["free", "dear"]).param == "models[1]"
    widened = CallRules(allowed_models=("free",), allowed_fields=("tools:openrouter:*",))
    tools = [{"type": "openrouter:image_generation", "model": "dear"}]
    assert refused(widened, model="free", tools=tools).param == "tools[0].model"


@pytest.mark.parametrize("model", [None, "", 7, ["m"], "openai/gpt-4o:online", "@preset/dear", "m@preset/dear"])
def test_what_names_no_model_or_more_than_one_is_refused(model: object) -> None:
    assert refused(model=model).param == "model"


def test_pins_hold_whatever_the_caller_says() -> None:
    rules = CallRules(pinned={"temperature": 0.0, "model": "pinned", "max_output_tokens": 5, "max_tokens": 100_000})
    call = read(rules, temperature=1.0, model="mine", max_completion_tokens=50_000)
    assert call.body == {"model": "pinned", "messages": [USER], "temperature": 0.0, "max_tokens": 65_536}
    assert call.output_bound == 65_536


@pytest.mark.parametrize(
    ("pinned", "value", "others"),
    [
        ("model", "pinned", {"model": "mine", "models": ["dear"], "route": "fallback", "fallbacks": ["dear"]}),
        ("reasoning_effort", "low", {"reasoning": {"effort": "high"}, "thinking": {"type": "enabled"}}),
        ("reasoning", {"effort": "low"}, {"reasoning_effort": "high", "thinking": {"type": "enabled"}}),
        ("thinking", {"type": "disabled"}, {"reasoning_effort": "high", "reasoning": {"effort": "high"}}),
    ],
)
def test_a_pin_holds_against_all_that_says_the_same(pinned: str, value: object, others: dict[str, Any]) -> None:
    call = read(CallRules(pinned={pinned: value}), **others)
    assert call.body == {"model": "m", "messages": [USER], "max_tokens": 4096, pinned: value}
    assert call.fallback_models == ()


def test_what_is_pinned_together_is_sent_together() -> None:
    pins = {"model": "m", "models": ["m", "n"], "reasoning_effort": "low", "thinking": {"type": "enabled"}}
    call = read(CallRules(pinned=pins), models=["dear"])
    assert {name: call.body[name] for name in pins} == pins
    assert call.fallback_models == ("m", "n")


def test_a_stream_ends_with_its_usage_whether_or_not_the_caller_asked() -> None:
    call = read(stream=True, stream_options={"include_obfuscation": False})
    assert call.body["stream_options"] == {"include_obfuscation": False, "include_usage": True}
    assert (call.stream, call.adds_usage_event) == (True, True)
    assert not read(stream=True, stream_options={"include_usage": True}).adds_usage_event
    assert "stream_options" not in read(stream=False, stream_options={}).body
    assert refused(stream=1).param == "stream"
    assert refused(stream=True, stream_options={"include_usage": "yes"}).param == "include_usage"


def test_nothing_is_kept_upstream() -> None:
    assert read(store=True).body["store"] is False
