"""OpenAI's Chat Completions, with what OpenRouter and DeepSeek add to them."""

import re
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
    read_count,
    read_fallbacks,
    read_flag,
    read_kind,
    read_model,
    refusal,
    shown,
)
from ekiden_budget.wire.parts import PartTable, count_image
from ekiden_budget.wire.weight import Load, size_of, weigh

_LIMITS = ("max_tokens", "max_completion_tokens")

FIELDS = FieldTable(
    # OpenAI's, then OpenRouter's, some of which other servers know too, then DeepSeek's
    passed=names(
        "frequency_penalty function_call logit_bias logprobs metadata parallel_tool_calls presence_penalty "
        "prompt_cache_key prompt_cache_options prompt_cache_retention reasoning_effort response_format "
        "safety_identifier seed stop temperature tool_choice top_logprobs top_p user verbosity "
        "include_reasoning min_p provider repetition_penalty structured_outputs top_a top_k trace "
        "transforms usage session_id "
        "thinking"
    ),
    limits=_LIMITS,
    own=names("model messages models functions tools n best_of prediction reasoning store stream stream_options"),
    dropped=frozenset({"client_metadata"}),
    checked={
        "modalities": only("modalities", [["text"]]),
        "plugins": nothing_in("plugins"),
        "route": only("route", ["fallback"]),
        "service_tier": only("service_tier", ORDINARY_TIERS),
    },
)
PARTS = PartTable("messages", {"text": "text", "refusal": "refusal"}, frozenset(), "image_url")
TOOLS = frozenset({"function", "custom"})

# Their models take no max_tokens; other servers know no other name.
_NEW_LIMIT = re.compile(r"(^|/)(o\d|gpt-[5-9])")


def read_chat(request: Mapping[str, object], rules: CallRules) -> ModelCall:
    """Read a request for a chat completion.

    Raises:
        BadRequestError: It is malformed, or holds what is not passed on.
    """
    body = FIELDS.select(request, rules)
    model = read_model(body, rules)
    fallbacks = read_fallbacks(body, rules)
    load = Load()
    body["messages"] = _read_messages(body.get("messages"), rules, load)
    _read_tools(body, rules, load)
    limit = _clamp_limits(body, model, rules)
    choices = max(read_count(body, "n"), read_count(body, "best_of"))
    # a prediction that did not come true is billed as if it had been written
    extra = size_of(body["prediction"]) if body.get("prediction") is not None else 0
    _clamp_reasoning(body, limit)
    if "store" in body:
        body["store"] = False
    stream = read_flag(body, "stream")
    adds_usage = _ask_for_usage(body) if stream else False
    if not stream:
        body.pop("stream_options", None)
    return ModelCall(
        dialect="chat",
        model=model,
        body=body,
        input_bound=weigh(body, load, rules.tokens_per_image),
        output_bound=choices * (limit + extra),
        stream=stream,
        adds_usage_event=adds_usage,
        fallback_models=fallbacks,
    )


def _read_messages(value: object, rules: CallRules, load: Load) -> list[object]:
    messages = as_list(value, "messages")
    for index, item in enumerate(messages):
        at = f"messages[{index}]"
        message = as_object(item, at)
        if message.get("audio") is not None and not rules.allow_field("messages", "audio"):
            raise refusal("messages", "audio", at=at)
        # as OpenRouter answers with pictures, and as some servers take them; their bytes count as text as well
        for place in range(len(as_list(message.get("images"), f"{at}.images"))):
            count_image(f"{at}.images[{place}]", rules, load)
        content = message.get("content")
        if isinstance(content, list):
            for place, part in enumerate(cast("list[object]", content)):
                PARTS.read(part, f"{at}.content[{place}]", rules, load)
        elif content is not None and not isinstance(content, str):
            raise BadRequestError(
                f"{at}.content must be null, a string or a list of parts; it is {shown(content)}.", f"{at}.content"
            )
    load.messages += len(messages)
    return messages


def _read_tools(body: Tree, rules: CallRules, load: Load) -> None:
    tools = as_list(body.get("tools"), "tools")
    for index, item in enumerate(tools):
        at = f"tools[{index}]"
        tool = as_object(item, at)
        kind = read_kind(tool, at, "function")
        if kind not in TOOLS and not rules.allow_field("tools", kind):
            raise refusal("tools", kind, at=at)
        check_tool(tool, rules, at)
    load.tools += len(tools) + len(as_list(body.get("functions"), "functions"))


def _clamp_limits(body: Tree, model: str, rules: CallRules) -> int:
    """Bound the output by the lowest limit that is named, under the one name that the model knows; return it.

    Some servers ignore the name that they do not know: DeepSeek knows no `max_completion_tokens`.
    """
    named = [value for name in _LIMITS if (value := body.pop(name, None)) is not None]
    limit = min(clamp(value, rules.default_output_tokens, rules.max_output_tokens) for value in named or [None])
    body["max_completion_tokens" if _NEW_LIMIT.search(model) else "max_tokens"] = limit
    return limit


def _clamp_reasoning(body: Tree, limit: int) -> None:
    if body.get("reasoning") is None:
        return
    reasoning = as_object(body["reasoning"], "reasoning")
    if reasoning.get("max_tokens") is not None:
        body["reasoning"] = {**reasoning, "max_tokens": clamp(reasoning["max_tokens"], limit, limit)}


def _ask_for_usage(body: Tree) -> bool:
    """Have the stream end with its usage; return whether the caller had not asked for that."""
    value = body.get("stream_options")
    options = {} if value is None else as_object(value, "stream_options")
    asked = read_flag(options, "include_usage")
    body["stream_options"] = {**options, "include_usage": True}
    return not asked
