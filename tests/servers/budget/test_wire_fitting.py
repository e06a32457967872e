"""Calls as their upstream takes them: OpenRouter gets what it adds to the formats, and nobody else does."""

from typing import Any

import pytest

from ekiden_budget.wire import CallRules, Dialect, ModelCall, fit_upstream, read_call

ROUTING: dict[str, Any] = {
    "provider": {"order": ["deepinfra/bf16"]},
    "models": ["m", "n"],
    "route": "fallback",
    "transforms": ["middle-out"],
    "plugins": [{"id": "web"}],
    "session_id": "s",
    "trace": {},
}
RULES = CallRules(allowed_fields=("plugins", "models", "route", "transforms", "session_id", "trace"))
ASKED: dict[Dialect, dict[str, Any]] = {
    "chat": {"messages": [], "max_tokens": 50, "usage": {"include": True}},
    "responses": {"input": "x", "max_output_tokens": 50},
    "messages": {"messages": [], "max_tokens": 50},
    "embeddings": {"input": "x"},
}


def read(dialect: Dialect, **fields: object) -> ModelCall:
    return read_call(dialect, {"model": "m", **ASKED[dialect], **fields}, RULES)


@pytest.mark.parametrize("dialect", ASKED)
def test_what_only_openrouter_knows_goes_to_openrouter_alone(dialect: Dialect) -> None:
    call = read(dialect, **ROUTING, reasoning={"effort": "low"} if dialect in {"chat", "responses"} else None)
    assert fit_upstream(call, openrouter=True) == call
    sent = fit_upstream(call, openrouter=False)
    assert not {*ROUTING, "usage"} & set(sent.body)
    assert sent.fallback_models == ()
    assert (sent.input_bound, sent.output_bound) == (call.input_bound, call.output_bound)
    assert len(sent.encode()) < len(call.encode())


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ({"reasoning": {"effort": "high", "exclude": True}}, {"reasoning_effort": "high"}),
        ({"reasoning": {"effort": "high"}, "reasoning_effort": "low"}, {"reasoning_effort": "low"}),
        ({"reasoning": {"effort": "high"}, "reasoning_effort": None}, {"reasoning_effort": "high"}),
        ({"reasoning": {"enabled": False}}, {}),
        ({"reasoning": {"max_tokens": 20}}, {}),
        ({"reasoning": None}, {}),
    ],
)
def test_how_hard_a_chat_model_shall_think_is_said_in_the_words_that_others_know(
    asked: dict[str, object], sent: dict[str, object]
) -> None:
    body = fit_upstream(read("chat", **asked), openrouter=False).body
    assert {name: value for name, value in body.items() if name.startswith("reasoning")} == sent
    assert body["max_tokens"] == 50


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ({"effort": "high", "summary": "auto", "max_tokens": 20}, {"effort": "high", "summary": "auto"}),
        ({"enabled": True}, None),
        ({"effort": "low"}, {"effort": "low"}),
    ],
)
def test_of_the_reasoning_of_responses_only_openrouters_parts_are_left_out(asked: object, sent: object) -> None:
    assert fit_upstream(read("responses", reasoning=asked), openrouter=False).body.get("reasoning") == sent
