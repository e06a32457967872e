"""Reading a request in any of the wire formats."""

from collections.abc import Mapping
from typing import assert_never

from ekiden_budget.wire.call import CallRules, Dialect, ModelCall
from ekiden_budget.wire.chat import read_chat
from ekiden_budget.wire.embeddings import read_embeddings
from ekiden_budget.wire.messages import read_messages
from ekiden_budget.wire.responses import read_responses
from ekiden_budget.wire.weight import require_shallow


def read_call(dialect: Dialect, body: Mapping[str, object], rules: CallRules) -> ModelCall:
    """Turn what a caller sent into what may be sent on, and bound what that can cost.

    The request is not changed; what is sent shares its parts.

    Args:
        dialect: The wire format, known from the address.
        body: The request, as `json.loads` returns it.
        rules: What callers may ask for.

    Raises:
        BadRequestError: The request is malformed, or holds what is not passed on; the only exception.
    """
    require_shallow(dict(body))
    match dialect:
        case "chat":
            return read_chat(body, rules)
        case "responses":
            return read_responses(body, rules)
        case "messages":
            return read_messages(body, rules)
        case "embeddings":
            return read_embeddings(body, rules)
        case _:
            assert_never(dialect)
