"""OpenAI's embeddings."""

from collections.abc import Mapping
from typing import cast

from ekiden_budget.wire.call import BadRequestError, CallRules, ModelCall
from ekiden_budget.wire.fields import FieldTable, names, read_fallbacks, read_model, shown
from ekiden_budget.wire.weight import Load, weigh

FIELDS = FieldTable(
    passed=names("dimensions encoding_format input_type provider user"),
    limits=(),
    own=frozenset({"model", "input"}),
    dropped=frozenset({"client_metadata"}),
    checked={},
)


def read_embeddings(request: Mapping[str, object], rules: CallRules) -> ModelCall:
    """Read a request for embeddings.

    Raises:
        BadRequestError: It is malformed, or holds what is not passed on.
    """
    body = FIELDS.select(request, rules)
    model = read_model(body, rules)
    load = Load(messages=_count_inputs(body.get("input")))
    return ModelCall(
        dialect="embeddings",
        model=model,
        body=body,
        input_bound=weigh(body, load, rules.tokens_per_image),
        output_bound=0,
        fallback_models=read_fallbacks(body, rules),
    )


def _count_inputs(value: object) -> int:
    """Return how many texts are embedded: strings, or lists of token numbers."""
    if isinstance(value, str):
        return 1
    if isinstance(value, list) and value:
        items = cast("list[object]", value)
        if all(type(item) is int for item in items):
            return 1
        if all(isinstance(item, str) for item in items) or all(_is_tokens(item) for item in items):
            return len(items)
    told = shown(cast("object", value))
    raise BadRequestError(f"'input' must be a string, strings, or lists of token numbers; it is {told}.", "input")


def _is_tokens(value: object) -> bool:
    return isinstance(value, list) and all(type(item) is int for item in cast("list[object]", value))
