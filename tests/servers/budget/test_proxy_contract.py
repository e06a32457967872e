"""What the proxy says no with: the statuses and texts of the marathon track, and those that agents act on."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from ekiden_budget.prices import PriceList
from ekiden_budget.wire import Usage
from ekiden_config import PriceSettings
from ekiden_policies.budget import Caps
from proxy_bed import CHAT, ProxyBed, proxy_bed

EMBEDDING: dict[str, object] = {"model": "m", "input": "◇"}
MESSAGES: dict[str, object] = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "◇"}]}
BODIES: dict[str, dict[str, object]] = {
    "/v1/chat/completions": CHAT,
    "/chat/completions": CHAT,
    "/v1/responses": {"model": "m", "input": "◇"},
    "/v1/messages": MESSAGES,
    "/v1/messages?beta=true": MESSAGES,
    "/v1/embeddings": EMBEDDING,
}


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[ProxyBed]:
    with proxy_bed(tmp_path) as made:
        yield made


def error_of(body: dict[str, object]) -> str:
    error = body["error"]
    assert isinstance(error, dict)
    return str(error["message"])  # pyright: ignore[reportUnknownArgumentType]


@pytest.mark.parametrize("path", BODIES)
def test_every_address_takes_calls(bed: ProxyBed, path: str) -> None:
    assert bed.http().post(path, json=BODIES[path]).status_code == 200
    assert bed.server.heard[0].path == "/v1" + path.removeprefix("/v1")


def test_a_call_without_a_token_is_told_where_it_belongs(bed: ProxyBed) -> None:
    reply = bed.http(authorization="").post("/v1/chat/completions", json=CHAT)
    assert (reply.status_code, error_of(reply.json())) == (401, "unauthorized: missing Authorization: Bearer")


@pytest.mark.parametrize("shown", ["Bearer wrong", "Bearer ekb_" + "x" * 43, "bearer \xe9"])
def test_a_wrong_token_is_refused(bed: ProxyBed, shown: str) -> None:
    headers = {b"authorization": shown.encode("latin-1")}
    reply = bed.http().post("/v1/chat/completions", json=CHAT, headers=headers)
    assert (reply.status_code, error_of(reply.json())) == (401, "unauthorized: invalid shared secret")
    assert bed.server.heard == []


def test_the_token_may_come_as_an_api_key(bed: ProxyBed) -> None:
    reply = bed.http(authorization="", **{"x-api-key": bed.token}).post("/v1/messages", json=MESSAGES)
    assert reply.status_code == 200


def test_an_unknown_address_is_named(bed: ProxyBed) -> None:
    for path in ("/v1/completions", "/v1/files", "/", "/v1/v1/responses", "/v1/messages/batches"):
        reply = bed.http().post(path, json=CHAT)
        assert (reply.status_code, error_of(reply.json())) == (404, f"unsupported endpoint: {path}")
    assert bed.server.heard == []


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/v1/chat/completions", "POST"),
        ("HEAD", "/v1/models", "GET, POST"),
        ("HEAD", "/api/hello", "GET, POST"),
        ("OPTIONS", "/v1/chat/completions", "GET, POST"),
        ("PUT", "/v1/responses", "GET, POST"),
        ("DELETE", "/v1/messages", "GET, POST"),
        ("GET", "/v1/messages/count_tokens", "POST"),
        ("POST", "/v1/models", "GET"),
        ("POST", "/v1/budget", "GET"),
    ],
)
def test_other_methods_are_refused(bed: ProxyBed, method: str, path: str, allowed: str) -> None:
    reply = bed.http().request(method, path, json=CHAT)
    assert (reply.status_code, reply.headers["allow"]) == (405, allowed)


def test_health_needs_no_token(bed: ProxyBed) -> None:
    reply = bed.http(authorization="").get("/healthz")
    assert (reply.status_code, reply.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1:80", "[::2]", "localhost.evil:1", "["]
)
def test_another_host_is_refused_before_anything_else(bed: ProxyBed, host: str) -> None:
    reply = bed.http(host=host).post("/v1/chat/completions", json=CHAT)
    assert reply.status_code == 403
    assert bed.server.heard == []


@pytest.mark.parametrize("host", ["localhost", "LocalHost:1", "127.0.0.1:99", "[::1]:8"])
def test_loopback_has_several_names(bed: ProxyBed, host: str) -> None:
    assert bed.http(host=host).get("/v1/budget").status_code == 200


def test_a_body_is_a_json_object(bed: ProxyBed) -> None:
    post = bed.http().post
    bad = [b"{", b"\xff{}", b"nothing", b'{"model": "m" "n"}', b"[" * 100_000, b'{"seed": ' + b"9" * 5000 + b"}"]
    for body in bad:
        reply = post("/v1/chat/completions", content=body)
        assert reply.status_code == 400, body[:20]
        assert error_of(reply.json()).startswith("invalid JSON body: "), body[:20]
    for body in (b"[]", b"3", b"null", b'"text"'):
        reply = post("/v1/chat/completions", content=body)
        assert (reply.status_code, error_of(reply.json())) == (400, "request body must be a JSON object")
    reply = post("/v1/chat/completions", content=json.dumps({**CHAT, "temperature": float("nan")}))
    assert reply.status_code == 400
    assert bed.server.heard == []


def test_text_that_is_no_text_is_refused(bed: ProxyBed) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "\ud800"}]}
    reply = bed.http().post("/v1/chat/completions", content=json.dumps(body))
    assert reply.status_code == 400
    assert (bed.server.heard, bed.calls) == ([], [])


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
def test_a_body_is_neither_empty_nor_too_large(bed: ProxyBed, path: str) -> None:
    for body in (b"", b" " * 4_194_305, b'{"model": "' + b"x" * 5_000_000 + b'"}'):
        reply = bed.http().post(path, content=body)
        assert (reply.status_code, error_of(reply.json())) == (413, "request body must be 1..4194304 bytes")
    assert bed.server.heard == []


def test_the_largest_body_is_taken(bed: ProxyBed) -> None:
    body = json.dumps(CHAT).encode()
    assert bed.http().post("/v1/chat/completions", content=body.ljust(4_194_304)).status_code == 200


def test_a_body_may_come_in_chunks_of_unknown_number(bed: ProxyBed) -> None:
    body = json.dumps(CHAT).encode()
    reply = bed.http().post("/v1/chat/completions", content=iter([body[:5], body[5:]]))
    assert reply.status_code == 200
    reply = bed.http().post("/v1/chat/completions", content=(b"x" * 65_536 for _ in range(80)))
    assert reply.status_code == 413


def test_a_compressed_body_is_refused(bed: ProxyBed) -> None:
    reply = bed.http().post("/v1/chat/completions", content=b"\x1f\x8b", headers={"content-encoding": "gzip"})
    assert reply.status_code == 415


@pytest.mark.parametrize(
    ("messages", "named"),
    [
        ('[{"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "image_url"}]}]', "1"),
        ('[{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "input_audio"}]}]', "1"),
        ('[{"role": "user", "content": 7}]', "0"),
        ('["text"]', "0"),
    ],
)
def test_content_that_cannot_be_counted_is_refused_by_its_place(bed: ProxyBed, messages: str, named: str) -> None:
    reply = bed.http().post("/v1/chat/completions", json={"model": "m", "messages": json.loads(messages)})
    assert reply.status_code == 400
    assert f"[{named}]" in error_of(reply.json())
    assert (bed.server.heard, bed.calls) == ([], [])


def test_a_field_that_nobody_bounded_is_refused(bed: ProxyBed) -> None:
    reply = bed.http().post("/v1/chat/completions", json={**CHAT, "web_search_options": {}})
    assert reply.status_code == 400
    assert "'web_search_options'" in error_of(reply.json())


@pytest.mark.parametrize("path", BODIES)
def test_an_empty_budget_lets_not_a_byte_reach_the_upstream(tmp_path: Path, path: str) -> None:
    with proxy_bed(tmp_path, caps=Caps(tokens=0)) as bed:
        for stream in (False, True):
            body = BODIES[path] | ({} if "embeddings" in path else {"stream": stream})
            reply = bed.http().post(path, json=body)
            assert reply.status_code == (429 if "responses" in path else 402)
            assert error_of(reply.json()).startswith("token budget exhausted")
            assert reply.headers["x-should-retry"] == "false"
        bed.http().get("/v1/models")
        assert (bed.server.connections, bed.server.heard) == (0, [])


@pytest.mark.parametrize(
    ("caps", "text"),
    [
        (Caps(tokens=0), "token budget exhausted"),
        (Caps(nanodollars=0), "dollar budget exhausted"),
        (Caps(seconds=0), "time budget exhausted"),
        (Caps(), "budget closed"),
    ],
)
def test_a_budget_that_lets_no_call_through_counts_no_tokens_either(tmp_path: Path, caps: Caps, text: str) -> None:
    with proxy_bed(tmp_path, caps=caps) as bed:
        if caps == Caps():
            bed.ledger.close_budget(bed.status.budget)
        reply = bed.http().post("/v1/messages/count_tokens", json=MESSAGES)
        assert (reply.status_code, reply.headers["x-should-retry"]) == (402, "false")
        assert error_of(reply.json()).startswith(text)
        assert (reply.json()["type"], reply.json()["error"]["type"]) == ("error", "billing_error")
        assert bed.server.connections == 0


def test_a_refusal_says_the_numbers_and_costs_nothing(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, caps=Caps(tokens=100)) as bed:
        reply = bed.http().post("/v1/chat/completions", json=CHAT)
        assert reply.status_code == 402
        assert "100 tokens" in error_of(reply.json())
        told = {name: value for name, value in reply.headers.items() if name.startswith("x-")}
        assert told == {
            "x-should-retry": "false",
            "x-marathon-tokens-used-call": "0",
            "x-marathon-tokens-used-total": "0",
            "x-marathon-tokens-remaining": "100",
            "x-ekiden-budget-tokens-left": "100",
            "x-ekiden-budget-usd-used-call": "0",
            "x-ekiden-budget-usd-used-total": "0",
        }
        assert (bed.tokens, bed.status.reserved.tokens, bed.calls, bed.status.calls.refused) == (0, 0, [], 1)


def test_a_call_that_fills_its_budget_exactly_is_let_through(bed: ProxyBed) -> None:
    bed.http().post("/v1/chat/completions", json=CHAT)
    exact = bed.calls[0].reserved.tokens
    for cap, status in ((exact, 200), (exact - 1, 402)):
        child = bed.ledger.open_budget(f"cap {cap}", Caps(tokens=cap))
        client = bed.http(authorization=f"Bearer {child.token}")
        assert client.post("/v1/chat/completions", json=CHAT).status_code == status


def test_a_closed_budget_and_one_out_of_time_or_money_refuse_with_402(tmp_path: Path) -> None:
    prices = {"m": {"input_usd_per_million": "1", "output_usd_per_million": "10"}}
    with proxy_bed(tmp_path, prices=prices) as bed:
        closed = bed.ledger.open_budget("closed", Caps())
        bed.ledger.close_budget(closed.budget)
        late = bed.ledger.open_budget("late", Caps(seconds=0))
        poor = bed.ledger.open_budget("poor", Caps(nanodollars=1))
        for opened, text in ((closed, "closed"), (late, "time"), (poor, "dollar budget exhausted")):
            reply = bed.http(authorization=f"Bearer {opened.token}").post("/v1/chat/completions", json=CHAT)
            assert reply.status_code == 402
            assert text in error_of(reply.json())
        assert bed.server.heard == []


def test_a_model_without_a_price_is_refused_under_a_cap_in_dollars_with_the_lines_to_add(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, caps=Caps(nanodollars=10**9)) as bed:
        reply = bed.http().post("/v1/chat/completions", json={**CHAT, "model": 'open"ai/x'})
        text = error_of(reply.json())
        assert (reply.status_code, text.startswith("price unknown"), "ekiden.toml" in text) == (402, True, True)
        prices = tomllib.loads(text[text.index("[budget.prices.") :])["budget"]["prices"]
        assert PriceList({name: PriceSettings(**fields) for name, fields in prices.items()}).cost(
            'open"ai/x', Usage(1, 1)
        )
        assert bed.server.connections == 0


def test_client_libraries_do_not_ask_again_when_the_budget_is_spent(tmp_path: Path) -> None:
    with proxy_bed(tmp_path, caps=Caps(tokens=50)) as bed:
        client = bed.openai(max_retries=5)
        with pytest.raises(openai.APIStatusError) as refused:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "◇"}])
        assert (refused.value.status_code, refused.value.code) == (402, "insufficient_quota")
        with pytest.raises(openai.RateLimitError) as refused:  # what Codex takes for an end, and no 402
            client.responses.create(model="m", input="◇")
        assert (refused.value.type, refused.value.code) == ("usage_limit_reached", "insufficient_quota")
        with pytest.raises(Exception, match="token budget exhausted"):
            bed.anthropic(max_retries=5).messages.create(
                model="m", max_tokens=99, messages=[{"role": "user", "content": "◇"}]
            )
        assert bed.status.calls.refused == 3


def test_a_model_that_no_upstream_serves_is_refused_before_anything_is_reserved(bed: ProxyBed) -> None:
    upstream = {"base_url": bed.server.url, "models": ["gpt-*"]}
    folder = bed.ledger.path.parent / "second"
    folder.mkdir()
    with proxy_bed(folder, upstreams={"only": upstream}) as other:
        reply = other.http().post("/v1/chat/completions", json=CHAT)
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "model_not_found")
        assert other.calls == []
