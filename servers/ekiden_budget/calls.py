"""One call of a model, from the request to the last byte of its answer.

Its order is what keeps the budget: who pays, what is asked, what it can cost at most, reserve that, and only then send.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import anyio
from starlette.datastructures import Headers
from starlette.types import Receive, Send

from ekiden_budget.answers import RawHeaders, raw_headers, send_answer
from ekiden_budget.forwarding import Forwarder, NoAnswerError, Reply, Sending
from ekiden_budget.intake import BodyRoom, read_body, read_object
from ekiden_budget.metering import Caller, OpenCall, Till, budget_headers
from ekiden_budget.passage import (
    failure_in_words,
    headers_back,
    headers_upstream,
    passes,
    upstream_failure,
    without_key,
)
from ekiden_budget.records import CallLabel, TokenParts
from ekiden_budget.rejections import NO_RETRY, RejectionError
from ekiden_budget.streaming import StreamPassage
from ekiden_budget.upstreams import Upstream, choose_upstream
from ekiden_budget.wire import (
    BadRequestError,
    CallRules,
    Dialect,
    ModelCall,
    Usage,
    fit_upstream,
    read_call,
    read_usage,
)
from ekiden_policies.budget import Amount, Outcome

if TYPE_CHECKING:
    from ekiden_budget.prices import PriceList
    from ekiden_config import BudgetSettings

PURPOSE_HEADER = "x-ekiden-purpose"
"""What a caller says a call is for, such as a problem's id; it goes to the audit log."""
_PROMPT = ("input", "instructions", "messages", "system")
"""The fields of a request that are its prompt, in any dialect."""
_HIGHEST_TEMPERATURE = 100
"""A number above is none; upstreams refuse it."""


@dataclass(slots=True)
class Visit:
    """A request that is being answered.

    Attributes:
        body_read: Whether the connection can go on to its next request.
        answered: Whether an answer has begun.
    """

    headers: Headers
    receive: Receive
    send_message: Send
    path: str = ""
    query: bytes = b""
    http_version: str = "1.1"
    dialect: Dialect = "chat"
    body_read: bool = False
    answered: bool = False

    async def send(self, status: int, headers: RawHeaders, body: bytes) -> None:
        """Answer whole."""
        self.answered = True
        await send_answer(self.send_message, status, headers, body)


@dataclass(frozen=True, slots=True)
class _Priced:
    """A call, who answers it, the most it can cost, and what is sent."""

    call: ModelCall
    upstream: Upstream
    asked: Amount
    label: CallLabel
    sending: Sending


class CallDesk:
    """What answers the calls of models."""

    def __init__(
        self,
        till: Till,
        forwarder: Forwarder,
        upstreams: Sequence[Upstream],
        prices: "PriceList",
        settings: "BudgetSettings",
    ) -> None:
        self._till = till
        self._forwarder = forwarder
        self._upstreams = tuple(upstreams)
        self._prices = prices
        self._settings = settings
        self._rules = CallRules.from_settings(settings)
        self._room = BodyRoom()

    async def answer(self, visit: Visit, caller: Caller) -> None:
        """Answer a call.

        Raises:
            HungUpError: If nobody waits for an answer any more.
            RejectionError: If it is not let through, or its upstream fails.
        """
        with self._room.place() as place:
            body = await read_body(
                visit.headers,
                visit.receive,
                place,
                limit=self._settings.body_limit_bytes,
                deadline_s=self._settings.body_deadline_s,
            )
            visit.body_read = True
            priced = self._price(visit, body)
            del body  # what is sent holds it
            async with self._till.open_call(caller, priced.asked, priced.label) as call:
                try:
                    await self._forward(visit, priced, call)
                except RejectionError as rejection:
                    rejection.headers |= _budget_headers(call)
                    raise

    def _price(self, visit: Visit, body: bytes) -> _Priced:
        try:
            call = read_call(visit.dialect, read_object(body), self._rules)
        except BadRequestError as error:
            raise RejectionError(error.status, str(error), code="invalid_request_error") from error
        if call.stream and visit.http_version != "1.1":
            raise RejectionError(505, "a stream needs HTTP/1.1: ask for the answer in one piece")
        upstream = choose_upstream(self._upstreams, call.dialect, call.model)
        if upstream is None:
            raise RejectionError(
                400,
                f"no upstream serves the model {call.model!r} in the format {call.dialect!r}; "
                "ask for one of those that GET /v1/models lists",
                code="model_not_found",
            )
        call = fit_upstream(call, openrouter=upstream.is_openrouter)
        asked = Amount(call.reserved_tokens, self._prices.bound(call.model, call))
        purpose = visit.headers.get(PURPOSE_HEADER, "")
        sending, prompt = self._sending(visit, call, upstream)
        label = CallLabel(
            call.dialect, call.model, upstream.name, call.stream, purpose, prompt, _temperature(call.body)
        )
        # millions of small values take many times the memory of their text, for as long as a model takes
        return _Priced(replace(call, body={}), upstream, asked, label, sending)

    def _sending(self, visit: Visit, call: ModelCall, upstream: Upstream) -> tuple[Sending, str]:
        """Return what is sent, and the hash of the prompt in it."""
        try:
            body, prompt = _encoded(call.body)
        except ValueError as error:
            raise RejectionError(400, f"invalid JSON body: {error}", code="invalid_json") from error
        headers = upstream.headers(call.dialect) | headers_upstream(visit.headers, call.dialect, stream=call.stream)
        query = "?beta=true" if call.dialect == "messages" and visit.query == b"beta=true" else ""
        return Sending(upstream.url(call.dialect) + query, headers, body), prompt

    async def _forward(self, visit: Visit, priced: _Priced, call: OpenCall) -> None:
        try:
            with anyio.move_on_after(self._settings.upstream_timeout_s) as patience:
                async with self._forwarder.exchange(priced.sending, call.progress) as reply:
                    kind = reply.headers.get("content-type", "").lower()
                    if reply.error is None and priced.call.stream and kind.startswith("text/event-stream"):
                        patience.deadline = float("inf")  # from here on the client watches for silence
                        await self._pass_stream(visit, priced, reply, call)
                        return
                    if reply.error is None:
                        await self._pass_whole(visit, priced, reply, call)
                    else:
                        await self._pass_error(visit, priced, reply, call)
                return
        except NoAnswerError as error:
            detail = str(error).removeprefix("upstream error: ")
            await self._till.settle(call, call.progress.outcome, None, detail)
            headers = NO_RETRY if visit.dialect == "chat" else {}
            raise RejectionError(502, str(error), code="upstream_failed", headers=headers) from error
        if patience.cancelled_caught:
            call.progress.detail = "the upstream was silent for too long"
            await self._till.settle(call, call.progress.outcome, None, call.progress.detail)
            text = f"upstream error: TimeoutError: no answer within {self._settings.upstream_timeout_s:g} s"
            raise RejectionError(502, text, code="upstream_failed", headers=NO_RETRY if visit.dialect == "chat" else {})

    async def _pass_whole(self, visit: Visit, priced: _Priced, reply: Reply, call: OpenCall) -> None:
        body = await reply.read()
        usage = usage_in(priced.call.dialect, body)
        outcome = "answered" if usage else "unreadable"
        await self._till.settle(call, outcome, self.amount(priced.call, usage), parts=_parts(usage))
        await visit.send(reply.status, headers_back(reply.raw_headers, priced.upstream.key) + _told(call), body)

    async def _pass_error(self, visit: Visit, priced: _Priced, reply: Reply, call: OpenCall) -> None:
        body = reply.error or b""
        usage = usage_in(priced.call.dialect, body)
        outcome = "answered" if usage else call.progress.outcome
        told = failure_in_words(reply, priced.upstream.key)
        used = self.amount(priced.call, usage)
        await self._till.settle(call, outcome, used, " ".join(told.split()), parts=_parts(usage))
        if not passes(visit.dialect, reply.status):
            raise upstream_failure(reply, priced.upstream.key, billed=_billed(call).tokens > 0)
        text = without_key(body.decode("utf-8", "replace"), priced.upstream.key).encode()
        await visit.send(reply.status, headers_back(reply.raw_headers, priced.upstream.key) + _told(call), text)

    async def _pass_stream(self, visit: Visit, priced: _Priced, reply: Reply, call: OpenCall) -> None:
        told = budget_headers(call.reserved.balance, call.reserved.notices, None)
        headers = headers_back(reply.raw_headers, priced.upstream.key) + raw_headers(told)
        visit.answered = True

        async def settle(outcome: Outcome, usage: Usage | None, detail: str) -> None:
            await self._till.settle(call, outcome, self.amount(priced.call, usage), detail, parts=_parts(usage))

        passage = StreamPassage(priced.call, visit.receive, visit.send_message, settle, call.progress)
        await passage.carry(reply, headers)

    def amount(self, call: ModelCall, usage: Usage | None) -> Amount | None:
        """Return what a usage costs."""
        if usage is None:
            return None
        return Amount(usage.total_tokens, self._prices.cost(call.model, usage, call.fallback_models))


def usage_in(dialect: Dialect, body: bytes) -> Usage | None:
    """Return the usage that the body of an answer tells, if it does."""
    try:
        answer: object = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return read_usage(dialect, cast("dict[str, object]", answer)) if isinstance(answer, dict) else None


def _encoded(body: Mapping[str, object]) -> tuple[bytes, str]:
    """Return a request as JSON, and the hash of what it asks: not of how, so that samples of one prompt have one."""
    values = {name: json.dumps(value, allow_nan=False, separators=(",", ":")).encode() for name, value in body.items()}
    prompt = hashlib.sha256()
    pieces: list[bytes] = []
    for name, value in values.items():
        pieces += (b",", json.dumps(name).encode(), b":", value)
    for name in _PROMPT:
        prompt.update(name.encode())
        prompt.update(values.get(name, b""))
    return b"".join((b"{", *pieces[1:], b"}")), prompt.hexdigest()


def _temperature(body: Mapping[str, object]) -> float | None:
    value = body.get("temperature")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= _HIGHEST_TEMPERATURE else None


def _parts(usage: Usage | None) -> TokenParts | None:
    if usage is None or not usage.is_split:
        return None
    return TokenParts(usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.reasoning_tokens)


def _billed(call: OpenCall) -> Amount:
    assert call.receipt is not None, "a call is settled before it is answered"
    return call.receipt.settled.billed


def _budget_headers(call: OpenCall) -> dict[str, str]:
    assert call.receipt is not None, "a call is settled before it is answered"
    return budget_headers(call.receipt.balance, call.reserved.notices, _billed(call))


def _told(call: OpenCall) -> RawHeaders:
    return raw_headers(_budget_headers(call))
