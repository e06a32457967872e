"""Upstreams that fail, stall or break off, and callers that go away: what is answered, and what is billed."""

import json
import socket
import threading
from pathlib import Path

import anthropic
import httpx2
import openai
import pytest

from ekiden_policies.budget import Caps
from model_server import Answer, refusal
from proxy_bed import CHAT, KEY, ProxyBed, proxy_bed, read_all

MESSAGES: dict[str, object] = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "◇"}]}
RESPONSES: dict[str, object] = {"model": "m", "input": "◇", "max_output_tokens": 50}
PATHS: dict[str, dict[str, object]] = {
    "/v1/chat/completions": {**CHAT, "max_tokens": 50},
    "/v1/responses": RESPONSES,
    "/v1/messages": MESSAGES,
}


def post(bed: ProxyBed, path: str = "/v1/chat/completions", **more: object) -> httpx2.Response:
    return bed.http().post(path, json=PATHS[path] | more)


def message_of(reply: httpx2.Response) -> str:
    return str(reply.json()["error"]["message"])


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("free", [True, False])
def test_an_upstream_that_cannot_be_reached_costs_what_the_run_says(tmp_path: Path, path: str, free: bool) -> None:
    upstream = {"base_url": f"http://127.0.0.1:{closed_port()}/v1", "dialects": ["chat", "responses", "messages"]}
    with proxy_bed(tmp_path, upstreams={"gone": upstream}, unsent_is_free=free) as bed:
        reply = post(bed, path)
        assert reply.status_code == 502
        assert message_of(reply).startswith("upstream error: ClientConnectorError: no connection to 127.0.0.1:")
        [call] = bed.calls
        assert (call.outcome, bed.tokens) == ("unsent", 0 if free else call.reserved.tokens)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("status", [429, 503, 529])
@pytest.mark.parametrize("stream", [False, True])
def test_a_call_that_was_turned_away_is_sent_again_within_one_reservation(
    tmp_path: Path, path: str, status: int, stream: bool
) -> None:
    script = refusal(status, retry_after="0"), refusal(status, retry_after="0"), Answer("17", tokens=(9, 3))
    with proxy_bed(tmp_path, *script) as bed:
        reply = post(bed, path, stream=stream)
        assert (reply.status_code, "17" in reply.text) == (200, True)
        assert len(bed.server.heard) == 3
        assert (bed.outcomes, bed.tokens) == (["answered"], 12)


def test_a_call_that_a_gateway_lost_is_not_sent_again_and_costs_its_reservation(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, refusal(502), Answer("17", tokens=(9, 3)), caps=Caps(tokens=10_000)) as bed:
        reply = post(bed)
        assert reply.status_code == 502
        [call] = bed.calls
        assert reply.headers["x-marathon-tokens-used-call"] == str(call.reserved.tokens)
        assert reply.headers["x-marathon-tokens-remaining"] == str(10_000 - call.reserved.tokens)
        assert (call.outcome, bed.tokens, len(bed.server.heard)) == ("failed", call.reserved.tokens, 1)


def test_an_upstream_that_keeps_refusing_is_left_alone_at_last(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, *[refusal(429, "slow down", retry_after="0")] * 6) as bed:
        reply = post(bed)
        assert (reply.status_code, message_of(reply)) == (502, "upstream error: HTTP 429: slow down")
        assert (reply.headers["retry-after"], "x-should-retry" in reply.headers) == ("0", False)
        agents = post(bed, "/v1/messages")
        assert (agents.status_code, agents.headers["retry-after"]) == (429, "0")
        assert agents.content == refusal(429, "slow down").body
        assert len(bed.server.heard) == 6
        assert (bed.outcomes, bed.tokens) == (["unsent", "unsent"], 0)


def test_a_long_wait_is_the_callers_own(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, refusal(429, retry_after="3600")) as bed:
        reply = post(bed, "/v1/responses")
        assert (reply.status_code, reply.headers["retry-after"]) == (429, "3600")
        assert len(bed.server.heard) == 1


def test_an_error_with_a_bill_is_neither_sent_again_nor_free(tmp_path: Path) -> None:
    billed: dict[str, object] = {"error": {"message": "too late"}, "usage": {"input_tokens": 4, "output_tokens": 2}}
    with proxy_bed(tmp_path, refusal(503, body=billed)) as bed:
        assert post(bed, "/v1/messages").status_code == 503
        assert len(bed.server.heard) == 1
        assert (bed.outcomes, bed.tokens) == (["answered"], 6)


@pytest.mark.parametrize(
    "error",
    [
        {"code": "tool_use_failed"},
        {"code": ["odd"], "failed_generation": "<function"},
        {"code": "content_filter"},
        {"usage": {"prompt_tokens": 4}},
    ],
)
def test_a_refusal_that_came_after_the_model_worked_is_not_free(tmp_path: Path, error: dict[str, object]) -> None:
    with proxy_bed(tmp_path, refusal(400, body={"error": {"message": "no", **error}})) as bed:
        assert post(bed).status_code == 502
        assert (bed.outcomes, bed.tokens, len(bed.server.heard)) == (["failed"], bed.calls[0].reserved.tokens, 1)


@pytest.mark.parametrize(("status", "outcome"), [(400, "unsent"), (404, "unsent"), (422, "unsent"), (500, "failed")])
def test_an_error_goes_to_agents_as_it_is_and_to_the_track_as_502(tmp_path: Path, status: int, outcome: str) -> None:
    with proxy_bed(tmp_path, *[refusal(status, "no such thing")] * 4) as bed:
        reply = post(bed)
        assert (reply.status_code, message_of(reply)) == (502, f"upstream error: HTTP {status}: no such thing")
        assert (reply.headers["x-ekiden-upstream-status"], reply.headers["x-should-retry"]) == (str(status), "false")
        for path in ("/v1/responses", "/v1/messages"):
            agents = post(bed, path)
            assert (agents.status_code, agents.content) == (status, refusal(status, "no such thing").body)
        assert bed.outcomes == [outcome] * 3
        assert len(bed.server.heard) == 3


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("status", [401, 402, 403])
def test_trouble_with_the_owners_account_is_no_callers_business(tmp_path: Path, path: str, status: int) -> None:
    with proxy_bed(tmp_path, refusal(status, f"Incorrect API key provided: {KEY[:6]}...{KEY[-4:]}")) as bed:
        reply = post(bed, path)
        assert reply.status_code == 502
        assert "whoever runs the budget" in message_of(reply)
        assert KEY[-4:] not in reply.text
        assert reply.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("path", PATHS)
def test_an_upstream_that_repeats_its_key_is_not_repeated(tmp_path: Path, path: str) -> None:
    with proxy_bed(tmp_path, refusal(400, f"header was Bearer {KEY}")) as bed:
        reply = post(bed, path)
        assert "header was Bearer ***" in message_of(reply)


def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    elsewhere = Answer(status=302, headers={"location": "http://127.0.0.1:1/v1"}, body=b"")
    with proxy_bed(tmp_path, elsewhere) as bed:
        reply = post(bed, "/v1/responses")
        assert (reply.status_code, "location" in reply.headers) == (502, False)
        assert message_of(reply) == "upstream error: HTTP 302"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("answer", [Answer(reset_after=0), Answer(cut_after=0), Answer("17", reset_after=2)])
def test_a_plain_call_that_breaks_off_is_billed_at_its_reservation(tmp_path: Path, path: str, answer: Answer) -> None:
    with proxy_bed(tmp_path, answer) as bed:
        reply = post(bed, path)
        assert reply.status_code == 502
        assert message_of(reply).startswith("upstream error: ")
        [call] = bed.calls
        assert (call.outcome, bed.tokens, len(bed.server.heard)) == ("failed", call.reserved.tokens, 1)


def test_a_client_does_not_ask_again_what_was_billed_already(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, Answer(reset_after=0)) as bed:
        with pytest.raises(openai.InternalServerError, match="upstream error"):
            bed.openai(max_retries=5).chat.completions.create(
                model="m", messages=[{"role": "user", "content": "◇"}], max_tokens=50
            )
        assert bed.outcomes == ["failed"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("pieces", [0, 1, 2])
def test_an_upstream_that_falls_silent_is_left(tmp_path: Path, path: str, pieces: int) -> None:
    with proxy_bed(tmp_path, Answer("17", pause_after=pieces), upstream_timeout_s=0.3) as bed:
        reply = post(bed, path)
        assert reply.status_code == 502
        assert message_of(reply).startswith("upstream error: ")
        bed.server.wait_for_hangups(1)
        [call] = bed.calls
        assert (call.outcome, bed.tokens) == ("failed", call.reserved.tokens)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("fault", ["cut", "reset", "silence"])
def test_a_stream_that_breaks_off_says_so_and_is_billed_at_its_reservation(
    tmp_path: Path, path: str, fault: str
) -> None:
    text = "a long answer of many pieces"
    answers = {
        "cut": Answer(text, cut_after=3),
        "reset": Answer(text, reset_after=3),
        "silence": Answer(text, pause_after=3),
    }
    with proxy_bed(tmp_path, answers[fault], upstream_timeout_s=0.3) as bed:
        reply = post(bed, path, stream=True)
        assert reply.status_code == 200
        events = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: ")]
        told = events[-1].get("error") or events[-1]["response"]["error"]
        assert "upstream error: " in told["message"]
        [call] = bed.calls
        assert (call.outcome, bed.tokens) == ("failed", call.reserved.tokens)


def test_client_libraries_raise_when_a_stream_breaks_off(tmp_path: Path) -> None:
    broken = Answer("a long answer of many pieces", cut_after=4)
    with proxy_bed(tmp_path, broken, broken, broken) as bed:
        with pytest.raises(openai.APIError, match="upstream error"):
            list(
                bed.openai().chat.completions.create(
                    model="m", messages=[{"role": "user", "content": "◇"}], stream=True
                )
            )
        kinds = [event.type for event in bed.openai().responses.create(model="m", input="◇", stream=True)]
        assert kinds[-1] == "response.failed"
        stream = bed.anthropic().messages.create(
            model="m", max_tokens=50, messages=[{"role": "user", "content": "◇"}], stream=True
        )
        with pytest.raises(anthropic.APIError, match="upstream error"):
            list(stream)


def test_a_failure_that_the_upstream_tells_in_its_stream_is_passed_on_and_billed(tmp_path: Path) -> None:
    failed = b'event: response.failed\ndata: {"type": "response.failed", "response": {"status": "failed"}}\n\n'
    with proxy_bed(tmp_path, Answer(body=failed)) as bed:
        assert post(bed, "/v1/responses", stream=True).content == failed
        [call] = bed.calls
        assert (call.outcome, bed.tokens) == ("failed", call.reserved.tokens)


def test_a_plain_call_whose_caller_hangs_up_is_billed_what_it_used(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, Answer("17", tokens=(11, 5), pause_after=0)) as bed:
        body = json.dumps(CHAT).encode()
        connection = bed.connect()
        connection.sendall(bed.head(f"content-length: {len(body)}") + body)
        bed.server.wait_for(1)
        connection.close()
        bed.server.release()
        bed.proxy.close(drain_s=20)
        assert (bed.outcomes, bed.tokens) == (["answered"], 16)


@pytest.mark.parametrize("path", PATHS)
def test_a_stream_whose_caller_hangs_up_is_ended_upstream_and_billed_at_its_reservation(
    tmp_path: Path, path: str
) -> None:
    with proxy_bed(tmp_path, Answer("a long answer of many pieces", pause_after=4)) as bed:
        body = json.dumps(PATHS[path] | {"stream": True}).encode()
        connection = bed.connect()
        connection.sendall(bed.head(f"content-length: {len(body)}", path=path) + body)
        assert connection.recv(1).startswith(b"H")
        bed.server.wait_for(1)
        connection.close()
        bed.server.wait_for_hangups(1)
        bed.proxy.close(drain_s=20)
        [call] = bed.calls
        assert (call.outcome, call.detail, bed.tokens) == ("failed", "the caller hung up", call.reserved.tokens)


def test_a_stream_left_after_its_usage_came_is_billed_what_it_used(tmp_path: Path) -> None:
    usage = b'data: {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 5}}\n\n'
    with proxy_bed(tmp_path, Answer(body=usage + b" " * len(usage), pause_after=2)) as bed:
        body = json.dumps(CHAT | {"stream": True, "stream_options": {"include_usage": True}}).encode()
        connection = bed.connect()
        connection.sendall(bed.head(f"content-length: {len(body)}") + body)
        seen = b""
        while b"usage" not in seen:
            seen += connection.recv(65_536)
        connection.close()
        bed.server.wait_for_hangups(1)
        bed.proxy.close(drain_s=20)
        assert (bed.outcomes, bed.tokens) == (["answered"], 16)


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_in_flight_at_the_end_is_billed(tmp_path: Path, stream: bool) -> None:
    with proxy_bed(tmp_path, Answer("a long answer of many pieces", pause_after=3 if stream else 0)) as bed:
        body = json.dumps(CHAT | {"stream": stream}).encode()
        connection = bed.connect()
        connection.sendall(bed.head(f"content-length: {len(body)}", "connection: close") + body)
        if stream:
            connection.recv(1)
        bed.server.wait_for(1)
        bed.proxy.close(drain_s=0)
        assert b"the proxy is closing" in read_all(connection)
        bed.server.wait_for_hangups(1)
        [call] = bed.calls
        assert (call.outcome, bed.tokens) == ("failed", call.reserved.tokens)


def test_closing_waits_for_calls_in_flight_as_long_as_it_is_told(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, Answer("17", tokens=(11, 5), pause_after=0)) as bed:
        replies: list[int] = []
        caller = threading.Thread(target=lambda: replies.append(post(bed).status_code))
        caller.start()
        bed.server.wait_for(1)
        closing = threading.Thread(target=lambda: bed.proxy.close(drain_s=20))
        closing.start()
        bed.server.release()
        caller.join()
        closing.join()
        assert (replies, bed.outcomes, bed.tokens) == ([200], ["answered"], 16)


def test_a_closed_proxy_can_be_closed_again(tmp_path: Path) -> None:
    with proxy_bed(tmp_path) as bed:
        bed.proxy.close(drain_s=0)
        bed.proxy.close(drain_s=1)
        with pytest.raises(httpx2.ConnectError):
            bed.http().get("/healthz")


def test_calls_of_a_budget_that_is_closed_meanwhile_are_settled(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, Answer("17", tokens=(11, 5), pause_after=0), caps=Caps(tokens=10_000)) as bed:
        replies: list[int] = []
        caller = threading.Thread(target=lambda: replies.append(post(bed).status_code))
        caller.start()
        bed.server.wait_for(1)
        bed.ledger.close_budget(bed.status.budget)
        bed.server.release()
        caller.join()
        assert (replies, bed.tokens, bed.status.reserved.tokens) == ([200], 16, 0)
        assert post(bed).status_code == 402
