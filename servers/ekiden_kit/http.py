"""Serving over streamable HTTP: one process, one set of states, many clients at once."""

import signal
import socket
import sys
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.types import ASGIApp

from ekiden_kit.auth import BearerAuth, expected_hosts, made_up_token
from ekiden_kit.build import build_server, running_states
from ekiden_kit.definition import ServerDefinition
from ekiden_kit.departure import leave_soon, stop_descendants
from ekiden_kit.errors import KitError
from ekiden_kit.table import TOKEN_VARIABLE

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from ekiden_config import Settings


@asynccontextmanager
async def running_app(
    definitions: Sequence[ServerDefinition], settings: "Settings", token: str
) -> AsyncGenerator[ASGIApp, None]:
    """Run the application that serves definitions: all of them as one at `/mcp`, and each alone at `/NAME/mcp`.

    They share what their lifespans made, so a handle that was got at one address is good at the others.
    """
    security = expected_hosts(settings.http.host, settings.http.allowed_hosts)
    groups = {"/mcp": tuple(definitions)} | {f"/{definition.name}/mcp": (definition,) for definition in definitions}
    routes: list[BaseRoute] = []
    async with AsyncExitStack() as stack:
        states = await stack.enter_async_context(running_states(definitions, settings))
        for path, group in groups.items():
            server = build_server(group, settings, states=states)
            routes += server.streamable_http_app(streamable_http_path=path, transport_security=security).routes
            await stack.enter_async_context(server.session_manager.run())
        yield BearerAuth(Starlette(routes=routes), token)


def serve_http(definitions: Sequence[ServerDefinition], settings: "Settings") -> int:
    """Serve over HTTP until a signal comes, and leave nothing running.

    Returns:
        The exit status.

    Raises:
        KitError: If the address may not be served or cannot be bound.
    """
    expected_hosts(settings.http.host, settings.http.allowed_hosts)
    with listening_at(settings.http.host, settings.http.port) as sockets:
        status = anyio.run(_serve, definitions, settings, sockets)
    stop_descendants()
    return status


async def _serve(definitions: Sequence[ServerDefinition], settings: "Settings", sockets: list[socket.socket]) -> int:
    given = settings.http.token
    token = given.get_secret_value() if given else made_up_token()
    status = 0
    async with AsyncExitStack() as ending:
        app = await ending.enter_async_context(running_app(definitions, settings, token))
        web = _Web(uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1))
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(web.serve, sockets)
                _announce(definitions, sockets[0], made_up=None if given else token)
                status = 128 + await anext(aiter(signals))
                leave_soon(status)
                web.should_exit = True
    return status


def _announce(definitions: Sequence[ServerDefinition], listening: socket.socket, *, made_up: str | None) -> None:
    host, port = listening.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    names = ", ".join(definition.name for definition in definitions)
    sys.stderr.write(f"Serving {names} at {address}/mcp; each alone at {address}/NAME/mcp\n")
    if made_up is not None:
        sys.stderr.write(f"Bearer token, made up because {TOKEN_VARIABLE} is not set: {made_up}\n")
    sys.stderr.flush()


class _Web(uvicorn.Server):
    """A web server that leaves signals to its caller."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


@contextmanager
def listening_at(host: str, port: int) -> Generator[list[socket.socket], None, None]:
    """Listen at an address.

    Raises:
        KitError: If it cannot be bound.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio switches Nagle's delay, 40 ms a response, off only for connections whose protocol is said
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen()  # before the address is announced, so that nobody who reads it is turned away
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise KitError(f"Cannot listen on {host}:{port}: {reason}. Try another --port; 0 is any.") from error
        yield [listening]
