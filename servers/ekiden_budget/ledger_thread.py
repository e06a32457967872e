"""A thread that works on the ledger for an event loop."""

import asyncio
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, Self, TypeVar

import anyio

_Answer = TypeVar("_Answer")


class _Order(NamedTuple):
    work: Callable[[], object]
    answer: "asyncio.Future[Any]"


class _Done(NamedTuple):
    answer: "asyncio.Future[Any]"
    value: object
    error: BaseException | None


class LedgerThread:
    """Does what it is asked in order, on one thread; an async context manager.

    A ledger takes one transaction at a time, so more threads would only wait for one another. All that is done by the
    time the event loop looks is handed over in one go: with many callers most answers wake nobody.
    """

    def __init__(self) -> None:
        self._orders: SimpleQueue[_Order | None] = SimpleQueue()
        self._done: deque[_Done] = deque()
        self._thread = Thread(target=self._work, name="budget ledger", daemon=True)

    async def __aenter__(self) -> Self:
        """Start the thread."""
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Let it do what it was asked, and end it."""
        self._orders.put(None)
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._thread.join)

    async def run(self, work: Callable[[], _Answer]) -> _Answer:
        """Do something on the thread. It is waited for also by whoever is cancelled: what it did must be known."""
        answer: asyncio.Future[_Answer] = self._loop.create_future()
        self._orders.put(_Order(work, answer))
        with anyio.CancelScope(shield=True):
            await answer
        return answer.result()

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            try:
                done = _Done(order.answer, order.work(), None)
            except BaseException as error:  # noqa: BLE001  # whatever it is, it is raised where the work was asked for
                done = _Done(order.answer, None, error)
            self._done.append(done)
            if len(self._done) == 1:
                self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        while self._done:
            done = self._done[0]
            if not done.answer.done():
                if done.error is None:
                    done.answer.set_result(done.value)
                else:
                    done.answer.set_exception(done.error)
            self._done.popleft()
