"""The proxy's two ways to an upstream, the general one and the one for this machine: nobody can tell them apart."""

import itertools
import json
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_budget.http_body import BodyInChunks, BodyOfLength, BodyToTheEnd, BrokenBodyError
from model_server import Answer
from proxy_bed import CHAT, proxy_bed

USAGE = b'{"usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}}'
EVENTS = b"data: " + USAGE[:-1] + b', "choices": []}\n\ndata: [DONE]\n\n'
WAYS: list[Callable[[], httpx2.AsyncBaseTransport | None]] = [lambda: None, httpx2.AsyncHTTPTransport]
OK = b"HTTP/1.1 200 OK\r\n"
JSON = b"content-type: application/json\r\n"
EVENT_STREAM = b"content-type: text/event-stream\r\n"


@contextmanager
def saying(*pieces: bytes) -> Generator[str, None, None]:
    """Run an upstream that says the same on every connection, whatever it is asked, and then hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65_536)
                    for piece in pieces:
                        connection.sendall(piece)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def chunks(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b""))


GOOD: dict[str, tuple[bytes, ...]] = {
    "length": (OK + JSON + b"content-length: %d\r\n\r\n" % len(USAGE) + USAGE,),
    "length, in pieces": (OK + JSON + b"Content-Length: %d\r\n\r\n" % len(USAGE), USAGE[:9], USAGE[9:]),
    "chunks": (OK + JSON + b"transfer-encoding: chunked\r\n\r\n" + chunks(USAGE[:9], USAGE[9:]),),
    "chunks with extensions and trailers": (
        OK + JSON + b"transfer-encoding: chunked\r\n\r\n" + b"%x;a=b\r\n%s\r\n0\r\nx: y\r\n\r\n" % (len(USAGE), USAGE),
    ),
    "to the end": (OK + JSON + b"\r\n" + USAGE,),
    "old": (b"HTTP/1.0 200 OK\r\n" + JSON + b"\r\n" + USAGE,),
    "announced": (b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + OK + JSON + b"\r\n" + USAGE,),
    "head in pieces": (OK[:5], OK[5:] + JSON[:4], JSON[4:] + b"\r", b"\n" + USAGE),
    "events": (OK + EVENT_STREAM + b"transfer-encoding: chunked\r\n\r\n" + chunks(EVENTS[:50], EVENTS[50:]),),
    "events to the end": (OK + EVENT_STREAM + b"\r\n" + EVENTS,),
}
BROKEN: dict[str, tuple[bytes, ...]] = {
    "nothing": (),
    "noise": (b"\x00" * 50 + b"\r\n\r\n",),
    "half a head": (OK + JSON,),
    "endless head": (OK + b"x: " + b"a" * 200_000,),
    "too short": (OK + JSON + b"content-length: 500\r\n\r\n" + USAGE,),
    "two lengths": (OK + JSON + b"content-length: 5\r\ncontent-length: 6\r\n\r\n" + USAGE,),
    "no length": (OK + JSON + b"content-length: many\r\n\r\n" + USAGE,),
    "other coding": (OK + JSON + b"transfer-encoding: gzip\r\n\r\n" + USAGE,),
    "no chunks": (OK + JSON + b"transfer-encoding: chunked\r\n\r\n" + USAGE,),
    "half a chunk": (OK + JSON + b"transfer-encoding: chunked\r\n\r\n" + chunks(USAGE)[:20],),
    "no last chunk": (OK + JSON + b"transfer-encoding: chunked\r\n\r\n" + chunks(USAGE)[:-5],),
    "no header": (OK + b"what is this\r\n\r\n" + USAGE,),
}


@pytest.mark.parametrize("way", WAYS, ids=["near", "far"])
@pytest.mark.parametrize("told", GOOD)
def test_answers_are_read_however_their_end_is_told(
    tmp_path: Path, way: Callable[[], httpx2.AsyncBaseTransport | None], told: str
) -> None:
    with saying(*GOOD[told]) as url, proxy_bed(tmp_path, transport=way(), upstreams={"odd": {"base_url": url}}) as bed:
        call = {**CHAT, "stream": True, "stream_options": {"include_usage": True}} if "events" in told else CHAT
        for _ in range(2):
            reply = bed.http().post("/v1/chat/completions", json=call)
            assert (reply.status_code, reply.content) == (200, EVENTS if "events" in told else USAGE)
        assert (bed.outcomes, bed.tokens) == (["answered"] * 2, 32)


@pytest.mark.parametrize("way", WAYS, ids=["near", "far"])
@pytest.mark.parametrize("told", BROKEN)
def test_broken_answers_are_billed_at_their_reservation(
    tmp_path: Path, way: Callable[[], httpx2.AsyncBaseTransport | None], told: str
) -> None:
    with (
        saying(*BROKEN[told]) as url,
        proxy_bed(tmp_path, transport=way(), upstreams={"odd": {"base_url": url}}) as bed,
    ):
        reply = bed.http().post("/v1/chat/completions", json=CHAT)
        assert reply.status_code == 502
        assert reply.json()["error"]["message"].startswith("upstream error: ")
        [call] = bed.calls
        assert (call.outcome, bed.tokens) == ("failed", call.reserved.tokens)


@pytest.mark.parametrize("way", WAYS, ids=["near", "far"])
def test_connections_to_an_upstream_are_kept(
    tmp_path: Path, way: Callable[[], httpx2.AsyncBaseTransport | None]
) -> None:
    with proxy_bed(tmp_path, Answer(), Answer(cut_after=2), transport=way()) as bed:
        statuses = [
            bed.http().post("/v1/chat/completions", json={**CHAT, "stream": place == 3}).status_code
            for place in range(6)
        ]
        assert statuses == [200, 502, 200, 200, 200, 200]
        assert bed.server.connections == 2


def test_an_upstream_that_closes_a_kept_connection_is_asked_on_a_new_one(tmp_path: Path) -> None:
    once = OK + JSON + b"content-length: %d\r\n\r\n" % len(USAGE) + USAGE
    with saying(once) as url, proxy_bed(tmp_path, upstreams={"odd": {"base_url": url}}) as bed:
        for _ in range(5):
            assert bed.http().post("/v1/chat/completions", json=CHAT).status_code == 200


def test_an_answer_that_is_compressed_unasked_is_read(tmp_path: Path) -> None:
    import gzip

    packed = gzip.compress(USAGE)
    head = OK + JSON + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(packed)
    with saying(head + packed) as url, proxy_bed(tmp_path, upstreams={"odd": {"base_url": url}}) as bed:
        reply = bed.http().post("/v1/chat/completions", json=CHAT)
        assert (reply.json(), "content-encoding" in reply.headers) == (json.loads(USAGE), False)
        assert bed.tokens == 16


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=8), st.data())
def test_a_body_in_chunks_is_the_same_however_it_is_cut(parts: list[bytes], data: st.DataObject) -> None:
    wire = chunks(*parts) + b"next"
    cuts = sorted(data.draw(st.sets(st.integers(0, len(wire)))) | {0, len(wire)})
    decoder = BodyInChunks()
    body = b""
    for start, end in itertools.pairwise(cuts):
        if decoder.done:
            break
        body += decoder.feed(wire[start:end])
    assert (body, decoder.done) == (b"".join(parts), True)


@given(st.binary(max_size=200))
def test_noise_in_place_of_chunks_is_a_body_or_an_error(noise: bytes) -> None:
    decoder = BodyInChunks()
    try:
        body = decoder.feed(noise)
    except BrokenBodyError:
        return
    assert len(body) <= len(noise)
    if not decoder.done:
        with pytest.raises(BrokenBodyError):
            decoder.end()


@given(st.binary(), st.integers(0, 50))
def test_a_body_of_a_length_ends_there(sent: bytes, length: int) -> None:
    decoder = BodyOfLength(length)
    assert decoder.feed(sent) == sent[:length]
    assert (decoder.done, decoder.spare) == (len(sent) >= length, sent[length:])


def test_a_body_to_the_end_is_whole_only_then() -> None:
    decoder = BodyToTheEnd()
    assert (decoder.feed(b"all"), decoder.done) == (b"all", False)
    decoder.end()
    assert decoder.done
