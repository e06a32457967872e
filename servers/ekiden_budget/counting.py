"""Counting the tokens of a message before it is sent: free where it is answered, and so without a bill here."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio

from ekiden_budget.answers import RawHeaders
from ekiden_budget.calls import Visit
from ekiden_budget.forwarding import Forwarder, NoAnswerError, Progress, Sending
from ekiden_budget.intake import BodyRoom, read_body, read_object
from ekiden_budget.metering import Caller, Till
from ekiden_budget.passage import headers_back, headers_upstream, passes, upstream_failure, without_key
from ekiden_budget.records import BudgetStatus
from ekiden_budget.rejections import RejectionError
from ekiden_budget.upstreams import Upstream, choose_upstream
from ekiden_budget.wire import BadRequestError, CallRules, fit_upstream, read_call
from ekiden_policies.budget import Limit

if TYPE_CHECKING:
    from ekiden_config import BudgetSettings

_COUNTED = frozenset(
    {
        "cache_control",
        "context_management",
        "mcp_servers",
        "messages",
        "model",
        "output_config",
        "output_format",
        "system",
        "thinking",
        "tool_choice",
        "tools",
    }
)
_BODIES_BYTES = 16 * 1024 * 1024


class TokenCounter:
    """What has upstreams count tokens, for holders of a budget that is open and not used up."""

    def __init__(
        self, till: Till, forwarder: Forwarder, upstreams: Sequence[Upstream], settings: "BudgetSettings"
    ) -> None:
        self._till = till
        self._forwarder = forwarder
        self._upstreams = tuple(upstreams)
        self._settings = settings
        self._rules = CallRules.from_settings(settings)
        self._room = BodyRoom(_BODIES_BYTES)

    async def answer(self, visit: Visit, caller: Caller) -> None:
        """Answer how many tokens a message has.

        Raises:
            HungUpError: If nobody waits for an answer any more.
            RejectionError: If the request may not be sent, the budget lets no call through, or the upstream fails.
        """
        settings = self._settings
        with self._room.place() as place:
            body = await read_body(
                visit.headers,
                visit.receive,
                place,
                limit=settings.body_limit_bytes,
                deadline_s=settings.body_deadline_s,
            )
            visit.body_read = True
            upstream, sending = self._sending(visit, body)
            status = await self._till.status(caller)
            if (limit := _spent(status)) is not None:
                raise RejectionError.spent(limit, status.name)
            try:
                with anyio.fail_after(settings.upstream_timeout_s):
                    answer = await self._ask(upstream, sending)
            except (NoAnswerError, TimeoutError) as error:
                text = str(error) or f"upstream error: TimeoutError: no answer within {settings.upstream_timeout_s:g} s"
                raise RejectionError(502, text, code="upstream_failed") from error
            await visit.send(*answer)

    def _sending(self, visit: Visit, body: bytes) -> tuple[Upstream, Sending]:
        asked = {**read_object(body), "max_tokens": self._rules.max_output_tokens, "stream": False}
        try:
            call = read_call("messages", asked, self._rules)
        except BadRequestError as error:
            raise RejectionError(error.status, str(error), code="invalid_request_error") from error
        upstream = choose_upstream(self._upstreams, "messages", call.model)
        if upstream is None:
            text = f"no upstream counts the tokens of the model {call.model!r}; ask for one that GET /v1/models lists"
            raise RejectionError(400, text, code="model_not_found")
        fitting = fit_upstream(call, openrouter=upstream.is_openrouter).body
        counted = {name: value for name, value in fitting.items() if name in _COUNTED}
        headers = upstream.headers("messages") | headers_upstream(visit.headers, "messages", stream=False)
        query = "?beta=true" if visit.query == b"beta=true" else ""
        return upstream, Sending(
            f"{upstream.url('messages')}/count_tokens{query}", headers, json.dumps(counted).encode()
        )

    async def _ask(self, upstream: Upstream, sending: Sending) -> tuple[int, RawHeaders, bytes]:
        async with self._forwarder.exchange(sending, Progress()) as reply:
            headers = headers_back(reply.raw_headers, upstream.key)
            if reply.error is None:
                return reply.status, headers, await reply.read()
            if not passes("messages", reply.status):
                raise upstream_failure(reply, upstream.key, billed=False)
            text = without_key(reply.error.decode("utf-8", "replace"), upstream.key)
            return reply.status, headers, text.encode()


def _spent(status: BudgetStatus) -> Limit | None:
    """Return which limit lets no call through any more, if one does not."""
    left = status.left
    if status.closed:
        return "closed"
    figures: dict[Limit, float | None] = {"tokens": left.tokens, "usd": left.nanodollars, "seconds": left.seconds}
    return next((limit for limit, figure in figures.items() if figure == 0), None)
