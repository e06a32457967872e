"""Errors in the shape that the clients of each wire format read."""

import json
from typing import Literal

from ekiden_budget.wire.call import Dialect

_OPENAI_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "insufficient_quota",
    403: "permission_error",
    404: "not_found_error",
    413: "invalid_request_error",
    429: "rate_limit_error",
}
_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def error_body(
    dialect: Dialect, status: int, message: str, code: str = "", *, param: str | None = None
) -> dict[str, object]:
    """Return the body of an answer that says why there is no other.

    In every dialect the message is at `error.message`.

    Args:
        dialect: The wire format.
        status: The answer's status.
        message: What went wrong, for a person.
        code: What went wrong, for a program.
        param: Where in the request the fault is.
    """
    if dialect == "messages":
        error: dict[str, object] = {"type": _ANTHROPIC_TYPES.get(status, "api_error"), "message": message}
        return {"type": "error", "error": error | ({"code": code} if code else {})}
    kind = _OPENAI_TYPES.get(status, "api_error")
    return {"error": {"message": message, "type": kind, "param": param or None, "code": code or None}}


def error_event(dialect: Literal["chat", "responses", "messages"], message: str, code: str = "") -> bytes:
    """Return the event that ends a stream whose answer cannot go on."""
    if dialect == "messages":
        body = error_body(dialect, 500, message, code)
        return b"event: error\ndata: " + json.dumps(body).encode() + b"\n\n"
    if dialect == "responses":
        failure = {"code": code or "server_error", "message": message}
        event = {"type": "response.failed", "response": {"status": "failed", "error": failure}}
        return b"event: response.failed\ndata: " + json.dumps(event).encode() + b"\n\n"
    return b"data: " + json.dumps(error_body(dialect, 500, message, code)).encode() + b"\n\n"
