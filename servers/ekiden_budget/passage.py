"""Which headers pass the proxy, and what of an upstream's error does."""

import json
import re
from collections.abc import Sequence
from typing import cast

from starlette.datastructures import Headers

from ekiden_budget.answers import RawHeaders
from ekiden_budget.forwarding import REFUSED, RETRIED, Reply
from ekiden_budget.rejections import NO_RETRY, RejectionError
from ekiden_budget.wire import Dialect

_KEPT_BACK = frozenset(
    {
        "alt-svc",
        "connection",
        "content-encoding",
        "content-length",
        "date",
        "keep-alive",
        "location",
        "nel",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "report-to",
        "server",
        "set-cookie",
        "strict-transport-security",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_ABOUT_THE_OWNER = ("organization", "project", "workspace")
_OURS = ("x-marathon-", "x-ekiden-")
_OWNERS_TROUBLE = {
    401: "the upstream refused the key of whoever runs the budget",
    402: "the upstream wants whoever runs the budget to pay first",
    403: "the upstream does not let the key of whoever runs the budget do this",
    407: "a proxy on the way to the upstream wants to know who asks",
}
_DEAR_BETAS = ("context-1m", "fast-mode")
"""Anthropic's features that cost more than the list price of a token."""
LONGEST_REASON = 500
_UNPRINTABLE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""What no header may hold that is sent on."""


def headers_upstream(asked: Headers, dialect: Dialect, *, stream: bool) -> dict[str, str]:
    """Return what a call says besides its body and its key.

    Raises:
        RejectionError: A header holds what cannot stand in one.
    """
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream" if stream else "application/json",
    }
    if dialect == "messages":
        for name in ("anthropic-version", "anthropic-beta"):
            if not all(value.isascii() and value.isprintable() for value in asked.getlist(name)):
                raise RejectionError(400, f"the header {name!r} must be printable ASCII", code="invalid_request_error")
        headers["anthropic-version"] = asked.get("anthropic-version", "2023-06-01")
        betas = [beta.strip() for value in asked.getlist("anthropic-beta") for beta in value.split(",")]
        if passed := [beta for beta in betas if beta and not beta.startswith(_DEAR_BETAS)]:
            headers["anthropic-beta"] = ",".join(passed)
    return headers


def headers_back(headers: Sequence[tuple[bytes, bytes]], key: str) -> RawHeaders:
    """Return the headers of an answer that its caller may see: not those of the connection, nor those of the owner.

    Args:
        headers: The headers as they came.
        key: The upstream's key, which none may hold.
    """
    given = [(name.decode("latin-1").lower(), value.strip()) for name, value in headers]
    named = b",".join(value for name, value in given if name == "connection").decode("latin-1").lower()
    dropped = {name.strip() for name in named.split(",")} | _KEPT_BACK
    secret = key.encode()
    return [
        (name.encode("latin-1"), value)
        for name, value in given
        if name not in dropped
        and not name.startswith(_OURS)
        and not any(word in name for word in _ABOUT_THE_OWNER)
        and not _UNPRINTABLE.search(value)
        and not (secret and secret in value)
    ]


def passes(dialect: Dialect, status: int) -> bool:
    """Tell whether an upstream's error goes to the caller as it is.

    The chat format keeps the promise of the marathon track: whatever went wrong upstream is a 502. Callers of the other
    formats decide by the upstream's own status whether to ask again. What only concerns the owner's account stays here
    in every format: an agent would read a 401 as its own.
    """
    return dialect != "chat" and 400 <= status < 600 and status not in _OWNERS_TROUBLE


def upstream_failure(reply: Reply, key: str, *, billed: bool) -> RejectionError:
    """Return the error that stands for one of an upstream."""
    status = reply.status
    headers: dict[str, str] = {"x-ekiden-upstream-status": str(status)}
    if billed or status not in RETRIED:
        # Sent again by the client, the call would be billed again, or turned away for the same reason.
        headers |= NO_RETRY
    elif "retry-after" in reply.headers:
        headers["retry-after"] = reply.headers["retry-after"]
    code = "upstream_refused" if status in REFUSED else "upstream_failed"
    return RejectionError(502, f"upstream error: {failure_in_words(reply, key)}", code=code, headers=headers)


def failure_in_words(reply: Reply, key: str) -> str:
    """Return the status of an upstream's error, and what it says to it."""
    reason = _OWNERS_TROUBLE.get(reply.status) or _reason(
        without_key((reply.error or b"").decode("utf-8", "replace"), key)
    )
    return f"HTTP {reply.status}: {reason}" if reason else f"HTTP {reply.status}"


def without_key(text: str, key: str) -> str:
    """Return a text with the upstream's key struck out, should an upstream repeat it."""
    return text.replace(key, "***") if key else text


def _reason(text: str) -> str:
    """Return what the body of an error says went wrong."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()[:LONGEST_REASON]
    while isinstance(value, dict):
        told = cast("dict[str, object]", value)
        value = told.get("error", told.get("message", told.get("detail")))
        if value is None:
            return text[:LONGEST_REASON]
    return (value if isinstance(value, str) else text)[:LONGEST_REASON]
