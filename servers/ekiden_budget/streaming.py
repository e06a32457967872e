"""Passing a stream of events on, byte for byte, while its usage is read from it."""

from collections.abc import Awaitable, Callable

import anyio
from anyio import lowlevel
from starlette.types import Receive, Send

from ekiden_budget.answers import RawHeaders
from ekiden_budget.forwarding import NoAnswerError, Progress, Reply
from ekiden_budget.wire import ModelCall, StreamReader, Usage, error_event
from ekiden_policies.budget import Outcome

SEND_DEADLINE_S = 30.0
"""How long a caller may leave a stream unread before it counts as gone."""
FAREWELL_S = 1.0

Settle = Callable[[Outcome, Usage | None, str], Awaitable[None]]
"""Settles a call: how it ended, what it used, and a note for the audit log."""


class StreamPassage:
    """One stream on its way to its caller."""

    def __init__(self, call: ModelCall, receive: Receive, send: Send, settle: Settle, progress: Progress) -> None:
        self._call = call
        self._receive = receive
        self._send = send
        self._settle = settle
        self._progress = progress
        self._reader = StreamReader(call.dialect, hide_usage_event=call.adds_usage_event)
        self._settled = False

    async def carry(self, reply: Reply, headers: RawHeaders) -> None:
        """Pass a stream on, and settle before its end is passed: who sees the end sees the bill.

        A caller who hangs up ends the upstream's work too, at the price of what was reserved unless the usage is known.
        """
        self._progress.detail = "the proxy is closing"
        try:
            await self._send({"type": "http.response.start", "status": reply.status, "headers": headers})
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch, tasks.cancel_scope)
                self._progress.detail = await self._pump(reply)
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                last = self._last_words()
                if not self._settled:
                    await self._settle_with("failed" if self._reader.usage is None else "answered")
                with anyio.move_on_after(FAREWELL_S):
                    await self._send({"type": "http.response.body", "body": last})

    async def _watch(self, scope: anyio.CancelScope) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._progress.detail = "the caller hung up"
        scope.cancel()

    async def _pump(self, reply: Reply) -> str:
        """Pass all of a stream; return what went wrong, if something did."""
        reader = self._reader
        try:
            while piece := await reply.next_piece():
                passed = reader.feed(piece)
                if reader.ended and not self._settled:
                    before, passed = _without_last_event(passed)
                    await self._pass(before)
                    await lowlevel.checkpoint()  # the books are done while that is on its way
                    self._progress.detail = "the upstream told a failure" if reader.failed else "no usage was told"
                    without = "failed" if reader.failed else "unreadable"
                    await self._settle_with("answered" if reader.usage else without)
                await self._pass(passed)
            held_back = reader.finish()
            if not self._settled and reader.usage is not None:
                await self._settle_with("answered")
            await self._pass(held_back)
        except NoAnswerError as error:
            return str(error)
        except TimeoutError:
            return "the caller did not read its stream"
        if self._settled:
            return ""
        return "the upstream told a failure" if reader.failed else "upstream error: the stream broke off before its end"

    async def _pass(self, data: bytes) -> None:
        if data:
            with anyio.fail_after(SEND_DEADLINE_S):
                await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _settle_with(self, outcome: Outcome) -> None:
        self._settled = True
        await self._settle(outcome, self._reader.usage, "" if outcome == "answered" else self._progress.detail)

    def _last_words(self) -> bytes:
        """Return the event that tells a caller why a stream ends too early; an empty line ends the event before."""
        if self._settled or not self._progress.detail or self._reader.failed:
            return b""
        dialect = "chat" if self._call.dialect == "embeddings" else self._call.dialect
        return b"\n\n" + error_event(dialect, self._progress.detail, "upstream_failed")


def _without_last_event(data: bytes) -> tuple[bytes, bytes]:
    """Split events into those that may be passed on at once and the last one."""
    end = data.rfind(b"\n\n", 0, -2)
    start = 0 if end < 0 else end + 2
    return data[:start], data[start:]
