"""How many tokens a request can be at most.

A tokenizer that works on bytes makes no more tokens than there are bytes of text, so the bytes of the whole request
bound its tokens without knowing the model. What an upstream adds of its own (turns, the text that introduces tools)
is covered by constants above what is known of any.
"""

from dataclasses import dataclass
from typing import cast

from ekiden_budget.wire.call import BadRequestError, encode

CALL_TOKENS = 128
MESSAGE_TOKENS = 16
TOOLS_TOKENS = 1024
"""The text that tells a model how to call tools, added once when there are any."""
MAX_DEPTH = 128


@dataclass(slots=True)
class Load:
    """What a request holds besides its bytes.

    Attributes:
        messages: Messages and items.
        tools: Tools whose definition is in the request.
        tool_tokens: Tokens of tools whose definition is the upstream's own.
        images: Images.
        image_bytes: Bytes of the request that are pictures, not text.
    """

    messages: int = 0
    tools: int = 0
    tool_tokens: int = 0
    images: int = 0
    image_bytes: int = 0


def weigh(body: dict[str, object], load: Load, tokens_per_image: int) -> int:
    """Return more tokens than a request can have.

    Raises:
        BadRequestError: It cannot be written as JSON.
    """
    size = size_of(body) - load.image_bytes + load.images * tokens_per_image
    size += CALL_TOKENS + MESSAGE_TOKENS * (load.messages + load.tools) + load.tool_tokens
    return size + TOOLS_TOKENS if load.tools or load.tool_tokens else size


def size_of(value: object) -> int:
    """Return how many bytes a JSON value is.

    Raises:
        BadRequestError: It cannot be written as JSON.
    """
    try:
        return len(encode(value))
    except UnicodeEncodeError as error:
        raise BadRequestError("The request holds a lone surrogate, which no text can hold; remove it.") from error
    except ValueError as error:
        raise BadRequestError(
            "The request holds a number that JSON cannot hold (NaN, infinite, or thousands of digits); remove it."
        ) from error


def require_shallow(value: dict[str, object]) -> None:
    """Refuse what other programs could not read without running out of stack.

    Raises:
        BadRequestError: Brackets are nested more than `MAX_DEPTH` deep.
    """
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in cast("list[object]", outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
        if not level:
            return
    raise BadRequestError(f"The request is nested more than {MAX_DEPTH} brackets deep; flatten it.")
