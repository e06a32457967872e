"""Calls to model servers on this machine.

Such a server answers in less time than a general HTTP client takes to ask it: with one, half of all that the proxy did
for a call was done there. So upstreams on loopback get one that can do what a call needs and no more.
"""

import select
import socket
import time
from collections import defaultdict
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import NamedTuple

import anyio
import httpx2
from anyio.abc import SocketAttribute, SocketStream

from ekiden_budget.answers import RawHeaders
from ekiden_budget.http_body import BodyDecoder, BodyInChunks, BodyOfLength, BodyToTheEnd, BrokenBodyError

KEPT_S = 4.0
LARGEST_HEAD = 65_536
_NO_LIMIT: dict[str, float | None] = {}


class _Address(NamedTuple):
    host: str
    port: int


class _Head(NamedTuple):
    status: int
    headers: RawHeaders
    keeps: bool  # whether the connection may be used again
    rest: bytes


class NearTransport(httpx2.AsyncBaseTransport):
    """HTTP/1.1 in plain text, one request at a time on a connection, and connections that are kept."""

    def __init__(self) -> None:
        self._idle: defaultdict[_Address, list[_Connection]] = defaultdict(list)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return the head of its answer.

        Raises:
            httpx2.TransportError: If there is no answer.
        """
        limits: dict[str, float | None] = request.extensions.get("timeout", _NO_LIMIT)
        address = _Address(request.url.host, request.url.port or 80)
        content = await request.aread()
        connection = await self._kept(address) or await _connect(address, limits.get("connect"))
        try:
            await connection.send(_head_of(request) + content)
            head = await connection.read_head(limits.get("read"))
            decoder = _decoder(head, request.method)
        except BaseException:
            await connection.close()
            raise
        body = _Body(self, connection, head, decoder, limits.get("read"))
        return httpx2.Response(head.status, headers=head.headers, stream=body, request=request)

    async def aclose(self) -> None:
        """Close the connections that are kept."""
        for connections in self._idle.values():
            for connection in connections:
                await connection.close()
        self._idle.clear()

    def keep(self, connection: "_Connection") -> None:
        """Keep a connection for the next request."""
        connection.idle_since = time.monotonic()
        self._idle[connection.address].append(connection)

    async def _kept(self, address: _Address) -> "_Connection | None":
        kept = self._idle[address]
        while kept:
            connection = kept.pop()
            if time.monotonic() - connection.idle_since < KEPT_S and not connection.is_readable():
                return connection
            await connection.close()
        return None


@dataclass(slots=True)
class _Connection:
    """A connection to a server."""

    address: _Address
    stream: SocketStream
    raw: socket.socket
    idle_since: float = 0.0

    async def send(self, data: bytes) -> None:
        try:
            await self.stream.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise httpx2.WriteError(str(error.__cause__ or "the connection is broken")) from error

    async def receive(self, limit_s: float | None) -> bytes:
        """Return what comes next; nothing at the end of the connection."""
        try:
            with anyio.fail_after(limit_s):
                return await self.stream.receive()
        except anyio.EndOfStream:
            return b""
        except TimeoutError as error:
            raise httpx2.ReadTimeout("") from error
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise httpx2.ReadError(str(error.__cause__ or "the connection is broken")) from error

    async def read_head(self, limit_s: float | None) -> _Head:
        """Read the head of an answer; those that only announce one are passed over."""
        held = b""
        while True:
            end = held.find(b"\r\n\r\n")
            if end >= 0:
                head = _parse_head(held[:end], held[end + 4 :])
                if head.status >= 200:
                    return head
                held = head.rest
                continue
            if len(held) > LARGEST_HEAD:
                raise httpx2.RemoteProtocolError("the head of the answer does not end")
            more = await self.receive(limit_s)
            if not more:
                raise httpx2.RemoteProtocolError("the server disconnected without sending an answer")
            held += more

    def is_readable(self) -> bool:
        """Tell whether something came that nobody asked for, such as the end of the connection."""
        poll = select.poll()
        poll.register(self.raw, select.POLLIN)
        return bool(poll.poll(0))

    async def close(self) -> None:
        """Close without waiting for what is on its way."""
        with anyio.CancelScope(shield=True):
            await self.stream.aclose()


class _Body(httpx2.AsyncByteStream):
    """The body of an answer, as it comes."""

    def __init__(
        self,
        transport: NearTransport,
        connection: _Connection,
        head: _Head,
        decoder: BodyDecoder,
        limit_s: float | None,
    ) -> None:
        self._transport = transport
        self._connection: _Connection | None = connection
        self._decoder = decoder
        self._head = head
        self._limit_s = limit_s

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        """Give the body, piece by piece.

        Raises:
            httpx2.TransportError: If it breaks off.
        """
        data = self._head.rest
        while True:
            try:
                piece = self._decoder.feed(data)
                if piece:
                    yield piece
                if self._decoder.done:
                    break
                assert self._connection is not None, "a body is read before it is closed"
                data = await self._connection.receive(self._limit_s)
                if not data:
                    self._decoder.end()
                    break
            except BrokenBodyError as error:
                raise httpx2.RemoteProtocolError(str(error)) from error

    async def aclose(self) -> None:
        """Keep the connection if the body was read whole, else close it: the server has nobody to write for."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._decoder.done and not self._decoder.spare and self._head.keeps:
            self._transport.keep(connection)
        else:
            await connection.close()


async def _connect(address: _Address, limit_s: float | None) -> _Connection:
    try:
        with anyio.fail_after(limit_s):
            stream = await anyio.connect_tcp(address.host, address.port)
    except TimeoutError as error:
        raise httpx2.ConnectTimeout("") from error
    except OSError as error:
        raise httpx2.ConnectError(str(error)) from error
    raw = stream.extra(SocketAttribute.raw_socket)  # noqa: S610  # no database is near
    return _Connection(address, stream, raw)


def _head_of(request: httpx2.Request) -> bytes:
    lines = [b"%s %s HTTP/1.1" % (request.method.encode("ascii"), request.url.raw_path)]
    lines += [b"%s: %s" % header for header in request.headers.raw]
    return b"\r\n".join([*lines, b"", b""])


def _parse_head(head: bytes, rest: bytes) -> _Head:
    first, *lines = head.split(b"\r\n")
    version, _, told = first.partition(b" ")
    status = told[:3]
    if version not in {b"HTTP/1.1", b"HTTP/1.0"} or not status.isdigit() or len(status) < 3:
        raise httpx2.RemoteProtocolError(f"no status line: {first[:40]!r}")
    headers: RawHeaders = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not name or name != name.strip():
            raise httpx2.RemoteProtocolError(f"no header: {line[:40]!r}")
        headers.append((name, value.strip()))
    closes = any(name.lower() == b"connection" and b"close" in value.lower() for name, value in headers)
    return _Head(int(status), headers, version == b"HTTP/1.1" and not closes, rest)


def _decoder(head: _Head, method: str) -> BodyDecoder:
    if method == "HEAD" or head.status in {204, 304}:
        return BodyOfLength(0)
    codings = [value.lower() for name, value in head.headers if name.lower() == b"transfer-encoding"]
    lengths = {value for name, value in head.headers if name.lower() == b"content-length"}
    if codings:
        if codings != [b"chunked"]:
            raise httpx2.RemoteProtocolError(f"unknown transfer encoding: {codings!r}")
        return BodyInChunks()
    if not lengths:
        return BodyToTheEnd()
    length = lengths.pop()
    if lengths or not length.isdigit() or len(length) > 18:
        raise httpx2.RemoteProtocolError(f"no length of a body: {length[:40]!r}")
    return BodyOfLength(int(length))
