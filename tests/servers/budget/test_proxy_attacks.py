"""Callers who keep the proxy waiting, lie about what they send, or come in crowds: answered or cut."""

import json
import resource
import select
import socket
import threading
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest

from ekiden_policies.budget import Caps
from model_server import Answer
from proxy_bed import CHAT, ProxyBed, proxy_bed, read_all

BODY = json.dumps(CHAT).encode()


def quick_bed(folder: Path) -> AbstractContextManager[ProxyBed]:
    """Run a proxy that waits for little."""
    return proxy_bed(folder, header_deadline_s=0.3, body_deadline_s=0.3)


@contextmanager
def unharmed(bed: ProxyBed) -> Generator[None]:
    """Show that after all that happens in the block the proxy answers as before, and that nothing was spent."""
    before = len(bed.server.heard), bed.tokens
    yield
    assert (len(bed.server.heard), bed.tokens) == before
    assert bed.http().post("/v1/chat/completions", json=CHAT).status_code == 200
    assert bed.status.reserved.tokens == 0


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


@contextmanager
def dripping(connection: socket.socket, letters: bytes) -> Generator[None]:
    """Send letters one by one for as long as the block runs, as fast as a deadline for each would forgive."""
    ended = threading.Event()

    def drip() -> None:
        for place in range(10**6):
            try:
                connection.send(letters[place % len(letters) :][:1])
            except OSError:
                return
            if ended.wait(0.02):
                return

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize("begun", [b"", b"POST /v1/chat", b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\n"])
def test_a_header_that_does_not_end_is_cut(tmp_path: Path, begun: bytes) -> None:
    with quick_bed(tmp_path) as bed, unharmed(bed):
        connection = bed.connect()
        connection.sendall(begun)
        answer = read_all(connection)
        assert answer == b"" if not begun else status_of(answer) == 408


def test_a_header_that_drips_is_cut_in_the_same_time(tmp_path: Path) -> None:
    with quick_bed(tmp_path) as bed, unharmed(bed):
        connection = bed.connect()
        connection.sendall(b"POST / HTTP/1.1\r\nx-long: ")
        with dripping(connection, b"a"):
            assert select.select([connection], [], [], 10)[0]
            read_all(connection)


def test_a_second_header_on_a_connection_is_cut_as_the_first(tmp_path: Path) -> None:
    with quick_bed(tmp_path) as bed:
        connection = bed.connect()
        connection.sendall(bed.head(f"content-length: {len(BODY)}") + BODY)
        assert status_of(connection.recv(65_536)) == 200
        connection.sendall(b"POST / HTTP/1.1\r\nx-long: ")
        with dripping(connection, b"a"):
            assert select.select([connection], [], [], 10)[0]


@pytest.mark.parametrize("sent", [b"", BODY[:10]])
def test_a_body_that_does_not_come_is_given_up(tmp_path: Path, sent: bytes) -> None:
    with quick_bed(tmp_path) as bed, unharmed(bed):
        connection = bed.connect()
        connection.sendall(bed.head("content-length: 100000") + sent)
        answer = read_all(connection)
        assert status_of(answer) == 400
        assert b"read failed: the body took longer than 0.3 s" in answer


def test_a_body_that_drips_is_given_up_in_the_same_time(tmp_path: Path) -> None:
    with quick_bed(tmp_path) as bed, unharmed(bed):
        connection = bed.connect()
        connection.sendall(bed.head("content-length: 100000"))
        with dripping(connection, b" "):
            assert status_of(read_all(connection)) == 400


def test_a_caller_who_leaves_in_the_middle_of_a_body_costs_nothing(tmp_path: Path) -> None:
    with proxy_bed(tmp_path) as bed, unharmed(bed):
        connection = bed.connect()
        connection.sendall(bed.head("content-length: 100000") + BODY)
        connection.close()
        half = bed.connect()
        half.sendall(bed.head("content-length: 100000") + BODY)
        half.shutdown(socket.SHUT_WR)
        assert read_all(half) == b""


def test_too_large_a_body_is_refused_by_its_header_alone(tmp_path: Path) -> None:
    with proxy_bed(tmp_path) as bed, unharmed(bed):
        connection = bed.connect()
        connection.sendall(bed.head("content-length: 999999999999"))
        assert status_of(connection.recv(65_536)) == 413


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["content-length: many"], b"invalid Content-Length"),
        (["content-length: -1"], b"invalid Content-Length"),
        (["content-length: 5", "content-length: 6"], b"invalid Content-Length"),
        (["transfer-encoding: gzip"], b"invalid HTTP request"),
        (["bad header"], b"invalid HTTP request"),
        (["host: 127.0.0.1"], b"invalid HTTP request"),
    ],
)
def test_what_is_no_http_is_said_so(tmp_path: Path, lines: list[str], text: bytes) -> None:
    with proxy_bed(tmp_path) as bed, unharmed(bed):
        connection = bed.connect()
        connection.sendall(bed.head(*lines))
        answer = read_all(connection)
        assert status_of(answer) == 400
        assert text in answer


@pytest.mark.parametrize("name", ["anthropic-version", "anthropic-beta"])
def test_a_header_that_no_upstream_could_read_is_named(tmp_path: Path, name: str) -> None:
    body = json.dumps({**CHAT, "max_tokens": 9}).encode()
    with proxy_bed(tmp_path) as bed, unharmed(bed):
        connection = bed.connect()
        head = bed.head(f"{name}: 2023", f"content-length: {len(body)}", "connection: close", path="/v1/messages")
        connection.sendall(head.replace(b": 2023", b": 2023\xe2\x97\x87") + body)
        answer = read_all(connection)
        assert (status_of(answer), name.encode() in answer) == (400, True)


def test_a_header_without_measure_is_not_read_to_its_end(tmp_path: Path) -> None:
    with proxy_bed(tmp_path) as bed, unharmed(bed):
        connection = bed.connect()
        with pytest.raises(OSError, match=r"reset|pipe"):
            connection.sendall(b"POST / HTTP/1.1\r\nx-long: " + b"a" * 100_000_000)


def test_noise_is_answered(tmp_path: Path) -> None:
    with proxy_bed(tmp_path) as bed, unharmed(bed):
        for noise in (
            b"\x00\xff" * 500 + b"\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n",
            b"GET\r\n\r\n",
        ):
            connection = bed.connect()
            connection.sendall(noise)
            connection.shutdown(socket.SHUT_WR)
            assert status_of(read_all(connection)) == 400


def test_a_body_in_broken_chunks_is_refused(tmp_path: Path) -> None:
    with proxy_bed(tmp_path) as bed, unharmed(bed):
        connection = bed.connect()
        connection.sendall(bed.head("transfer-encoding: chunked") + b"5\r\n{\r\n\r\nnonsense\r\n")
        assert status_of(read_all(connection)) == 400


def test_a_body_longer_than_it_says_is_no_second_request(tmp_path: Path) -> None:
    with proxy_bed(tmp_path) as bed:
        connection = bed.connect()
        connection.sendall(bed.head(f"content-length: {len(BODY)}") + BODY + b"and more\r\n\r\n")
        answers = read_all(connection)
        assert answers.count(b"HTTP/1.1 ") == answers.count(b"HTTP/1.1 200") == 1
        assert len(bed.server.heard) == 1


def test_a_body_longer_in_its_chunks_than_its_header_says_is_taken_by_one_of_the_two_alone(tmp_path: Path) -> None:
    with proxy_bed(tmp_path) as bed:
        connection = bed.connect()
        chunk = f"{len(BODY):x}\r\n".encode() + BODY + b"\r\n0\r\n\r\n"
        connection.sendall(bed.head("content-length: 4", "transfer-encoding: chunked", "connection: close") + chunk)
        read_all(connection)
        assert len(bed.server.heard) <= 1
        assert [heard.body for heard in bed.server.heard if heard.prompt != "What is 8 + 9?"] == []


def test_requests_sent_ahead_are_answered_in_order(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, *[Answer(str(place), tokens=(1, place)) for place in (1, 2, 3)]) as bed:
        connection = bed.connect()
        one = bed.head(f"content-length: {len(BODY)}") + BODY
        last = bed.head(f"content-length: {len(BODY)}", "connection: close") + BODY
        connection.sendall(one + one + last)
        answers = read_all(connection)
        assert [answers.index(f'"total_tokens": {total}'.encode()) for total in (2, 3, 4)] == sorted(
            answers.index(f'"total_tokens": {total}'.encode()) for total in (2, 3, 4)
        )
        assert bed.outcomes == ["answered"] * 3


def test_only_some_requests_can_be_sent_ahead(tmp_path: Path) -> None:
    with proxy_bed(tmp_path) as bed:
        connection = bed.connect()
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n" * 1000)
        answers = read_all(connection)
        assert answers.count(b"HTTP/1.1 ") == answers.count(b"HTTP/1.1 200") == 16


def test_a_caller_who_asks_first_whether_to_send_is_told(tmp_path: Path) -> None:
    with proxy_bed(tmp_path) as bed:
        connection = bed.connect()
        connection.sendall(bed.head(f"content-length: {len(BODY)}", "expect: 100-continue"))
        assert status_of(connection.recv(65_536)) == 100
        connection.sendall(BODY)
        assert status_of(connection.recv(65_536)) == 200
        refused = bed.connect()
        refused.sendall(bed.head("content-length: 99999999", "expect: 100-continue"))
        assert status_of(refused.recv(65_536)) == 413


def test_an_old_client_is_served(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, Answer("17")) as bed:
        connection = bed.connect()
        connection.sendall(bed.head(f"content-length: {len(BODY)}", version="1.0") + BODY)
        answer = read_all(connection)
        assert status_of(answer) == 200
        assert b"17" in answer
        assert b"chunked" not in answer


def test_an_old_client_gets_no_stream_that_it_could_not_read(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, Answer("17")) as bed:
        body = json.dumps(CHAT | {"stream": True}).encode()
        connection = bed.connect()
        connection.sendall(bed.head(f"content-length: {len(body)}", version="1.0") + body)
        answer = read_all(connection)
        assert (status_of(answer), b"HTTP/1.1" in answer.partition(b"\r\n\r\n")[2]) == (505, True)
        assert bed.server.heard == []


def test_all_requests_sent_ahead_end_when_their_caller_hangs_up(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, *[Answer("a long answer of many pieces", pause_after=2)] * 2) as bed:
        body = json.dumps(CHAT | {"stream": True}).encode()
        connection = bed.connect()
        connection.sendall((bed.head(f"content-length: {len(body)}") + body) * 2)
        bed.server.wait_for(1)
        connection.close()
        bed.server.wait_for_hangups(1)
        bed.proxy.close(drain_s=20)
        assert bed.outcomes == ["failed"]


@pytest.mark.parametrize("hosts", [(), ("localhost", "127.0.0.1")])
def test_a_request_names_one_host(tmp_path: Path, hosts: tuple[str, ...]) -> None:
    with proxy_bed(tmp_path) as bed:
        lines = "".join(f"host: {host}\r\n" for host in hosts)
        connection = bed.connect()
        connection.sendall(f"GET /healthz HTTP/1.1\r\n{lines}\r\n".encode())
        answer = read_all(connection)
        assert (status_of(answer), b"Host" in answer) == (400, True)


def test_a_header_without_end_is_cut(tmp_path: Path) -> None:
    with proxy_bed(tmp_path) as bed:
        connection = bed.connect()
        connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ")
        with suppress(OSError):
            for _ in range(1000):
                connection.sendall(b"x" * 10_000)
        assert status_of(read_all(connection)) == 431


def test_a_crowd_is_told_to_come_back(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, max_connections=4) as bed:
        idle = [bed.connect() for _ in range(4)]
        for connection in idle:
            connection.sendall(b"POST / HTTP/1.1\r\n")
        late = bed.connect()
        late.sendall(bed.head(f"content-length: {len(BODY)}") + BODY)
        answer = read_all(late)
        assert (status_of(answer), b"retry-after: 1" in answer) == (503, True)
        for connection in idle:
            connection.close()
        patient = bed.openai(max_retries=5)
        patient.chat.completions.create(model="m", messages=[{"role": "user", "content": "◇"}])
        assert bed.outcomes == ["answered"]


def test_a_larger_crowd_is_told_so_at_once(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, max_connections=2) as bed:
        for _ in range(4):
            bed.connect().sendall(b"POST / HTTP/1.1\r\n")
        answer = read_all(bed.connect())
        assert (status_of(answer), b"retry-after: 1" in answer) == (503, True)


def test_hundreds_of_promises_that_are_not_kept_leave_room_for_others(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, body_deadline_s=0.5, header_deadline_s=0.5) as bed, unharmed(bed):
        connections = [bed.connect() for _ in range(256)]
        for connection in connections:
            connection.sendall(bed.head("content-length: 1048576"))
        statuses = {status_of(read_all(connection)) for connection in connections}
        assert statuses == {400}


def test_many_large_bodies_at_once_are_held_within_bounds(tmp_path: Path) -> None:
    with proxy_bed(tmp_path) as bed, unharmed(bed):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        connections = [bed.connect() for _ in range(40)]
        promise, part = bed.head("content-length: 4194304"), b" " * 4_000_000
        statuses: list[int] = []

        def send(connection: socket.socket) -> None:
            with suppress(OSError):  # refused in the middle
                connection.sendall(promise + part)
            statuses.append(status_of(read_all(connection)))

        threads = [threading.Thread(target=send, args=(connection,)) for connection in connections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(statuses) == {400, 503}
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000  # KiB


def test_a_caller_who_reads_nothing_holds_up_nobody_else(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, Answer("x" * 20_000_000)) as bed:
        deaf = bed.connect()
        body = json.dumps(CHAT | {"max_tokens": 65_536}).encode()
        deaf.sendall(bed.head(f"content-length: {len(body)}") + body)
        bed.server.wait_for(1)
        assert bed.http().post("/v1/chat/completions", json=CHAT).status_code == 200


def test_a_wrong_token_costs_the_caller_its_connection_and_nobody_else_anything(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, caps=Caps(tokens=10_000)) as bed, unharmed(bed):
        connection = bed.connect()
        head = bed.head(f"content-length: {len(BODY)}").replace(bed.token.encode(), b"wrong")
        connection.sendall(head + BODY)
        assert status_of(read_all(connection)) == 401
