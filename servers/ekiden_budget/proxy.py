"""The proxy as a web application: its addresses, who may use them, and what each answers."""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import anyio
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from ekiden_budget.answers import json_bytes, raw_headers, send_answer, send_last_answer
from ekiden_budget.calls import CallDesk, Visit
from ekiden_budget.catalogue import Catalogue
from ekiden_budget.counting import TokenCounter
from ekiden_budget.errors import BudgetError, LedgerBusyError
from ekiden_budget.forwarding import Forwarder
from ekiden_budget.intake import HungUpError, check_host, shown_token
from ekiden_budget.metering import Caller, Till
from ekiden_budget.models import BudgetReport
from ekiden_budget.rejections import NO_RETRY, RejectionError
from ekiden_budget.upstreams import Upstream
from ekiden_budget.wire import CallRules, Dialect, error_body

if TYPE_CHECKING:
    from ekiden_budget.prices import PriceList
    from ekiden_config import BudgetSettings

_LOGGER = logging.getLogger(__name__)
_JSON = {"content-type": "application/json"}
_CALLS: dict[str, Dialect] = {
    "/chat/completions": "chat",
    "/responses": "responses",
    "/messages": "messages",
    "/embeddings": "embeddings",
}
_COUNT = "/messages/count_tokens"
_READS = frozenset({"/models", "/budget"})
HEALTH = "/healthz"
CLOSING = "the proxy is closing; the call was cut short and is billed"


class ProxyApp:
    """The proxy, for any ASGI server."""

    def __init__(
        self,
        till: Till,
        forwarder: Forwarder,
        upstreams: Sequence[Upstream],
        prices: "PriceList",
        settings: "BudgetSettings",
    ) -> None:
        self._till = till
        self._desk = CallDesk(till, forwarder, upstreams, prices, settings)
        self._counter = TokenCounter(till, forwarder, upstreams, settings)
        self._catalogue = Catalogue(forwarder, upstreams, CallRules.from_settings(settings))
        self._most_at_once = 2 * settings.max_connections
        self._visits: set[anyio.CancelScope] = set()
        self._last_left = anyio.Event()
        self._closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        visit = Visit(Headers(scope=scope), receive, send, scope["path"], scope["query_string"], scope["http_version"])
        with anyio.CancelScope() as stay:
            self._visits.add(stay)
            try:
                await self._serve(visit, scope["method"])
            finally:
                self._visits.discard(stay)
                if not self._visits:
                    self._last_left.set()
        if stay.cancelled_caught and not visit.answered:
            await self._reject(visit, RejectionError(503, CLOSING, code="overloaded", headers=NO_RETRY))

    async def drain(self, seconds: float) -> None:
        """Let nobody in any more and the calls in flight end by themselves; then end them.

        Those that are ended are billed at what was reserved for them.
        """
        self._closing = True
        with anyio.move_on_after(seconds):
            while self._visits:
                self._last_left = anyio.Event()
                await self._last_left.wait()
        for stay in self._visits:
            stay.cancel()

    async def _serve(self, visit: Visit, method: str) -> None:
        try:
            check_host(visit.headers)
            if self._closing:
                raise RejectionError(503, "the proxy is closing", code="overloaded", headers=NO_RETRY)
            if len(self._visits) > self._most_at_once:
                raise RejectionError.crowded("too many calls at once; try again in a moment")
            await self._route(visit, method)
        except HungUpError:
            return
        except RejectionError as rejection:
            await self._reject(visit, rejection)
        except LedgerBusyError as error:
            await self._reject(visit, RejectionError.crowded(str(error)))
        except BudgetError:
            # Without the ledger nothing is let through; what is wrong with it is for whoever runs it.
            _LOGGER.exception("answering a call")
            await self._reject(visit, RejectionError(503, "the budget cannot be read now", code="ledger_unavailable"))

    async def _route(self, visit: Visit, method: str) -> None:
        path = visit.path.removeprefix("/v1")
        if method not in {"GET", "POST"}:
            raise _wrong_method(method, "GET, POST")
        if path == HEALTH and method == "GET":
            await self._send_json(visit, {"status": "ok"})
            return
        visit.dialect = "messages" if path == _COUNT else _CALLS.get(path, "chat")
        caller = await self._till.caller(shown_token(visit.headers))
        if path in _CALLS or path == _COUNT:
            if method != "POST":
                raise _wrong_method(method, "POST")
            await (self._counter if path == _COUNT else self._desk).answer(visit, caller)
        elif path in _READS:
            if method != "GET":
                raise _wrong_method(method, "GET")
            await self._read(visit, path, caller)
        else:
            raise RejectionError(404, f"unsupported endpoint: {visit.path}", code="not_found")

    async def _read(self, visit: Visit, path: str, caller: Caller) -> None:
        status = await self._till.status(caller)
        if path == "/budget":
            await visit.send(200, raw_headers(_JSON), BudgetReport.of_status(status).model_dump_json().encode())
            return
        left = status.left
        may_ask = not status.closed and 0 not in {left.tokens, left.nanodollars, left.seconds}
        await self._send_json(visit, await self._catalogue.body(may_ask=may_ask))

    async def _send_json(self, visit: Visit, body: dict[str, object]) -> None:
        await visit.send(200, raw_headers(_JSON), json_bytes(body))

    async def _reject(self, visit: Visit, rejection: RejectionError) -> None:
        told = error_body(visit.dialect, rejection.status, str(rejection), rejection.code)
        error = told.get("error")
        if rejection.kind and isinstance(error, dict):
            told["error"] = {**cast("dict[str, object]", error), "type": rejection.kind}
        body = json_bytes(told)
        headers = raw_headers(_JSON | rejection.headers)
        visit.answered = True
        if visit.body_read or not _has_body(visit.headers):
            await send_answer(visit.send_message, rejection.status, headers, body)
        else:
            await send_last_answer(visit.receive, visit.send_message, rejection.status, headers, body)


def _has_body(headers: Headers) -> bool:
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def _wrong_method(method: str, allowed: str) -> RejectionError:
    return RejectionError(405, f"unsupported method: {method}; use {allowed}", headers={"allow": allowed})
