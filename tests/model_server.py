"""A model server for tests: real HTTP on loopback, answers as scripted, or computed from the prompt.

    with ModelServer(Answer("17"), refusal(429)) as server:  # the third call and those after it get `echo`
        client = OpenAI(base_url=server.url, api_key="any")
        ...
        assert server.heard[0].prompt == "What is 8 + 9?"

`ModelServer(responder=function)` computes answers from requests. Answers can be held back, reset or cut anywhere:
`Answer("late", pause_after=0)`, then `server.release()`. `wait_for(n)` waits until n requests have come,
`wait_for_hangups(n)` until n clients hung up before the end of their answer.
By hand: `python -m model_server --port 8765` in the folder `tests`.
"""

import argparse
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from http import HTTPStatus
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import SocketAttribute, SocketStream, TaskStatus
from anyio.from_thread import BlockingPortal, start_blocking_portal
from anyio.streams.buffered import BufferedByteReceiveStream

from model_formats import Answer, Heard, ToolCall, Written, echo, refusal, write

__all__ = ["Answer", "Heard", "ModelServer", "ToolCall", "echo", "refusal"]

LONGEST_WAIT_S = 30.0
LARGEST_HEAD = 65_536


class ModelServer:
    """A scripted model server in a thread of its own; a context manager."""

    def __init__(self, *answers: Answer, responder: Callable[[Heard], Answer] = echo, port: int = 0) -> None:
        self.heard: list[Heard] = []
        self.hangups = 0
        self.connections = 0
        self._script = deque(answers)
        self._responder = responder
        self._port = port
        self._changed = threading.Condition()  # guards the records above
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None
        self._released = anyio.Event()

    def __enter__(self) -> Self:
        """Start listening."""
        self._portal = self._stack.enter_context(start_blocking_portal())
        task, self._port = self._portal.start_task(self._serve)
        self._stack.callback(task.cancel)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Stop, and drop every connection."""
        self._stack.close()

    @property
    def url(self) -> str:
        """The base address for the OpenAI formats."""
        return f"{self.address}/v1"

    @property
    def address(self) -> str:
        """The base address for Anthropic's client, which adds `/v1` itself."""
        return f"http://127.0.0.1:{self._port}"

    def script(self, *answers: Answer) -> None:
        """Add answers, to be given to the next calls in order."""
        with self._changed:
            self._script.extend(answers)

    def respond_with(self, responder: Callable[[Heard], Answer]) -> None:
        """Change what is answered when nothing is scripted."""
        self._responder = responder

    def release(self) -> None:
        """Let every held-back answer go on, now and from now on."""
        assert self._portal is not None
        self._portal.call(self._released.set)

    def hold(self) -> None:
        """Hold answers with `pause_after` back again after a release."""
        self._released = anyio.Event()

    def wait_for(self, requests: int, timeout_s: float = LONGEST_WAIT_S) -> None:
        """Wait until so many requests have come."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.heard) >= requests, timeout_s):
                raise TimeoutError(f"Only {len(self.heard)} of {requests} requests came within {timeout_s} s.")

    def wait_for_hangups(self, hangups: int, timeout_s: float = LONGEST_WAIT_S) -> None:
        """Wait until so many clients hung up before the end of their answer."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.hangups >= hangups, timeout_s):
                raise TimeoutError(f"Only {self.hangups} of {hangups} clients hung up within {timeout_s} s.")

    async def _serve(self, *, task_status: TaskStatus[int]) -> None:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=self._port, backlog=1024)
        task_status.started(listener.extra(SocketAttribute.local_port))
        async with listener:
            await listener.serve(self._converse)

    async def _converse(self, stream: SocketStream) -> None:
        """Answer one connection's requests, one after the other."""
        with self._changed:
            self.connections += 1
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(stream)
            reader = BufferedByteReceiveStream(stream)
            try:
                while (heard := await _read_request(reader)) is not None:
                    if not await self._answer(heard, stream):
                        return
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.IncompleteRead):
                return

    async def _answer(self, heard: Heard, stream: SocketStream) -> bool:
        """Send what is scripted; return whether the connection may go on."""
        with self._changed:
            self.heard.append(heard)
            answer = self._script.popleft() if self._script and heard.method == "POST" else None
            self._changed.notify_all()
        answer = answer or self._responder(heard)
        written = write(answer, heard)
        pieces = [_head(answer, written), *_framed(written)]
        for place, piece in enumerate(pieces):
            if place == answer.pause_after and not await self._wait_for_release(stream):
                return False
            if place == answer.reset_after:
                linger = struct.pack("ii", 1, 0)  # closing then sends a reset
                stream.extra(SocketAttribute.raw_socket).setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                return False
            if place == answer.cut_after:
                return False
            try:
                await stream.send(piece)
            except anyio.BrokenResourceError:
                self._count_hangup()
                return False
        return True

    async def _wait_for_release(self, stream: SocketStream) -> bool:
        """Wait for `release`; return False if the client hung up before."""
        hung_up = False

        async def watch(scope: anyio.CancelScope) -> None:
            nonlocal hung_up
            try:
                await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                hung_up = True
                scope.cancel()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch, tasks.cancel_scope)
            await self._released.wait()
            tasks.cancel_scope.cancel()
        if hung_up:
            self._count_hangup()
        return not hung_up

    def _count_hangup(self) -> None:
        with self._changed:
            self.hangups += 1
            self._changed.notify_all()


async def _read_request(reader: BufferedByteReceiveStream) -> Heard | None:
    try:
        head = await reader.receive_until(b"\r\n\r\n", LARGEST_HEAD)
    except (anyio.IncompleteRead, anyio.DelimiterNotFound):
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    else:
        body = await reader.receive_exactly(int(headers.get("content-length", "0")))
    return Heard(method, path, headers, body)


async def _read_chunks(reader: BufferedByteReceiveStream) -> bytes:
    body = b""
    while size := int(await reader.receive_until(b"\r\n", LARGEST_HEAD), 16):
        body += await reader.receive_exactly(size)
        await reader.receive_exactly(2)
    await reader.receive_until(b"\r\n", LARGEST_HEAD)
    return body


def _head(answer: Answer, written: Written) -> bytes:
    if written.content_type == "text/event-stream":
        framing = {"transfer-encoding": "chunked"}
    else:
        framing = {"content-length": str(sum(map(len, written.pieces)))}
    headers = {"content-type": written.content_type, "x-request-id": "scripted", **framing, **answer.headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {answer.status} {_phrase(answer.status)}\r\n{lines}\r\n".encode("latin-1")


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else "Overloaded"


def _framed(written: Written) -> list[bytes]:
    if written.content_type != "text/event-stream":
        return list(written.pieces)
    return [*(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in written.pieces if piece), b"0\r\n\r\n"]


def main() -> None:
    """Serve until interrupted, and print each request."""
    parser = argparse.ArgumentParser(description="A model server that answers from the prompt alone.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--quiet", action="store_true", help="print no requests")
    given = parser.parse_args()

    def respond(heard: Heard) -> Answer:
        if not given.quiet:
            print(heard.method, heard.path, heard.model, "stream" if heard.stream else "plain", flush=True)
        return echo(heard)

    with ModelServer(responder=respond, port=given.port) as server:
        print(server.url, flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
