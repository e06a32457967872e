"""OpenAI's Responses."""

from collections.abc import Mapping
from typing import cast

from ekiden_budget.wire.call import BadRequestError, CallRules, ModelCall
from ekiden_budget.wire.fields import (
    ORDINARY_TIERS,
    FieldTable,
    Tree,
    as_list,
    as_object,
    check_tool,
    clamp,
    names,
    nothing_in,
    only,
    read_fallbacks,
    read_flag,
    read_kind,
    read_model,
    refusal,
    shown,
)
from ekiden_budget.wire.parts import PartTable
from ekiden_budget.wire.weight import Load, weigh

_LIMIT = "max_output_tokens"

FIELDS = FieldTable(
    passed=names(
        "image include instructions max_tool_calls metadata parallel_tool_calls prompt_cache_key prompt_cache_options "
        "prompt_cache_retention provider safety_identifier session_id stream_options temperature text tool_choice "
        "top_k top_logprobs top_p trace truncation user"
    ),
    limits=(_LIMIT,),
    own=frozenset({"model", "models", "input", "tools", "reasoning", "store", "stream"}),
    dropped=frozenset({"client_metadata"}),
    checked={
        "background": nothing_in("background"),
        "context_management": nothing_in("context_management"),
        "conversation": nothing_in("conversation"),
        "plugins": nothing_in("plugins"),
        "previous_response_id": nothing_in("previous_response_id"),
        "prompt": nothing_in("prompt"),
        "route": only("route", ["fallback"]),
        "service_tier": only("service_tier", ORDINARY_TIERS),
    },
)
PARTS = PartTable(
    "input",
    {
        "input_text": "text",
        "output_text": "text",
        "summary_text": "text",
        "reasoning_text": "text",
        "text": "text",
        "refusal": "refusal",
    },
    frozenset({"encrypted_content"}),
    "input_image",
)
ITEMS = names(
    "message reasoning function_call function_call_output custom_tool_call custom_tool_call_output local_shell_call "
    "local_shell_call_output shell_call shell_call_output apply_patch_call apply_patch_call_output tool_search_call "
    "tool_search_output additional_tools configuration_update agent_message compaction compaction_summary "
    "web_search_call mcp_list_tools mcp_call mcp_approval_request mcp_approval_response"
)
"""Items whose whole content is in the request. An `item_reference` would stand for what the upstream has kept."""
TOOLS = frozenset({"function", "custom", "apply_patch", "local_shell"})
SWITCHED_OFF = frozenset({"web_search", "web_search_preview", "image_generation"})
"""Tools that the upstream runs at a price of their own, and that agents offer unasked: they are left out."""


def read_responses(request: Mapping[str, object], rules: CallRules) -> ModelCall:
    """Read a request for a response.

    Raises:
        BadRequestError: It is malformed, or holds what is not passed on.
    """
    body = FIELDS.select(request, rules)
    model = read_model(body, rules)
    fallbacks = read_fallbacks(body, rules)
    load = Load()
    _read_input(body, rules, load)
    if body.get("tools") is not None:
        body["tools"] = _read_tools(body["tools"], "tools", rules, load)
        if not body["tools"]:
            del body["tools"]
    limit = clamp(body.get(_LIMIT), rules.default_response_tokens, rules.max_output_tokens)
    body[_LIMIT] = limit
    _check_reasoning(body, limit, rules)
    # whoever is cut off from its budget must not find the answer on the upstream's shelf
    body["store"] = False
    return ModelCall(
        dialect="responses",
        model=model,
        body=body,
        input_bound=weigh(body, load, rules.tokens_per_image),
        output_bound=limit,
        stream=read_flag(body, "stream"),
        fallback_models=fallbacks,
    )


def _read_input(body: Tree, rules: CallRules, load: Load) -> None:
    value = body.get("input")
    instructions = body.get("instructions")
    if instructions is not None and not isinstance(instructions, str):
        body["instructions"] = _read_items(instructions, "instructions", rules, load)
    if value is None or isinstance(value, str):
        load.messages += 1
    else:
        body["input"] = _read_items(value, "input", rules, load)


def _read_items(value: object, name: str, rules: CallRules, load: Load) -> list[object]:
    if not isinstance(value, list):
        raise BadRequestError(f"{name} must be a string or a list of items; it is {shown(value)}.", name)
    items = cast("list[object]", value)
    kept: list[object] = [_read_item(item, f"{name}[{index}]", rules, load) for index, item in enumerate(items)]
    load.messages += len(kept)
    return kept


def _read_item(value: object, at: str, rules: CallRules, load: Load) -> Tree:
    item = as_object(value, at)
    kind = read_kind(item, at, "message" if "role" in item else "item_reference")
    if kind not in ITEMS and not rules.allow_field("input", kind):
        raise refusal("input", kind, at=at)
    for name in ("content", "output", "summary"):
        parts = item.get(name)
        if isinstance(parts, list):
            _read_parts(cast("list[object]", parts), f"{at}.{name}", kind, rules, load)
    # a search for tools answers with tools, and they count like any
    if item.get("tools") is not None and kind in {"additional_tools", "tool_search_output"}:
        return {**item, "tools": _read_tools(item["tools"], f"{at}.tools", rules, load)}
    return item


def _read_parts(parts: list[object], at: str, kind: str, rules: CallRules, load: Load) -> None:
    if kind == "shell_call_output":  # its parts are outputs of commands and have no type
        return
    for index, part in enumerate(parts):
        PARTS.read(part, f"{at}[{index}]", rules, load)


def _read_tools(value: object, at: str, rules: CallRules, load: Load) -> list[object]:
    """Return the tools that are offered: those that somebody else would be paid for are refused or left out."""
    kept: list[object] = []
    for index, item in enumerate(as_list(value, at)):
        place = f"{at}[{index}]"
        tool = as_object(item, place)
        kind = read_kind(tool, place, "function")
        if kind == "namespace":
            kept.append({**tool, "tools": _read_tools(tool.get("tools"), f"{place}.tools", rules, load)})
            continue
        if not _is_callers_own(tool, kind) and not rules.allow_field("tools", kind):
            if kind in SWITCHED_OFF:
                continue
            raise refusal("tools", kind, at=place)
        check_tool(tool, rules, place)
        load.tools += 1
        kept.append(tool)
    return kept


def _is_callers_own(tool: Tree, kind: str) -> bool:
    """Tell whether the caller runs a tool itself."""
    if kind == "tool_search":
        return tool.get("execution") == "client"
    if kind == "shell":
        return as_object(tool.get("environment") or {}, "environment").get("type") == "local"
    return kind in TOOLS


def _check_reasoning(body: Tree, limit: int, rules: CallRules) -> None:
    value = body.get("reasoning")
    if value is None:
        return
    reasoning = as_object(value, "reasoning")
    if reasoning.get("max_tokens") is not None:
        body["reasoning"] = {**reasoning, "max_tokens": clamp(reasoning["max_tokens"], limit, limit)}
    mode = reasoning.get("mode")
    if mode is not None:
        only("reasoning", ["standard"])(mode, rules)
