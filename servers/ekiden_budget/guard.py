"""The front of the proxy's web server: how long a header may take, how many may be inside, and what is no HTTP.

uvicorn bounds neither the time nor the number by itself in a way that callers can tell from a broken network. Its
compiled parser is used: a call through it takes half a millisecond less. What that one lets pass is refused here.
"""

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Any

import httptools
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from ekiden_budget.answers import bare_answer, json_bytes, raw_headers, send_last_answer
from ekiden_budget.gathering import GatheredWrites

if TYPE_CHECKING:
    from ekiden_config import BudgetSettings

LARGEST_HEADER = 65_536
KEEP_ALIVE_S = 10  # longer than the official clients keep a connection, so that they never find one closed
LAST_BYTES_S = 2.0
"""How long a connection that ends may take to deliver what was written."""
MOST_AHEAD = 16
"""How many requests a connection may hold that are not answered; what is sent ahead beyond is dropped."""
CROWDED = "too many connections; try again in a moment"
_RETRY = {"retry-after": "1"}
_LOGGER = logging.getLogger("ekiden_budget.web")
_LOGGER.setLevel(logging.ERROR)  # what callers get wrong is answered, not logged


class GuardConfig(uvicorn.Config):
    """How the web server of a proxy runs.

    Attributes:
        header_deadline_s: Seconds from the first byte of a request, or from the opening of a connection, to the end of
            the header.
        max_connections: Callers that are served at once. As many again are told to come back; more are told so at once
            and cut.
    """

    def __init__(self, app: ASGIApp, settings: "BudgetSettings") -> None:
        self.header_deadline_s = settings.header_deadline_s
        self.max_connections = settings.max_connections
        super().__init__(
            app,  # pyright: ignore[reportArgumentType]  # uvicorn names the same shape in types of its own
            http=GuardedProtocol,
            interface="asgi3",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=1024,
            timeout_keep_alive=KEEP_ALIVE_S,
        )


class GuardedProtocol(HttpToolsProtocol):
    """One connection, under the limits of a `GuardConfig`."""

    config: GuardConfig

    def __init__(
        self,
        config: GuardConfig,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.logger = _LOGGER
        self._deadline: asyncio.TimerHandle | None = None
        self._begun = False  # whether a part of the next request has come
        self._unread = 0  # bytes of a header that is not whole yet
        self._deaf = False  # whether what else comes on this connection is dropped
        self._cycles: list[RequestResponseCycle] = []

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # as in uvicorn
        """Take a connection in, or turn it away."""
        super().connection_made(GatheredWrites(transport, self.loop))
        inside = len(self.connections)
        if inside > 2 * self.config.max_connections:
            self._end(bare_answer(503, CROWDED, _RETRY))
        elif inside > self.config.max_connections:
            self.app = _turn_away  # pyright: ignore[reportAttributeAccessIssue]  # the same shape under another name
        self._wait_for_header()

    def data_received(self, data: bytes) -> None:
        """Read on; the time for a header runs from its first byte to its last."""
        if self._deaf:
            return
        super().data_received(data)
        if self._unanswered:
            self._stop_waiting()
            return
        self._begun = True
        self._unread += len(data)
        if self._unread > LARGEST_HEADER:
            self._refuse(431, f"the header of the request has more than {LARGEST_HEADER} bytes")
        elif self._deadline is None:
            self._wait_for_header()

    def on_headers_complete(self) -> None:
        """Begin to answer, or wait until what was sent before is answered."""
        if len(self._unanswered) >= MOST_AHEAD:
            raise httptools.HttpParserError("too many requests were sent ahead")
        if sum(name == b"host" for name, _ in self.headers) != 1:
            raise httptools.HttpParserError("there must be one Host header")
        super().on_headers_complete()
        self._cycles = [*self._unanswered, self.cycle]

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, and tell all who are at work for it."""
        self._stop_waiting()
        for cycle in self._unanswered:
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, after what came before it, and end the connection."""
        self._deaf = True
        unanswered = self._unanswered
        if unanswered and not unanswered[-1].more_body:
            unanswered[-1].keep_alive = False
            return
        error = sys.exception()
        reason = str((error and error.__context__) or error or msg)
        text = "invalid Content-Length" if "Content-Length" in reason else f"invalid HTTP request: {reason}"
        for cycle in unanswered:
            cycle.disconnected = True
            cycle.message_event.set()
        begun = any(cycle.response_started for cycle in unanswered)
        self._end(b"" if begun else bare_answer(400, text))

    @property
    def _unanswered(self) -> "list[RequestResponseCycle]":
        """The requests whose header is there and whose answer is not whole, the oldest first."""
        return [cycle for cycle in self._cycles if not cycle.response_complete]

    def _wait_for_header(self) -> None:
        self._deadline = self.loop.call_later(self.config.header_deadline_s, self._cut)

    def _stop_waiting(self) -> None:
        self._begun, self._unread = False, 0
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _cut(self) -> None:
        limit = self.config.header_deadline_s
        self._end(bare_answer(408, f"the header of the request took longer than {limit:g} s") if self._begun else b"")

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection, also under a caller who never read the last answer."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(LAST_BYTES_S, self.transport.abort)

    def _refuse(self, status: int, reason: str) -> None:
        self._deaf = True
        self._end(bare_answer(status, reason))

    def _end(self, last: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(last)
            self.transport.close()
            self.loop.call_later(LAST_BYTES_S, self.transport.abort)


async def _turn_away(scope: Scope, receive: Receive, send: Send) -> None:
    headers = raw_headers({"content-type": "application/json", **_RETRY})
    await send_last_answer(receive, send, 503, headers, json_bytes({"error": {"message": CROWDED}}))
