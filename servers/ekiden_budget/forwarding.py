"""Sending a call to its upstream, again where surely nothing was billed, and never longer than bounded."""

import io
import json
import math
import random
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import anyio

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
_NOT_CONNECTED = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
    aiohttp.NonHttpUrlClientError,
    aiohttp.ServerFingerprintMismatch,
)
_LARGE_BODY = 1024 * 1024
_LONGEST_LINE = 65_536


class NoAnswerError(BudgetError):
    """A call that its upstream did not answer."""

    @classmethod
    def of(cls, error: Exception) -> "NoAnswerError":
        """Name what went wrong: its type, and its text if it has one."""
        return cls(f"upstream error: {_words(error)}")


def _words(error: Exception) -> str:
    kind, text = type(error).__name__, str(error)
    if isinstance(error, TimeoutError):
        text = "the upstream was silent for too long"
    return f"{kind}: {text}" if text else kind


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
    """An answer whose head is there.

    Attributes:
        error: The body, if the status is no success; it is read already.
    """

    _response: aiohttp.ClientResponse
    error: bytes | None = None

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The header, by names of any case."""
        return self._response.headers

    @property
    def raw_headers(self) -> Sequence[tuple[bytes, bytes]]:
        """The header as it came."""
        return self._response.raw_headers

    async def next_piece(self) -> bytes:
        """Return what has come of the body since, uncompressed; empty at its end.

        Raises:
            NoAnswerError: If it breaks off.
        """
        try:
            return await self._response.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise NoAnswerError.of(error) from error

    async def read(self) -> bytes:
        """Read the body, as far as it is of a size that an answer can have.

        Raises:
            NoAnswerError: If it breaks off, or is too large.
        """
        pieces: list[bytes] = []
        size = 0
        while piece := await self.next_piece():
            size += len(piece)
            if size > LARGEST_ANSWER:
                raise NoAnswerError(f"upstream error: an answer of more than {LARGEST_ANSWER} bytes")
            pieces.append(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Drop what was not read, and with it the upstream's work."""
        self._response.close()


class Forwarder:
    """The proxy's side of the upstreams: one client, whose connections are kept; made where an event loop runs.

    It is aiohttp's, whose parser is compiled: the proxy adds a third less to a call than with httpx's.
    """

    def __init__(self, settings: "BudgetSettings") -> None:
        self._retries = settings.retries
        self._proxies: dict[str, str | None] = {}  # address to the way there
        connect, silence = settings.connect_timeout_s, settings.upstream_timeout_s
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=2 * settings.max_connections),
            cookie_jar=aiohttp.DummyCookieJar(),  # one that an upstream set for one caller is not for another
            timeout=aiohttp.ClientTimeout(connect=connect, sock_connect=connect, sock_read=silence),
            max_line_size=_LONGEST_LINE,
            max_field_size=_LONGEST_LINE,
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._client.close()

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
            reply.close()

    async def get(self, url: str, headers: dict[str, str], timeout_s: float) -> object:
        """Return the JSON at an address; None if there is none."""
        try:
            with anyio.fail_after(timeout_s):
                reply = await self._send("GET", url, headers)
                try:
                    return None if reply.error is not None else cast("object", json.loads(await reply.read()))
                finally:
                    reply.close()
        except (aiohttp.ClientError, NoAnswerError, OSError, ValueError, RecursionError):
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
            except (aiohttp.ClientError, OSError) as error:
                progress.detail = f"{type(error).__name__}: {error}"
                raise NoAnswerError.of(error) from error
            if reply.error is None:
                return reply
            billed = tells_work(reply.error)
            progress.detail = f"HTTP {reply.status}"
            if reply.status in REFUSED and not billed:
                progress.outcome = "unsent"
            pause = _asked_pause(reply.headers, progress.attempts)
            if not left or billed or reply.status not in RETRIED or pause > LONGEST_PAUSE_S:
                return reply
            await anyio.sleep(pause)

    async def _send_once(self, sending: Sending, progress: Progress) -> Reply:
        progress.outcome, progress.detail = "failed", "cut short"
        return await self._send("POST", sending.url, sending.headers, sending.body)

    async def _send(self, method: str, url: str, headers: dict[str, str], body: bytes | None = None) -> Reply:
        if url not in self._proxies:
            self._proxies[url] = proxy_for(url)
        data = io.BytesIO(body) if body and len(body) > _LARGE_BODY else body  # large ones are sent piece by piece
        response = await self._client.request(
            method, url, data=data, headers=_ALWAYS | headers, allow_redirects=False, proxy=self._proxies[url]
        )
        if 200 <= response.status < 300:
            return Reply(response)
        try:
            return Reply(response, await Reply(response).read())
        finally:
            response.close()


_ALWAYS = {"accept-encoding": "identity", "user-agent": "ekiden"}
_HERE = frozenset({"127.0.0.1", "localhost", "::1"})


def proxy_for(url: str) -> str | None:
    """Return the HTTP proxy that the environment names for an address; those on this machine are reached directly.

    Raises:
        aiohttp.InvalidURL: It is a proxy of another kind.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxy = None if host in _HERE or proxy_bypass(host) else getproxies().get(parts.scheme)
    if not proxy:
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        raise aiohttp.InvalidURL(
            urlsplit(proxy).hostname or "", "the proxy that the environment names is no HTTP proxy"
        )
    return proxy


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


def _asked_pause(headers: Mapping[str, str], attempt: int) -> float:
    """Return the seconds until the upstream wants to be asked again; those of a date are not counted."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            asked = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        if math.isfinite(asked) and asked >= 0:
            return asked
    return _usual_pause(attempt)
