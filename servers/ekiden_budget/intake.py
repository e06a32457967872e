"""Taking a request in: from whom, in how much time, how large, and whether it is JSON."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import cast
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers
from starlette.types import Message, Receive

from ekiden_budget.rejections import RejectionError

BODIES_BYTES = 64 * 1024 * 1024
"""What the bodies of all calls in flight may take together."""


class HungUpError(Exception):
    """The caller went away before its request was whole; there is nobody to answer."""


def check_host(headers: Headers) -> None:
    """Refuse a request that was meant for another host: a page in a browser can send those to loopback.

    Raises:
        RejectionError: If the host is not loopback.
    """
    host = headers.get("host")
    if host is not None and not _is_loopback(host):
        raise RejectionError(403, f"forbidden host: {host!r}; this proxy answers to 127.0.0.1 and localhost alone")


@lru_cache(maxsize=64)
def _is_loopback(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def shown_token(headers: Headers) -> str:
    """Return the token a caller shows, in either of the two places that client libraries put it.

    Raises:
        RejectionError: If there is none.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    token = headers.get("x-api-key", "").strip()
    if not token:
        raise RejectionError(401, "unauthorized: missing Authorization: Bearer", code="invalid_api_key")
    return token


@dataclass(slots=True)
class BodyRoom:
    """The room that bodies of calls in flight share, so that many large ones cannot fill the memory."""

    left: int = BODIES_BYTES

    @contextmanager
    def place(self) -> Generator["BodyPlace", None, None]:
        """Hold what is taken until the call is over."""
        place = BodyPlace(self)
        try:
            yield place
        finally:
            self.left += place.taken


@dataclass(slots=True)
class BodyPlace:
    """What one call takes of the room."""

    room: BodyRoom
    taken: int = 0

    def take(self, size: int) -> None:
        """Take more room.

        Raises:
            RejectionError: If there is not so much.
        """
        if size > self.room.left:
            raise RejectionError.crowded("too many large requests at once; try again in a moment")
        self.room.left -= size
        self.taken += size


async def read_body(headers: Headers, receive: Receive, place: BodyPlace, *, limit: int, deadline_s: float) -> bytes:
    """Read the body of a request.

    Raises:
        HungUpError: If the caller hangs up.
        RejectionError: If the body is empty, too large, or not there in time.
    """
    size_rule = RejectionError(413, f"request body must be 1..{limit} bytes", code="request_too_large")
    declared = headers.get("content-length")
    if declared is not None and not 1 <= int(declared) <= limit:
        raise size_rule
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise RejectionError(
            415, f"unsupported Content-Encoding: {headers['content-encoding']!r}; send the body as it is"
        )
    pieces: list[bytes] = []
    size = 0
    try:
        with anyio.fail_after(deadline_s):
            while True:
                message: Message = await receive()
                if message["type"] == "http.disconnect":
                    raise HungUpError
                piece: bytes = message.get("body", b"")
                size += len(piece)
                if size > limit:
                    raise size_rule
                place.take(len(piece))
                pieces.append(piece)
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        raise RejectionError(400, f"read failed: the body took longer than {deadline_s:g} s") from None
    if not size:
        raise size_rule
    return b"".join(pieces)


def read_object(body: bytes) -> Mapping[str, object]:
    """Read a JSON object.

    Raises:
        RejectionError: If it is none.
    """
    try:
        value: object = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RejectionError(400, f"invalid JSON body: {error}", code="invalid_json") from None
    if not isinstance(value, dict):
        raise RejectionError(400, "request body must be a JSON object", code="invalid_json")
    return cast("Mapping[str, object]", value)
