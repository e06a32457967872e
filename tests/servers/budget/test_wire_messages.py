"""Requests for messages, among them those that Claude Code sends."""

from typing import Any

import pytest

from ekiden_budget.wire import BadRequestError, CallRules, ModelCall, read_call

CACHED = {"type": "ephemeral"}
CLAUDE_CODE: dict[str, Any] = {
    "model": "claude-opus-4-8",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "run echo hi"}]},
        {"role": "system", "content": "Available agents: none."},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "", "signature": "EqQB"},
            {"type": "redacted_thinking", "data": "EmwK"},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "echo hi"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "hi", "is_error": False, "cache_control": CACHED},
            {"type": "tool_result", "tool_use_id": "t2", "content": [
                {"type": "text", "text": "found"}, {"type": "tool_reference", "tool_name": "WebFetch"},
            ]},
        ]},
    ],
    "system": [{"type": "text", "text": "You are an agent.", "cache_control": CACHED}],
    "tools": [{"name": "Bash", "description": "Runs.", "input_schema": {"type": "object"}, "defer_loading": True}],
    "metadata": {"user_id": "{}"},
    "max_tokens": 64_000,
    "thinking": {"type": "adaptive"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "output_config": {"effort": "high"},
    "stream": True,
}  # fmt: skip


def read(rules: CallRules | None = None, /, **fields: object) -> ModelCall:
    request = {"model": "m", "max_tokens": 1000, "messages": [{"role": "user", "content": "Prove it."}], **fields}
    return read_call("messages", request, rules or CallRules())


def refused(rules: CallRules | None = None, /, **fields: object) -> BadRequestError:
    with pytest.raises(BadRequestError) as caught:
        read(rules, **fields)
    return caught.value


def test_a_turn_of_claude_code_passes_unchanged() -> None:
    call = read_call("messages", CLAUDE_CODE, CallRules())
    assert call.body == CLAUDE_CODE
    assert (call.stream, call.adds_usage_event, call.output_bound) == (True, False, 64_000)


@pytest.mark.parametrize(("asked", "sent"), [(1, 1), (0, 0), (10**9, 65_536), (None, 4096), (-1, 4096), ("9", 4096)])
def test_the_limit_is_clamped(asked: object, sent: int) -> None:
    call = read(max_tokens=asked)
    assert (call.body["max_tokens"], call.output_bound) == (sent, sent)


@pytest.mark.parametrize(
    ("limit", "budget", "sent"),
    [
        (5000, 2000, {"type": "enabled", "budget_tokens": 2000}),
        (100_000, 90_000, {"type": "enabled", "budget_tokens": 65_535}),
        (2000, 2000, {"type": "enabled", "budget_tokens": 1999}),
        (1024, 2000, {"type": "disabled"}),
    ],
)
def test_the_budget_of_thinking_lies_inside_the_limit(limit: int, budget: int, sent: dict[str, object]) -> None:
    assert read(max_tokens=limit, thinking={"type": "enabled", "budget_tokens": budget}).body["thinking"] == sent


def test_a_budget_of_thinking_that_is_none_is_refused() -> None:
    assert refused(thinking={"type": "enabled", "budget_tokens": 1e9}).param == "thinking.budget_tokens"
    assert refused(thinking="adaptive").param == "thinking"


@pytest.mark.parametrize(
    "fields",
    [
        {"mcp_servers": [{"type": "url", "url": "https://example.com"}]},
        {"container": "container_1"},
        {"fallbacks": ["claude-opus-4-8"]},
        {"inference_geo": "us"},
        {"speed": "fast"},
        {"service_tier": "priority"},
        {"thread": {"type": "continue", "previous_message_id": "msg_1"}},
        {"compaction": {"type": "summarize"}},
    ],
)
def test_what_costs_apart_or_stands_for_text_that_is_not_here_is_refused(fields: dict[str, object]) -> None:
    assert refused(**fields).param == next(iter(fields))


def test_models_that_answer_in_place_of_another_or_help_it_are_held_to_the_allowed_ones() -> None:
    rules = CallRules(allowed_models=("m", "n"), allowed_fields=("fallbacks", "tools:advisor*"))
    assert read(rules, fallbacks=[{"model": "n"}]).fallback_models == ("n",)
    assert refused(rules, fallbacks=[{"model": "n"}, {"model": "dear"}]).param == "fallbacks[1]"
    assert refused(rules, fallbacks="default").param == "fallbacks"
    advisor = {"type": "advisor_20260301", "name": "advisor"}
    assert refused(rules, tools=[{**advisor, "model": "dear"}]).param == "tools[0].model"
    assert read(rules, tools=[{**advisor, "model": "n"}]).body["tools"] == [{**advisor, "model": "n"}]


def test_a_pin_of_how_hard_to_think_holds_against_the_other_field_that_says_so() -> None:
    asked: dict[str, Any] = {
        "thinking": {"type": "enabled", "budget_tokens": 900},
        "output_config": {"effort": "max", "format": {"type": "json_schema"}},
    }
    low = {"effort": "low"}
    body = read(CallRules(pinned={"output_config": low}), **asked).body
    assert (body.get("thinking"), body["output_config"]) == (None, low)
    body = read(CallRules(pinned={"output_config": low}), **{**asked, "thinking": {"type": "adaptive"}}).body
    assert (body["thinking"], body["output_config"]) == ({"type": "adaptive"}, low)
    off = {"type": "disabled"}
    body = read(CallRules(pinned={"thinking": off}), **asked).body
    assert (body["thinking"], body["output_config"]) == (off, {"format": {"type": "json_schema"}})
    body = read(CallRules(pinned={"thinking": off, "output_config": low}), **asked).body
    assert (body["thinking"], body["output_config"]) == (off, low)


def test_a_page_that_was_fetched_is_looked_at_as_any_document() -> None:
    def asked(source: dict[str, Any]) -> list[dict[str, Any]]:
        page = {"type": "web_fetch_result", "url": "u", "content": {"type": "document", "source": source}}
        block = {"type": "web_fetch_tool_result", "tool_use_id": "t", "content": page}
        return [{"role": "assistant", "content": [block]}]

    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    place = "messages[0].content[0].content.content.source"
    assert refused(messages=asked({"type": "base64", "data": "JVBE"})).param.startswith(place)
    assert refused(messages=asked({"type": "content", "content": [image]})).param == f"{place}.content[0]"
    text = asked({"type": "text", "data": "x" * 500})
    assert read(messages=text).body["messages"] == text
    error = {"type": "web_fetch_tool_result_error", "error_code": "unavailable"}
    failed = [{"type": "web_fetch_tool_result", "tool_use_id": "t", "content": error}]
    assert read(messages=[{"role": "assistant", "content": failed}]).input_bound > 0


def test_a_compaction_on_the_way_is_refused_since_it_is_a_call_of_its_own() -> None:
    edits = {"edits": [{"type": "clear_tool_uses_20250919"}, {"type": "compact_20260112"}]}
    assert refused(context_management=edits).param == "context_management.edits[1]"
    rules = CallRules(allowed_fields=("context_management:compact_*",))
    assert read(rules, context_management=edits).body["context_management"] == edits


@pytest.mark.parametrize(
    "kind",
    ["web_search_20250305", "web_fetch_20250910", "code_execution_20250825", "advisor_20260301", "mcp_toolset",
     "tool_search_tool_regex_20251119"],
)  # fmt: skip
def test_a_tool_that_anthropic_runs_is_refused_unless_it_is_allowed(kind: str) -> None:
    tools: list[dict[str, Any]] = [{"name": "Bash", "input_schema": {}}, {"type": kind, "name": "x"}]
    assert refused(tools=tools).param == "tools[1]"
    assert read(CallRules(allowed_fields=(f"tools:{kind}",)), tools=tools).body["tools"] == tools


def test_a_tool_that_the_caller_runs_counts_with_what_anthropic_says_of_it() -> None:
    plain = read(tools=[{"name": "bash", "description": "x"}]).input_bound
    assert read(tools=[{"type": "bash_20250124", "name": "bash"}]).input_bound > plain + 1000


BAD_CONTENT: list[tuple[object, str]] = [
    (7, ""),
    ([7], "[0]"),
    ([{"text": "x"}], "[0]"),
    ([{"type": "text"}], "[0]"),
    ([{"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}], "[0]"),
    ([{"type": "container_upload", "file_id": "file_1"}], "[0]"),
    ([{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA"}}],
     "[0].source (of type 'base64')"),
    ([{"type": "tool_result", "content": [{"type": "image", "source": {}}]}], "[0].content[0]"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "at"),
    BAD_CONTENT,
)
def test_a_block_that_is_not_text_is_refused_by_its_index(content: object, at: str) -> None:
    assert refused(messages=[{"role": "user", "content": content}]).param == f"messages[0].content{at}"
    assert refused(system=content).param == f"system{at}"


def test_documents_that_are_text_pass() -> None:
    source = {"type": "content", "content": [{"type": "text", "text": "x"}]}
    documents = [{"type": "document", "source": {"type": "text", "data": "y"}}, {"type": "document", "source": source}]
    assert read(messages=[{"role": "user", "content": documents}]).input_bound > 0


def test_images_count_by_their_number_wherever_they_stand() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 100_000}}
    content = [image, {"type": "tool_result", "tool_use_id": "t1", "content": [image]}]
    rules = CallRules(allow_images=True, tokens_per_image=5000)
    assert 10_000 <= read(rules, messages=[{"role": "user", "content": content}]).input_bound < 11_000
