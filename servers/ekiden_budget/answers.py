"""Sending answers through ASGI: whole, or whole and then no more of this connection."""

import json
from collections.abc import Mapping
from http import HTTPStatus

import anyio
from starlette.types import Message, Receive, Send

LINGER_S = 2.0
LINGER_BYTES = 16 * 1024 * 1024

RawHeaders = list[tuple[bytes, bytes]]


def raw_headers(headers: Mapping[str, str]) -> RawHeaders:
    """Return headers as ASGI takes them; characters that a header cannot hold become question marks."""
    return [(name.encode("latin-1"), _one_line(value).encode("latin-1", "replace")) for name, value in headers.items()]


def _one_line(value: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in value).strip()


async def send_answer(send: Send, status: int, headers: RawHeaders, body: bytes) -> None:
    """Send an answer whole."""
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": body})


async def send_last_answer(receive: Receive, send: Send, status: int, headers: RawHeaders, body: bytes) -> None:
    """Send an answer to a request whose body nobody read, and close the connection.

    To close at once would reset the connection under a caller who is still sending, who then never sees the answer. So
    some of the body is read and dropped: until the caller hangs up, or has had its time.
    """
    closing = (b"connection", b"close")
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*headers, length, closing]})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    with anyio.move_on_after(LINGER_S):
        await _drop_body(receive)
    await send({"type": "http.response.body"})


async def _drop_body(receive: Receive) -> None:
    dropped = 0
    while dropped < LINGER_BYTES:
        message: Message = await receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            return
        dropped += len(message.get("body", b""))


def json_bytes(value: object) -> bytes:
    """Return a value as JSON."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


def bare_answer(status: int, message: str, headers: Mapping[str, str] | None = None) -> bytes:
    """Return the bytes of an answer for a connection on which no request was understood."""
    body = json_bytes({"error": {"message": message}})
    lines = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
    head = "".join(f"{name}: {value}\r\n" for name, value in (lines | dict(headers or {})).items())
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{head}\r\n".encode("latin-1") + body
