"""Calling tools as an agent does: through a real MCP client, in memory or over HTTP."""

from collections.abc import AsyncGenerator, Container
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any, cast

import httpx2
from anyio import EndOfStream
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent, Tool

from ekiden_config import Settings
from ekiden_kit.build import build_server
from ekiden_kit.table import TOKEN_VARIABLE, entries
from ekiden_orchestrator.errors import CommandError

_CONNECT_TIMEOUT_S = 10.0


class ToolRefusedError(Exception):
    """A tool answered with an error; the message is what a model would read."""


async def call_tool(server: str, tool: str, arguments: dict[str, Any], settings: Settings, url: str | None) -> object:
    """Call a tool and return its structured answer.

    Args:
        server: The server's name in the table.
        tool: The tool's name.
        arguments: The tool's arguments.
        settings: What the server is built with, and the token for a running one.
        url: Where `ekiden serve --http` listens; without it the server is built in this process.

    Raises:
        ToolRefusedError: If the tool answers with an error.
        CommandError: If a running server cannot be reached.
    """
    async with _client(server, settings, url) as client:
        result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise ToolRefusedError(_text(result))
    return result.structured_content if result.structured_content is not None else _text(result)


async def list_tools(server: str, settings: Settings) -> list[Tool]:
    """Return what a server offers."""
    async with _client(server, settings, None) as client:
        return (await client.list_tools()).tools


@asynccontextmanager
async def _client(server: str, settings: Settings, url: str | None) -> AsyncGenerator[Client, None]:
    (entry,) = entries([server])
    if url is None:
        async with Client(build_server([entry.load()], settings)) as client:
            yield client
        return
    address = url if url.rstrip("/").endswith("/mcp") else f"{url.rstrip('/')}/{server}/mcp"
    token = settings.http.token
    headers = {"Authorization": f"Bearer {token.get_secret_value()}"} if token else {}
    timeout = httpx2.Timeout(_CONNECT_TIMEOUT_S, read=entry.tool_timeout_s)
    statuses: set[int] = set()

    async def note_status(response: httpx2.Response) -> None:
        statuses.add(response.status_code)

    try:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks={"response": [note_status]}) as web,
            Client(streamable_http_client(address, http_client=web)) as client,
        ):
            yield client
    except* (httpx2.TransportError, MCPError, EndOfStream) as failures:
        raise CommandError(f"Cannot talk to {address!r}: {_reason(failures, statuses)}.") from failures


def _reason(failure: BaseException, statuses: Container[int]) -> str:
    """Say why a server cannot be talked to; the SDK's client tells nothing of a refusal's status."""
    if HTTPStatus.UNAUTHORIZED in statuses:
        return f"it wants another bearer token; put the one that it was started with into {TOKEN_VARIABLE}"
    if HTTPStatus.NOT_FOUND in statuses:
        return "nothing is served there; `ekiden serve --http` says what it serves when it starts"
    if isinstance(failure, BaseExceptionGroup):
        return _reason(cast("BaseExceptionGroup[BaseException]", failure).exceptions[0], statuses)
    return str(failure).rstrip(".") or type(failure).__name__


def _text(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))
