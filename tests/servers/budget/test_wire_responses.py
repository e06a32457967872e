"""Requests for responses, among them those that Codex sends."""

from typing import Any

import pytest

from ekiden_budget.wire import BadRequestError, CallRules, ModelCall, read_call

CODEX: dict[str, Any] = {
    "model": "gpt-5.5",
    "stream": True,
    "instructions": "You are a coding agent.",
    "input": [
        {"type": "message", "id": "msg_1", "role": "developer", "content": [{"type": "input_text", "text": "Rules."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Say hi."}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "gAAAA"},
        {"type": "function_call", "id": "fc_1", "name": "exec_command", "arguments": "{}", "call_id": "c1"},
        {"type": "function_call_output", "id": "fco_1", "call_id": "c1", "output": "hi"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** Begin Patch"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "Done."}]},
        {"type": "tool_search_call", "call_id": "c3", "execution": "client", "arguments": {"query": "lean"}},
        {"type": "tool_search_output", "call_id": "c3", "execution": "client",
         "tools": [{"type": "namespace", "name": "mcp__lean", "tools": [{"type": "function", "name": "check"}]}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]},
    ],
    "tools": [
        {"type": "function", "name": "exec_command", "strict": False, "parameters": {"type": "object"}},
        {"type": "custom", "name": "apply_patch", "format": {"type": "grammar", "syntax": "lark", "definition": "s:"}},
        {"type": "namespace", "name": "mcp__demo", "description": "", "tools": [{"type": "function", "name": "echo"}]},
        {"type": "tool_search", "execution": "client", "description": "", "parameters": {}},
        {"type": "local_shell"},
        {"type": "web_search", "external_web_access": False},
    ],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": {"effort": "medium", "summary": "auto"},
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "01a1",
    "text": {"verbosity": "low"},
    "client_metadata": {"session_id": "01a1"},
}  # fmt: skip


def read(rules: CallRules | None = None, /, **fields: object) -> ModelCall:
    return read_call("responses", {"model": "m", "input": "Prove it.", **fields}, rules or CallRules())


def refused(rules: CallRules | None = None, /, **fields: object) -> BadRequestError:
    with pytest.raises(BadRequestError) as caught:
        read(rules, **fields)
    return caught.value


def test_a_turn_of_codex_passes_without_what_says_who_it_is_and_what_costs_apart() -> None:
    call = read_call("responses", CODEX, CallRules())
    expected = {name: value for name, value in CODEX.items() if name != "client_metadata"}
    expected["tools"] = CODEX["tools"][:-1]
    assert call.body == {**expected, "max_output_tokens": 32_768}
    assert (call.stream, call.adds_usage_event, call.output_bound) == (True, False, 32_768)


@pytest.mark.parametrize(("asked", "sent"), [(500, 500), (10**9, 65_536), (0, 32_768), ("many", 32_768)])
def test_the_limit_is_clamped(asked: object, sent: int) -> None:
    call = read(max_output_tokens=asked)
    assert (call.body["max_output_tokens"], call.output_bound) == (sent, sent)


def test_nothing_is_kept_upstream_even_where_that_is_what_silence_means() -> None:
    assert read().body["store"] is False
    assert read(store=True).body["store"] is False


@pytest.mark.parametrize(
    "fields",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": "conv_1"},
        {"prompt": {"id": "pmpt_1"}},
        {"background": True},
        {"context_management": [{"type": "compaction"}]},
        {"service_tier": "fast"},
        {"moderation": {"model": "x"}},
        {"background_options": {"completion_window": "8h"}},
        {"max_tokens": 5},
    ],
)
def test_what_stands_for_text_that_is_not_here_or_costs_apart_is_refused(fields: dict[str, object]) -> None:
    assert refused(**fields).param == next(iter(fields))
    assert refused(reasoning={"mode": "pro"}).param == "reasoning"


def test_codex_may_say_that_it_wants_none_of_it() -> None:
    body = read(previous_response_id=None, conversation=None, background=False, context_management=[]).body
    assert body["background"] is False


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "mcp", "server_url": "https://example.com"},
        {"type": "code_interpreter", "container": {"type": "auto"}},
        {"type": "file_search", "vector_store_ids": ["vs_1"]},
        {"type": "tool_search"},
        {"type": "shell", "environment": {"type": "container_auto"}},
        {"type": "shell"},
        {"type": "programmatic_tool_calling"},
        {"type": "what_comes_next"},
    ],
)
def test_a_tool_that_the_upstream_runs_is_refused_wherever_it_stands(tool: dict[str, Any]) -> None:
    assert refused(tools=[{"type": "function", "name": "f"}, tool]).param == "tools[1]"
    assert refused(tools=[{"type": "namespace", "name": "n", "tools": [tool]}]).param == "tools[0].tools[0]"
    item = {"type": "additional_tools", "role": "developer", "tools": [tool]}
    assert refused(input=[item]).param == "input[0].tools[0]"
    rules = CallRules(allowed_fields=(f"tools:{tool['type']}",))
    assert read(rules, tools=[tool]).body["tools"] == [tool]


def test_searches_and_pictures_that_agents_offer_unasked_are_left_out() -> None:
    tools = [{"type": "web_search"}, {"type": "image_generation"}]
    assert "tools" not in read(tools=tools).body
    assert read(CallRules(allowed_fields=("tools:*",)), tools=tools).body["tools"] == tools


def test_a_tool_that_the_caller_runs_passes() -> None:
    tools = [{"type": "apply_patch"}, {"type": "shell", "environment": {"type": "local"}}]
    assert read(tools=tools).body["tools"] == tools


@pytest.mark.parametrize(
    ("items", "param"),
    [
        ({"role": "user"}, "input"),
        ([7], "input[0]"),
        ([{"id": "msg_1"}], "input[0]"),
        ([{"type": "item_reference", "id": "msg_1"}], "input[0]"),
        ([{"type": "compaction_trigger"}], "input[0]"),
        ([{"type": ["message"]}], "input[0].type"),
        ([{"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA"}]}],
         "input[0].content[0]"),
        ([{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}], "input[0].content[0]"),
        ([{"type": "function_call_output", "output": [{"type": "input_file"}]}], "input[0].output[0]"),
    ],
)  # fmt: skip
def test_an_item_that_is_not_wholly_here_is_refused_by_its_index(items: object, param: str) -> None:
    assert refused(input=items).param == param


def test_images_count_by_their_number_when_they_are_allowed() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 100_000}
    items = [{"type": "function_call_output", "call_id": "c1", "output": [image]}]
    assert 5000 <= read(CallRules(allow_images=True, tokens_per_image=5000), input=items).input_bound < 6000


def test_instructions_and_tools_are_counted() -> None:
    assert read(instructions="x" * 5000).input_bound >= 5000
    assert read(tools=[{"type": "function", "name": "f", "parameters": {"d": "x" * 5000}}]).input_bound >= 5000


def test_a_budget_for_reasoning_is_no_more_than_the_answer_may_have() -> None:
    call = read(max_output_tokens=1, reasoning={"max_tokens": 500_000})
    assert (call.body["reasoning"], call.output_bound) == ({"max_tokens": 1}, 1)
