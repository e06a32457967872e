"""Anthropic's Messages."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
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
    mapping_of,
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

_LIMIT = "max_tokens"
_LEAST_THINKING = 1024

FIELDS = FieldTable(
    passed=names(
        "cache_control diagnostics metadata output_config output_format provider session_id stop_sequences temperature "
        "tool_choice top_k top_p trace user"
    ),
    limits=(_LIMIT,),
    own=frozenset({"model", "messages", "system", "tools", "thinking", "context_management", "stream"}),
    dropped=frozenset({"anthropic_beta", "anthropic_version", "betas"}),
    checked={
        "container": nothing_in("container"),
        "fallbacks": nothing_in("fallbacks"),
        "inference_geo": nothing_in("inference_geo"),
        "mcp_servers": nothing_in("mcp_servers"),
        "service_tier": only("service_tier", ORDINARY_TIERS),
        "speed": only("speed", ["standard"]),
    },
)
PARTS = PartTable(
    "messages",
    {"text": "text"},
    names(
        "thinking redacted_thinking tool_use tool_result tool_reference search_result server_tool_use "
        "web_search_tool_result web_fetch_tool_result code_execution_tool_result bash_code_execution_tool_result "
        "text_editor_code_execution_tool_result tool_search_tool_result advisor_tool_result mcp_tool_use "
        "mcp_tool_result mcp_tool_listing compaction fallback tool_addition tool_removal document"
    ),
    "image",
)
"""Blocks whose whole content is in the request; of documents, only those that are text."""
OWN_TOOLS = {"bash_*": 2048, "text_editor_*": 2048, "memory_*": 4096, "computer_2*": 4096, "computer_toolset_*": 16_384,
             "browser_toolset_*": 16_384}  # fmt: skip
"""Tools that the caller runs and whose definition is Anthropic's own: globs of types, and tokens above theirs."""
EDITS = frozenset({"clear_tool_uses_20250919", "clear_thinking_20251015"})
"""Edits of the context that only take away; a compaction would be another call, billed beside this one."""


def read_messages(request: Mapping[str, object], rules: CallRules) -> ModelCall:
    """Read a request for a message.

    Raises:
        BadRequestError: It is malformed, or holds what is not passed on.
    """
    body = FIELDS.select(request, rules)
    _keep_effort(body, rules)
    model = read_model(body, rules)
    fallbacks = read_fallbacks(body, rules)
    load = Load()
    _read_conversation(body, rules, load)
    _read_tools(body, rules, load)
    _check_edits(body, rules)
    asked = body.get(_LIMIT)
    # 0 fills the cache without an answer
    warms = isinstance(asked, int) and not isinstance(asked, bool) and asked == 0
    limit = 0 if warms else clamp(asked, rules.default_output_tokens, rules.max_output_tokens)
    body[_LIMIT] = limit
    _clamp_thinking(body, limit)
    return ModelCall(
        dialect="messages",
        model=model,
        body=body,
        input_bound=weigh(body, load, rules.tokens_per_image),
        output_bound=limit,
        stream=read_flag(body, "stream"),
        fallback_models=fallbacks,
    )


def _keep_effort(body: Tree, rules: CallRules) -> None:
    """Let a pin of how hard to think hold against the other field that says so."""
    config, thinking = mapping_of(body.get("output_config")), mapping_of(body.get("thinking"))
    pinned = mapping_of(rules.pinned.get("output_config"))
    if "thinking" in rules.pinned and "effort" in config and not pinned:
        body["output_config"] = {name: value for name, value in config.items() if name != "effort"}
    elif "effort" in pinned and "budget_tokens" in thinking and "thinking" not in rules.pinned:
        del body["thinking"]


def _read_conversation(body: Tree, rules: CallRules, load: Load) -> None:
    _read_content(body.get("system"), "system", rules, load)
    messages = as_list(body.get("messages"), "messages")
    for index, item in enumerate(messages):
        at = f"messages[{index}]"
        _read_content(as_object(item, at).get("content"), f"{at}.content", rules, load)
    body["messages"] = messages
    load.messages += len(messages) + 1


def _read_content(value: object, at: str, rules: CallRules, load: Load) -> None:
    if value is None or isinstance(value, str):
        return
    if not isinstance(value, list):
        raise BadRequestError(f"{at} must be a string or a list of blocks; it is {shown(value)}.", at)
    for index, item in enumerate(cast("list[object]", value)):
        place = f"{at}[{index}]"
        block = PARTS.read(item, place, rules, load)
        match block["type"]:
            case "tool_result" | "mcp_tool_result":
                _read_content(block.get("content"), f"{place}.content", rules, load)
            case "document":
                _read_document(block, place, rules, load)
            case "web_fetch_tool_result":
                page = mapping_of(block.get("content")).get("content")
                if page is not None:
                    _read_document(as_object(page, f"{place}.content.content"), f"{place}.content.content", rules, load)
            case _:
                pass


def _read_document(block: Tree, at: str, rules: CallRules, load: Load) -> None:
    source = as_object(block.get("source"), f"{at}.source")
    match source.get("type"):
        case "text":
            pass
        case "content":
            _read_content(source.get("content"), f"{at}.source.content", rules, load)
        case kind:
            # a page of a PDF is read as an image and as text, and nobody here counts pages
            if not rules.allow_field("messages", "document"):
                raise refusal("messages", "document", at=f"{at}.source (of type {shown(kind)})")


def _read_tools(body: Tree, rules: CallRules, load: Load) -> None:
    for index, item in enumerate(as_list(body.get("tools"), "tools")):
        at = f"tools[{index}]"
        tool = as_object(item, at)
        kind = read_kind(tool, at, "custom")
        own = next((tokens for glob, tokens in OWN_TOOLS.items() if fnmatchcase(kind, glob)), 0)
        if kind != "custom" and not own and not rules.allow_field("tools", kind):
            raise refusal("tools", kind, at=at)
        check_tool(tool, rules, at)
        load.tools += 1
        load.tool_tokens += own


def _check_edits(body: Tree, rules: CallRules) -> None:
    value = body.get("context_management")
    if value is None:
        return
    edits = as_list(as_object(value, "context_management").get("edits"), "context_management.edits")
    for index, item in enumerate(edits):
        at = f"context_management.edits[{index}]"
        kind = read_kind(as_object(item, at), at, "")
        if kind not in EDITS and not rules.allow_field("context_management", kind):
            raise refusal("context_management", kind, at=at)


def _clamp_thinking(body: Tree, limit: int) -> None:
    """Keep the budget of thinking inside the limit of the answer, where the API demands it to be."""
    value = body.get("thinking")
    if value is None:
        return
    thinking = as_object(value, "thinking")
    budget = thinking.get("budget_tokens")
    if budget is None:
        return
    if isinstance(budget, bool) or not isinstance(budget, int):
        raise BadRequestError(
            f"thinking.budget_tokens must be an integer; it is {shown(budget)}.", "thinking.budget_tokens"
        )
    if budget >= limit:
        room = limit - 1
        body["thinking"] = {**thinking, "budget_tokens": room} if room >= _LEAST_THINKING else {"type": "disabled"}
