"""The answers to a client's opening questions, given from a rendered listing with the standard library alone."""

import json
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, cast

REVISION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"

Json = dict[str, Any]
_UNCLEAR = ""
"""A revision that no listing has."""


class Listing(NamedTuple):
    """What a server answers to the methods whose answers are fixed, by protocol revision.

    Attributes:
        handshake: Revisions that open with `initialize`, oldest first, to method to result.
        enveloped: Revisions whose every request carries the revision with it, to method to result.
    """

    handshake: dict[str, dict[str, Json]]
    enveloped: dict[str, dict[str, Json]]


class Desk:
    """Answers the opening questions of one conversation; whatever is unclear waits for the server."""

    def __init__(self, read_listing: Callable[[], Listing | None], tools_are_as_listed: Callable[[], bool]) -> None:
        """Open a desk.

        Args:
            read_listing: Gives the listing when the first question comes, or `None` when there is none.
            tools_are_as_listed: Tells, when first asked for the tools, whether the settings leave them as listed.
        """
        self._read_listing = read_listing
        self._compare_tools = tools_are_as_listed
        self._answers: dict[str, Json] | None = None
        self._revision: str | None = None
        self._closed = False

    def answer(self, line: bytes) -> tuple[int | str, bytes] | None:
        """Return the id of a request and the line that answers it, or `None` when it must wait for the server."""
        if self._closed or (request := _request(line)) is None:
            return None
        result = self._result(request["method"], request.get("params", {}))
        if result is None:
            return None
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        return request["id"], json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"

    def _result(self, method: str, params: Json) -> Json | None:
        revision = _enveloped_revision(params)
        if self._answers is None:
            listing = self._read_listing()
            self._answers = None if listing is None else _opened(listing, method, params, revision)
            self._revision = revision
            if self._answers is None:
                # The server decides what this request makes of the conversation: nothing may be answered from now on.
                self._closed = True
                return None
        elif method == "initialize" or revision != self._revision:
            return None
        if method == "tools/list" and (params.keys() - {"_meta"} or not self._tools_are_as_listed):
            return None
        return self._answers.get(method)

    @cached_property
    def _tools_are_as_listed(self) -> bool:
        return self._compare_tools()


def _opened(listing: Listing, method: str, params: Json, revision: str | None) -> dict[str, Json] | None:
    """Return the answers of the revision that a conversation's first request opens, or `None` when that is unclear."""
    if method == "initialize":
        asked = params.get("protocolVersion")
        introduced = _is_implementation(params.get("clientInfo")) and _is_capabilities(params.get("capabilities"))
        if not isinstance(asked, str) or not introduced:
            return None
        return listing.handshake.get(asked, [*listing.handshake.values()][-1])
    return listing.enveloped.get(revision) if revision is not None else None


def _enveloped_revision(params: Json) -> str | None:
    """Return the revision that a request carries with it, `None` when it carries none."""
    meta = params.get("_meta", {})
    if not isinstance(meta, dict):
        return _UNCLEAR
    envelope = cast("Json", meta)
    if REVISION_KEY not in envelope:
        return None
    client = envelope.get(CLIENT_KEY)
    well_formed = _is_capabilities(envelope.get(CAPABILITIES_KEY)) and (client is None or _is_implementation(client))
    revision = envelope[REVISION_KEY]
    return revision if well_formed and isinstance(revision, str) else _UNCLEAR


def _request(line: bytes) -> Json | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    request = cast("Json", message)
    is_request = (
        request.get("jsonrpc") == "2.0"
        and type(request.get("id")) in (int, str)
        and isinstance(request.get("method"), str)
        and isinstance(request.get("params", {}), dict)
    )
    return request if is_request else None


def _is_implementation(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    named = cast("Json", value)
    return isinstance(named.get("name"), str) and isinstance(named.get("version"), str)


def _is_capabilities(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(part, dict) for part in cast("Json", value).values())
