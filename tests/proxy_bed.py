"""A budget proxy between a ledger and a scripted model server, for tests of whoever calls models through it."""

import socket
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import httpx2
from anthropic import Anthropic
from openai import OpenAI

from ekiden_budget.ledger import Ledger
from ekiden_budget.records import BudgetStatus, CallRecord
from ekiden_budget.serving import Proxy
from ekiden_budget.upstreams import find_upstreams
from ekiden_config import BudgetSettings, default_settings
from ekiden_policies.budget import Caps
from model_server import Answer, ModelServer

KEY = "sk-the-runners-own"
UPSTREAM = "scripted"
CHAT: dict[str, object] = {"model": "m", "messages": [{"role": "user", "content": "What is 8 + 9?"}]}


@dataclass
class ProxyBed:
    """A proxy with one budget."""

    server: ModelServer
    ledger: Ledger
    proxy: Proxy
    token: str
    budget: str
    stack: ExitStack

    @classmethod
    def make(cls, folder: Path, stack: ExitStack, server: ModelServer, caps: Caps, settings: dict[str, object]) -> Self:
        """Put everything up; it comes down with the stack."""
        free = settings.pop("unsent_is_free", None)
        budget = budget_settings(server.url, **settings)
        ledger = stack.enter_context(Ledger(folder / "ledger.sqlite3"))
        opened = ledger.open_budget("test", caps)
        upstreams = find_upstreams(budget, {"SCRIPTED_KEY": KEY})
        proxy = stack.enter_context(
            Proxy(ledger, upstreams, budget, unsent_is_free=None if free is None else bool(free))
        )
        return cls(server, ledger, proxy, opened.token, opened.budget, stack)

    @property
    def status(self) -> BudgetStatus:
        return self.ledger.status(self.budget)  # pyright: ignore[reportArgumentType]  # ids are strings with a name

    @property
    def tokens(self) -> int:
        """What is settled."""
        return self.status.settled.tokens

    @property
    def calls(self) -> list[CallRecord]:
        """The calls, the oldest first."""
        return self.ledger.calls(self.status.budget)[::-1]

    @property
    def outcomes(self) -> list[str]:
        return [call.outcome or "open" for call in self.calls]

    def openai(self, *, max_retries: int = 0, token: str | None = None) -> OpenAI:
        """Return a client of OpenAI's library."""
        base = f"{self.proxy.url}/v1"
        return self.stack.enter_context(OpenAI(base_url=base, api_key=token or self.token, max_retries=max_retries))

    def anthropic(self, *, max_retries: int = 0) -> Anthropic:
        """Return a client of Anthropic's library."""
        client = Anthropic(base_url=self.proxy.url, api_key=self.token, max_retries=max_retries)
        return self.stack.enter_context(client)

    def http(self, **headers: str) -> httpx2.Client:
        """Return a plain client that shows the token."""
        given = {"authorization": f"Bearer {self.token}"} | headers
        return self.stack.enter_context(httpx2.Client(base_url=self.proxy.url, headers=given, timeout=30))

    def connect(self) -> socket.socket:
        """Open a connection, for what no client library would send."""
        host, port = self.proxy.url.removeprefix("http://").split(":")
        connection = socket.create_connection((host, int(port)), timeout=20)
        return self.stack.enter_context(connection)

    def head(
        self, *lines: str, path: str = "/v1/chat/completions", method: str = "POST", version: str = "1.1"
    ) -> bytes:
        """Return the header of a request with a token."""
        given = ["host: 127.0.0.1", f"authorization: Bearer {self.token}", "content-type: application/json", *lines]
        return "\r\n".join([f"{method} {path} HTTP/{version}", *given, "", ""]).encode()


def budget_settings(url: str, **changes: object) -> BudgetSettings:
    """Return the packaged settings with one upstream that speaks every format, and some changes."""
    upstream = {
        "base_url": url,
        "key_env": "SCRIPTED_KEY",
        "dialects": ["chat", "responses", "messages", "embeddings"],
    }
    changed = {"upstreams": {UPSTREAM: upstream}, **changes}
    return BudgetSettings.model_validate(default_settings().budget.model_dump() | changed)


@contextmanager
def proxy_bed(
    folder: Path, *answers: Answer, caps: Caps | None = None, **settings: object
) -> Generator[ProxyBed, None, None]:
    """Run a proxy in front of a model server with a script."""
    with ExitStack() as stack:
        server = stack.enter_context(ModelServer(*answers))
        yield ProxyBed.make(folder, stack, server, caps or Caps(), dict(settings))


def read_all(connection: socket.socket) -> bytes:
    """Read until the other end closes; a reset counts as an end."""
    pieces: list[bytes] = []
    try:
        while piece := connection.recv(65_536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)
