"""Sending a call to its upstream, again where surely nothing was billed, and never longer than bounded."""

import json
import math
import random
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import anyio
import httpx2

from ekiden_budget.errors import BudgetError
from ekiden_policies.budget import Outcome

if TYPE_CHECKING:
    from ekiden_config import BudgetSettings

RETRIED = frozenset({429, 503, 529})
"""Statuses after which a call is sent again. A gateway's 502 is none: the model behind it may have answered."""
REFUSED = frozenset({400, 401, 402, 403, 404, 405, 413, 415, 422, 429, 503, 529})
"""Statuses of an upstream that turned a call away before a model saw it."""
_AFTER_WORK = frozenset({"content_filter", "json_validate_failed", "output_parse_failed", "tool_use_failed"})
"""Codes of errors, some with status 400, that come when a model has read or answered: that is billed."""
FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 10.0
LARGEST_ANSWER = 64 * 1024 * 1024
_NOT_CONNECTED = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol)


class NoAnswerError(BudgetError):
    """A call that its upstream did not answer."""

    @classmethod
    def of(cls, error: Exception) -> "NoAnswerError":
        """Name what went wrong: its type, and its text if it has one."""
        text = str(error)
        return cls(f"upstream error: {type(error).__name__}: {text}" if text else f"upstream error: {_words(error)}")


def _words(error: Exception) -> str:
    quiet = isinstance(error, httpx2.TimeoutException | TimeoutError)
    return f"{type(error).__name__}: the upstream was silent for too long" if quiet else type(error).__name__


@dataclass(slots=True)
class Progress:
    """How far a call has come with its upstream: what it is billed as should it end here.

    Attributes:
        outcome: How it would be settled.
        detail: What the audit log says to that.
        attempts: How often it was sent.
    """

    outcome: Outcome = "unsent"
    detail: str = ""
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Sending:
    """What is sent, and where to."""

    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """The head of an answer.

    Attributes:
        response: Where the rest comes from.
        error: The body, if the status is no success; it is read already.
    """

    response: httpx2.Response
    error: bytes | None = None

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.response.status_code


class Forwarder:
    """The proxy's side of the upstreams: one client, whose connections are kept."""

    def __init__(self, settings: "BudgetSettings", transport: httpx2.AsyncBaseTransport | None = None) -> None:
        self._retries = settings.retries
        self._timeout = httpx2.Timeout(settings.upstream_timeout_s, connect=settings.connect_timeout_s)
        self._extensions = {"timeout": self._timeout.as_dict()}
        self._urls: dict[str, httpx2.URL] = {}
        limits = httpx2.Limits(max_connections=2 * settings.max_connections, max_keepalive_connections=64)
        self._far = httpx2.AsyncClient(transport=transport, limits=limits, timeout=self._timeout)
        self._near = None if transport else httpx2.AsyncHTTPTransport(limits=limits, trust_env=False)

    async def aclose(self) -> None:
        """Close every connection."""
        await self._far.aclose()
        if self._near is not None:
            await self._near.aclose()

    @asynccontextmanager
    async def exchange(self, sending: Sending, progress: Progress) -> AsyncGenerator[Reply]:
        """Send a call, and give the head of its answer; what is not read of the rest is dropped at the end.

        Raises:
            NoAnswerError: If there is no answer.
        """
        reply = await self._first_that_counts(sending, progress)
        try:
            yield reply
        finally:
            with anyio.CancelScope(shield=True):
                await reply.response.aclose()

    async def get(self, url: str, headers: dict[str, str], timeout_s: float) -> object:
        """Return the JSON at an address; None if there is none."""
        try:
            with anyio.fail_after(timeout_s):
                response = await self._send(httpx2.Request("GET", url, headers=_ALWAYS | headers))
                try:
                    return cast("object", json.loads(await read_whole(response))) if response.is_success else None
                finally:
                    with anyio.CancelScope(shield=True):
                        await response.aclose()
        except (httpx2.HTTPError, NoAnswerError, TimeoutError, ValueError, RecursionError):
            return None

    async def _first_that_counts(self, sending: Sending, progress: Progress) -> Reply:
        while True:
            progress.attempts += 1
            left = self._retries + 1 - progress.attempts
            try:
                reply = await self._send_once(sending, progress)
            except _NOT_CONNECTED as error:
                progress.outcome, progress.detail = "unsent", type(error).__name__
                if not left:
                    raise NoAnswerError.of(error) from error
                await anyio.sleep(_usual_pause(progress.attempts))
                continue
            except httpx2.HTTPError as error:
                progress.detail = f"{type(error).__name__}: {error}"
                raise NoAnswerError.of(error) from error
            if reply.error is None:
                return reply
            billed = tells_work(reply.error)
            progress.detail = f"HTTP {reply.status}"
            if reply.status in REFUSED and not billed:
                progress.outcome = "unsent"
            pause = _asked_pause(reply.response.headers, progress.attempts)
            if not left or billed or reply.status not in RETRIED or pause > LONGEST_PAUSE_S:
                return reply
            await anyio.sleep(pause)

    async def _send_once(self, sending: Sending, progress: Progress) -> Reply:
        url = self._urls.get(sending.url) or self._urls.setdefault(sending.url, httpx2.URL(sending.url))
        # made by hand, so that no cookie that an upstream set for one caller is sent for another
        request = httpx2.Request(
            "POST", url, headers=_ALWAYS | sending.headers, content=sending.body, extensions=self._extensions
        )
        progress.outcome, progress.detail = "failed", "cut short"
        response = await self._send(request)
        if response.is_success:
            return Reply(response)
        try:
            return Reply(response, await read_whole(response))
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request the way that suits its address: on this machine directly, whatever the environment says."""
        url = request.url
        if self._near is not None and url.scheme == "http" and url.host in _HERE:
            return await self._near.handle_async_request(request)
        return await self._far.send(request, stream=True)


_ALWAYS = {"accept-encoding": "identity", "user-agent": "ekiden"}
_HERE = frozenset({"127.0.0.1", "localhost", "::1"})


def pieces_of(response: httpx2.Response) -> AsyncIterable[bytes]:
    """Return the body of an answer as it comes, uncompressed."""
    stream = response.stream
    if "content-encoding" not in response.headers and isinstance(stream, httpx2.AsyncByteStream):
        return stream
    return response.aiter_bytes()


async def read_whole(response: httpx2.Response) -> bytes:
    """Read an answer, as far as it is of a size that an answer can have.

    Raises:
        NoAnswerError: If it breaks off, or is too large.
    """
    pieces: list[bytes] = []
    size = 0
    try:
        async for piece in pieces_of(response):
            size += len(piece)
            if size > LARGEST_ANSWER:
                raise NoAnswerError(f"upstream error: an answer of more than {LARGEST_ANSWER} bytes")
            pieces.append(piece)
    except httpx2.HTTPError as error:
        raise NoAnswerError.of(error) from error
    return b"".join(pieces)


def tells_work(body: bytes) -> bool:
    """Tell whether the body of an error holds a bill, or says that a model was at work before it failed."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        return False
    told = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    given = told.get("error")
    error = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    code = error.get("code")
    return bool(told.get("usage") or error.get("usage") or "failed_generation" in error) or (
        isinstance(code, str) and code in _AFTER_WORK
    )


def _usual_pause(attempt: int) -> float:
    return min(FIRST_PAUSE_S * 2 ** (attempt - 1), LONGEST_PAUSE_S) * random.uniform(0.75, 1)


def _asked_pause(headers: httpx2.Headers, attempt: int) -> float:
    """Return the seconds until the upstream wants to be asked again; those of a date are not counted."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            asked = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(asked) and asked >= 0:
            return asked
    return _usual_pause(attempt)
