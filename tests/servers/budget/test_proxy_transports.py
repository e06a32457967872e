"""What upstreams send in odd ways, or break off, and what the proxy makes of it."""

import json
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import InvalidURL

from ekiden_budget.forwarding import proxy_for
from model_server import Answer
from proxy_bed import CHAT, proxy_bed

USAGE = b'{"usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}}'
EVENTS = b"data: " + USAGE[:-1] + b', "choices": []}\n\ndata: [DONE]\n\n'
OK = b"HTTP/1.1 200 OK\r\n"
JSON = b"content-type: application/json\r\n"
EVENT_STREAM = b"content-type: text/event-stream\r\n"


def read_request(connection: socket.socket) -> None:
    """Read a request to its end: what is left unread when a connection closes resets it."""
    with connection.makefile("rb") as stream:
        length = 0
        while (line := stream.readline()) not in {b"\r\n", b""}:
            name, _, value = line.lower().partition(b":")
            length = int(value) if name == b"content-length" else length
        stream.read(length)


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
                    read_request(connection)
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
    "no chunks": (OK + JSON + b"transfer-encoding: chunked\r\n\r\n" + USAGE,),
    "half a chunk": (OK + JSON + b"transfer-encoding: chunked\r\n\r\n" + chunks(USAGE)[:20],),
    "no last chunk": (OK + JSON + b"transfer-encoding: chunked\r\n\r\n" + chunks(USAGE)[:-5],),
    "no header": (OK + b"what is this\r\n\r\n" + USAGE,),
}


@pytest.mark.parametrize("told", GOOD)
def test_answers_are_read_however_their_end_is_told(tmp_path: Path, told: str) -> None:
    with saying(*GOOD[told]) as url, proxy_bed(tmp_path, upstreams={"odd": {"base_url": url}}) as bed:
        call = {**CHAT, "stream": True, "stream_options": {"include_usage": True}} if "events" in told else CHAT
        for _ in range(2):
            reply = bed.http().post("/v1/chat/completions", json=call)
            assert (reply.status_code, reply.content) == (200, EVENTS if "events" in told else USAGE)
        assert (bed.outcomes, bed.tokens) == (["answered"] * 2, 32)


@pytest.mark.parametrize("told", BROKEN)
def test_broken_answers_are_billed_at_their_reservation(tmp_path: Path, told: str) -> None:
    with (
        saying(*BROKEN[told]) as url,
        proxy_bed(tmp_path, upstreams={"odd": {"base_url": url}}) as bed,
    ):
        reply = bed.http().post("/v1/chat/completions", json=CHAT)
        assert reply.status_code == 502
        assert reply.json()["error"]["message"].startswith("upstream error: ")
        [call] = bed.calls
        assert (call.outcome, bed.tokens) == ("failed", call.reserved.tokens)


def test_connections_to_an_upstream_are_kept(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, Answer(), Answer(cut_after=2)) as bed:
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


def test_proxies_of_the_environment_are_for_other_machines_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "relay.example:3128")
    monkeypatch.setenv("https_proxy", "socks5://relay.example:1080")
    monkeypatch.setenv("no_proxy", "models.example")
    assert [proxy_for(f"http://{host}/v1") for host in ("127.0.0.1:9", "localhost", "[::1]", "models.example")] == [
        None
    ] * 4
    assert proxy_for("http://other.example/v1") == "http://relay.example:3128"
    with pytest.raises(InvalidURL, match="no HTTP proxy"):
        proxy_for("https://other.example/v1")


def test_a_header_that_no_caller_may_see_is_left_out_and_not_the_answer(tmp_path: Path) -> None:
    odd = b"x-odd: a\x0cb\r\nx-echo: Bearer sk-the-runners-own\r\nx-good: b \r\ncontent-length: %d\r\n\r\n" % len(USAGE)
    with saying(OK + JSON + odd + USAGE) as url:
        upstream = {"base_url": url, "key_env": "SCRIPTED_KEY"}
        with proxy_bed(tmp_path, upstreams={"odd": upstream}) as bed:
            reply = bed.http().post("/v1/chat/completions", json=CHAT)
            assert (reply.status_code, reply.content, reply.headers["x-good"]) == (200, USAGE, "b")
            assert not {"x-odd", "x-echo"} & set(reply.headers)


def test_an_upstream_that_repeats_the_key_is_not_heard(tmp_path: Path) -> None:
    words = json.dumps({"error": {"message": "x" * 488 + "sk-the-runners-own"}}).encode()
    told = b"HTTP/1.1 500 Oh\r\n" + JSON + b"content-length: %d\r\n\r\n" % len(words) + words
    for place, said in enumerate([told, OK + b"x sk-the-runners-own: a\r\n\r\n"]):
        with saying(said) as url:
            upstream = {"base_url": url, "key_env": "SCRIPTED_KEY"}
            with proxy_bed(tmp_path / str(place), upstreams={"odd": upstream}) as bed:
                reply = bed.http().post("/v1/chat/completions", json=CHAT)
                assert reply.status_code == 502
                assert "sk-the" not in reply.text + bed.calls[0].detail


def test_a_status_that_no_client_knows_is_a_failure_in_every_format(tmp_path: Path) -> None:
    with saying(b"HTTP/1.1 600 What\r\ncontent-length: 0\r\n\r\n") as url:
        upstream = {"base_url": url, "dialects": ["chat", "responses"]}
        with proxy_bed(tmp_path, upstreams={"odd": upstream}) as bed:
            asked = {"model": "m", "input": "What is 8 + 9?"}
            assert bed.http().post("/v1/responses", json=asked).status_code == 502


def test_a_refusal_whose_words_break_off_is_still_a_refusal(tmp_path: Path) -> None:
    with (
        saying(b"HTTP/1.1 400 No\r\n" + JSON + b"content-length: 90\r\n\r\n{") as url,
        proxy_bed(tmp_path, upstreams={"odd": {"base_url": url}}) as bed,
    ):
        assert bed.http().post("/v1/chat/completions", json=CHAT).status_code == 502
        assert [(call.outcome, call.detail) for call in bed.calls] == [("unsent", "HTTP 400")]


def test_upstreams_that_close_right_after_an_answer_cost_nobody_a_call(tmp_path: Path) -> None:
    once = OK + JSON + b"content-length: %d\r\n\r\n" % len(USAGE) + USAGE
    with saying(once) as url, proxy_bed(tmp_path, upstreams={"hasty": {"base_url": url}}, retries=2) as bed:
        client = bed.http()
        assert {client.post("/v1/chat/completions", json=CHAT).status_code for _ in range(40)} == {200}
        assert (bed.outcomes, bed.tokens) == (["answered"] * 40, 40 * 16)
