"""Servers over streamable HTTP: many clients, one process."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.to_thread
import httpx2
import psutil
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from pydantic import SecretStr
from starlette.types import ASGIApp

from ekiden_config import Settings, default_settings
from ekiden_kit.definition import ServerDefinition
from ekiden_kit.errors import KitError
from ekiden_kit.http import listening_at, running_app, serve_http
from servers.kit.tally import SERVER

MAIN = Path(__file__).parent / "tally_main.py"
TOKEN = "open sesame"
ALONE = ServerDefinition("alone", "Alone", "Offers nothing.", ())


def with_http(**changes: object) -> Settings:
    settings = default_settings()
    return settings.model_copy(update={"http": settings.http.model_copy(update=changes)})


class Serving(NamedTuple):
    process: subprocess.Popen[str]
    address: str
    said: str


@pytest.fixture(scope="module")
def serving() -> Generator[Serving, None, None]:
    with started(os.environ | {"EKIDEN_HTTP_TOKEN": TOKEN}) as process:
        yield process
        process.process.kill()


def started(environment: dict[str, str]) -> "_Started":
    return _Started(environment)


class _Started:
    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, MAIN, "--http"], env=environment, stderr=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Serving:
        assert self._process.stderr is not None
        said = self._process.stderr.readline()
        found = re.search(r"http://[^/]+", said)
        assert found, said
        return Serving(self._process, found.group(), said)

    def __exit__(self, *_error: object) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stderr is not None
        self._process.stderr.close()


@asynccontextmanager
async def connected(address: str, token: str = TOKEN, mode: str = "auto") -> AsyncGenerator[Client, None]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=30) as web,
        Client(streamable_http_client(address, http_client=web), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("path", ["/mcp", "/tally/mcp"])
async def test_a_real_client_is_served_at_both_addresses(serving: Serving, path: str, mode: str) -> None:
    with anyio.fail_after(30):
        async with connected(serving.address + path, mode=mode) as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            result = await client.call_tool("tally_add", {"parts": [{"value": 2}]})
    assert names == [tool.name for tool in SERVER.tools]
    assert result.structured_content == {"total": 2, "parts": [{"value": 2}]}


async def test_many_clients_at_once_share_what_the_server_keeps(serving: Serving) -> None:
    totals: list[int] = []

    async def count(path: str, mode: str) -> None:
        async with connected(serving.address + path, mode=mode) as client:
            for _ in range(3):
                content = (await client.call_tool("tally_count")).structured_content
                assert content is not None
                totals.append(content["total"])

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for number in range(8):
                tasks.start_soon(count, ("/mcp", "/tally/mcp")[number % 2], ("legacy", "auto")[number // 4])
    assert sorted(totals) == list(range(min(totals), min(totals) + 24))


@asynccontextmanager
async def waiting_call(client: Client) -> AsyncGenerator[psutil.Process, None]:
    """Have a call waited for, and yield the process that it started; leaving cancels the call."""
    begun = anyio.Event()
    children: list[psutil.Process] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        del total, message
        children.append(psutil.Process(int(progress)))
        begun.set()

    async def wait() -> None:
        with suppress(MCPError):  # the server may end before the call does
            await client.call_tool("tally_wait", progress_callback=note)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await begun.wait()
        yield children[0]
        tasks.cancel_scope.cancel()


async def test_one_waiting_client_does_not_hold_up_another(serving: Serving) -> None:
    with anyio.fail_after(30):
        async with connected(serving.address + "/mcp") as waiting, connected(serving.address + "/mcp") as other:
            async with waiting_call(waiting) as child:
                result = await other.call_tool("tally_add", {"parts": []})
            assert result.structured_content == {"total": 0, "parts": []}
    child.kill()


@asynccontextmanager
async def web(app: ASGIApp) -> AsyncGenerator[httpx2.AsyncClient, None]:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1:80") as client:
        yield client


PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Basic b3Blbg==", "Bearer ", f"bearer{TOKEN}", "Bearer \xe9"])
async def test_a_request_without_the_token_is_refused(header: str | None) -> None:
    headers: dict[bytes, bytes] = {} if header is None else {b"Authorization": header.encode("latin-1")}
    async with running_app([SERVER], default_settings(), TOKEN) as app, web(app) as client:
        for path in ("/mcp", "/tally/mcp", "/nowhere"):
            response = await client.post(path, json=PING, headers=headers)
            assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(("host", "status"), [("evil.example", 421), ("127.0.0.1:8765", 400), ("relay.example:9", 400)])
async def test_only_expected_host_names_are_served(host: str, status: int) -> None:
    # 400: a ping outside a session, so the request has passed the gate.
    headers = {"Authorization": f"Bearer {TOKEN}", "Host": host, "Accept": "application/json, text/event-stream"}
    settings = with_http(allowed_hosts=("relay.example:9",))
    async with running_app([SERVER], settings, TOKEN) as app, web(app) as client:
        assert (await client.post("/mcp", json=PING, headers=headers)).status_code == status


def test_an_address_beyond_loopback_needs_a_list_of_names() -> None:
    with pytest.raises(KitError, match=r"'0\.0\.0\.0', which is not loopback"):
        serve_http([ALONE], with_http(host="0.0.0.0", port=0, token=SecretStr(TOKEN)))


def test_a_port_in_use_is_told(serving: Serving) -> None:
    port = int(serving.address.rpartition(":")[2])
    with pytest.raises(KitError, match=f"Cannot listen on 127.0.0.1:{port}: Address already in use"):
        serve_http([ALONE], with_http(port=port))


async def test_what_a_server_sends_leaves_at_once() -> None:
    undelayed: list[bool] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del reader
        undelayed.append(bool(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        writer.close()

    with listening_at("127.0.0.1", 0) as [listening], anyio.fail_after(5):
        server = await asyncio.start_server(answer, sock=listening)
        async with server, await anyio.connect_tcp(*listening.getsockname()) as client:
            with pytest.raises(anyio.EndOfStream):
                await client.receive()
    assert undelayed == [True]


async def test_a_made_up_token_is_said_once_and_works() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "EKIDEN_HTTP_TOKEN"}
    with started(environment) as (process, address, _said):
        assert process.stderr is not None
        token = process.stderr.readline().rpartition(" ")[2].strip()
        async with connected(address + "/mcp", token=token) as client:
            assert len((await client.list_tools()).tools) == len(SERVER.tools)


async def test_a_given_token_is_not_said(serving: Serving) -> None:
    assert TOKEN not in serving.said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_nothing_is_left_running_after_a_signal(number: signal.Signals) -> None:
    with started(os.environ | {"EKIDEN_HTTP_TOKEN": TOKEN}) as (process, address, _said), anyio.fail_after(30):
        async with connected(address + "/mcp") as client, waiting_call(client) as child:
            process.send_signal(number)
            assert await anyio.to_thread.run_sync(process.wait) == 128 + number
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE
