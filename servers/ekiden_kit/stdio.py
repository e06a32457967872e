"""An MCP session of the SDK over a claimed wire, taking over a conversation that the front desk began."""

import logging
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from ekiden_kit.build import EkidenServer
from ekiden_kit.conversation import Conversation
from ekiden_kit.departure import leave_soon, stop_descendants
from ekiden_kit.wire import Lines, Wire

logger = logging.getLogger(__name__)

_SURE_TO_FIT = 4096
"""Bytes that a pipe said to be writable takes without blocking."""
_TELLING_S = 5.0
"""How long telling of a crash may take."""


def serve_wire(server: EkidenServer, wire: Wire, conversation: Conversation) -> int:
    """Serve one client until its input closes or a signal comes, and leave nothing running.

    Returns:
        The exit status: 0 when the input closed, 128 and the signal's number otherwise.
    """
    status = anyio.run(_Session(server, wire, conversation).run)
    stop_descendants()
    return status


class _Session:
    def __init__(self, server: EkidenServer, wire: Wire, conversation: Conversation) -> None:
        self._server = server
        self._wire = wire
        self._heard = conversation
        self._answered = list(conversation.answered)
        self._status = 0

    async def run(self) -> int:
        heard_send, heard = anyio.create_memory_object_stream[SessionMessage | Exception]()
        said, said_receive = anyio.create_memory_object_stream[SessionMessage]()
        lowlevel = self._server.lowlevel
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_signals, tasks.cancel_scope)
            tasks.start_soon(self._listen, heard_send)
            tasks.start_soon(self._speak, said_receive, tasks.cancel_scope)
            await lowlevel.run(heard, said, lowlevel.create_initialization_options())
            tasks.cancel_scope.cancel()
        return self._status

    def _end(self, status: int) -> None:
        self._status = status
        leave_soon(status)

    async def _watch_signals(self, scope: anyio.CancelScope) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for number in signals:
                self._end(128 + number)
                scope.cancel()

    async def _listen(self, heard: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        async with heard, _ending_with_a_crash():
            for line in self._heard.lines:
                await heard.send(_message(line))
            lines = Lines(self._heard.rest)
            while chunk := await _read(self._wire):
                for line in lines.feed(chunk):
                    await heard.send(_message(line))
            self._end(0)

    async def _speak(self, said: MemoryObjectReceiveStream[SessionMessage], scope: anyio.CancelScope) -> None:
        async with said, _ending_with_a_crash():
            async for item in said:
                message = item.message
                if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id in self._answered:
                    self._answered.remove(message.id)
                    continue
                text = message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await _write(self._wire.sink, text.encode() + b"\n")
                except ConnectionError:  # the client no longer listens
                    self._end(0)
                    scope.cancel()


@asynccontextmanager
async def _ending_with_a_crash() -> AsyncGenerator[None, None]:
    """Leave when the wire fails in a way nobody anticipated: a call that computes would keep the process."""
    try:
        yield
    except Exception:
        leave_soon(1, grace_s=_TELLING_S)  # first, for whoever reads the log may have stopped reading
        logger.exception("The standard streams failed.")
        raise


def _message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError as error:
        return error


async def _read(wire: Wire) -> bytes:
    try:
        await anyio.wait_readable(wire.source)
    except PermissionError:  # a plain file or the null device: always ready, and not for epoll
        await anyio.lowlevel.checkpoint()
    return wire.read()


async def _write(sink: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            await anyio.wait_writable(sink)
        except PermissionError:  # as above
            await anyio.lowlevel.checkpoint()
        view = view[os.write(sink, view[:_SURE_TO_FIT]) :]
