"""A proxy in a thread of its own, for as long as a run needs it."""

import socket
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

import anyio
import uvicorn
from anyio.abc import TaskStatus
from anyio.from_thread import BlockingPortal, start_blocking_portal

from ekiden_budget.errors import BudgetError
from ekiden_budget.forwarding import Forwarder
from ekiden_budget.guard import GuardConfig
from ekiden_budget.metering import Till
from ekiden_budget.prices import PriceList
from ekiden_budget.proxy import ProxyApp
from ekiden_warden import hide_memory

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ekiden_budget.ledger import Ledger
    from ekiden_budget.upstreams import Upstream
    from ekiden_config import BudgetSettings

LAST_ANSWERS_S = 5.0


class Proxy:
    """The budget proxy on loopback; a context manager.

        with Ledger(path) as ledger, Proxy(ledger, find_upstreams(settings, os.environ), settings) as proxy:
            opened = ledger.open_budget("run", Caps(tokens=100_000))
            client = OpenAI(base_url=f"{proxy.url}/v1", api_key=opened.token)

    Leaving the block ends calls in flight at once; `close` lets them settle first.
    """

    def __init__(
        self,
        ledger: "Ledger",
        upstreams: "Sequence[Upstream]",
        settings: "BudgetSettings",
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        unsent_is_free: bool | None = None,
    ) -> None:
        self._ledger = ledger
        self._upstreams = tuple(upstreams)
        self._settings = settings
        self._host = host
        self._port = port
        self._free = settings.unsent_is_free if unsent_is_free is None else unsent_is_free
        self._threads = ExitStack()
        self._portal: BlockingPortal | None = None
        self._served: Future[None] | None = None
        self._closing: anyio.Event | None = None
        self._drain_s = 0.0

    def __enter__(self) -> Self:
        """Listen, and answer from now on; this process, which holds the keys, becomes unreadable to its user's others.

        Raises:
            BudgetError: If the address cannot be had.
        """
        hide_memory()
        listening = _listen(self._host, self._port)
        self._port = listening.getsockname()[1]
        self._portal = self._threads.enter_context(
            start_blocking_portal(backend_options={"use_uvloop": sys.platform != "win32"})
        )
        self._served, self._closing = self._portal.start_task(self._serve, listening)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End at once."""
        self.close(drain_s=0)

    @property
    def url(self) -> str:
        """The address: with `/v1` the base of the OpenAI formats, without it the base of Anthropic's."""
        return f"http://{self._host}:{self._port}"

    def close(self, *, drain_s: float) -> None:
        """Accept nothing more, let calls in flight settle, and end those that take longer.

        Those are billed at what was reserved for them. Closing again does nothing.

        Args:
            drain_s: How long calls in flight may still take.
        """
        if self._portal is None or self._served is None or self._closing is None:
            return
        self._drain_s = drain_s
        self._portal.call(self._closing.set)
        self._portal = None
        try:
            self._served.result()
        finally:
            self._threads.close()

    async def _serve(self, listening: socket.socket, *, task_status: TaskStatus[anyio.Event]) -> None:
        closing = anyio.Event()
        forwarder = Forwarder(self._settings)
        prices = PriceList.from_settings(self._settings)
        try:
            with Till(self._ledger, unsent_is_free=self._free) as till:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(till.tidy_up)
                    app = ProxyApp(till, forwarder, self._upstreams, prices, self._settings)
                    await self._serve_app(app, listening, closing, task_status)
                    tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await forwarder.aclose()

    async def _serve_app(
        self, app: ProxyApp, listening: socket.socket, closing: anyio.Event, task_status: TaskStatus[anyio.Event]
    ) -> None:
        web = _Web(GuardConfig(app, self._settings))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.serve, [listening])
            task_status.started(closing)  # connections wait in the socket's queue until the server takes them
            await closing.wait()
            web.config.timeout_graceful_shutdown = int(self._drain_s + LAST_ANSWERS_S)
            web.should_exit = True
            await app.drain(self._drain_s)


class _Web(uvicorn.Server):
    """A web server that leaves signals to its process."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _listen(host: str, port: int) -> socket.socket:
    # asyncio sends small pieces at once only on sockets that name their protocol
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(1024)
    except OSError as error:
        listening.close()
        reason = error.strerror or type(error).__name__
        raise BudgetError(f"Cannot listen on {host}:{port}: {reason}. Another port may be free; 0 is any.") from error
    return listening
