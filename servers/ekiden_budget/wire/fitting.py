"""A call as the upstream takes it that it goes to: OpenRouter has fields that others refuse or do not know."""

from dataclasses import replace
from typing import cast

from ekiden_budget.wire.call import ModelCall
from ekiden_budget.wire.fields import Tree, mapping_of, names

_ROUTING = names("models plugins provider route session_id trace transforms")
_OPENROUTERS = {
    "chat": _ROUTING | {"usage"},
    "responses": _ROUTING,
    "messages": _ROUTING | {"user"},
    "embeddings": _ROUTING,
}
_OPENROUTERS_REASONING = frozenset({"enabled", "exclude", "max_tokens"})


def fit_upstream(call: ModelCall, *, openrouter: bool) -> ModelCall:
    """Return a call without what its upstream does not know; its bounds stay, and hold.

    Args:
        call: The call.
        openrouter: Whether it goes to OpenRouter, which takes all as it is.
    """
    if openrouter:
        return call
    dropped = _OPENROUTERS[call.dialect]
    body = {name: value for name, value in call.body.items() if name not in dropped}
    if call.dialect == "chat":
        _name_effort(body)
    elif call.dialect == "responses":
        _trim_reasoning(body)
    models = call.body.get("models")
    gone = len(cast("list[object]", models)) if isinstance(models, list) else 0
    return replace(call, body=body, fallback_models=call.fallback_models[gone:])


def _name_effort(body: Tree) -> None:
    """Say how hard to think in the one field that others know; of two that say so, that one counts."""
    effort = mapping_of(body.pop("reasoning", None)).get("effort")
    if effort is not None and body.get("reasoning_effort") is None:
        body["reasoning_effort"] = effort


def _trim_reasoning(body: Tree) -> None:
    reasoning = mapping_of(body.get("reasoning"))
    if not _OPENROUTERS_REASONING.isdisjoint(reasoning):
        body["reasoning"] = {name: value for name, value in reasoning.items() if name not in _OPENROUTERS_REASONING}
        if not body["reasoning"]:
            del body["reasoning"]
