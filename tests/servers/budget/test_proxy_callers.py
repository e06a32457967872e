"""Many callers at once, and a proxy that is killed: the cap is never passed, and what was spent stays spent."""

import json
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import httpx2
import pytest

from ekiden_budget.ledger import Ledger
from ekiden_policies.budget import Caps
from model_server import Answer, Heard, ModelServer, echo
from proxy_bed import CHAT, ProxyBed, proxy_bed

CALLERS = 64
FITTING = 40
MESSAGES: dict[str, object] = {"model": "m", "max_tokens": 60, "messages": [{"role": "user", "content": "◇"}]}
RESPONSES: dict[str, object] = {"model": "m", "input": "◇", "max_output_tokens": 60}

PROXY = """
import sys
from pathlib import Path
from ekiden_budget.ledger import Ledger
from ekiden_budget.serving import Proxy
from ekiden_budget.upstreams import find_upstreams
from ekiden_policies.budget import Caps
sys.path.insert(0, sys.argv[3])
from proxy_bed import KEY, budget_settings
settings = budget_settings(sys.argv[2])
upstreams = find_upstreams(settings, {"SCRIPTED_KEY": KEY})
with Ledger(Path(sys.argv[1])) as ledger, Proxy(ledger, upstreams, settings) as proxy:
    opened = ledger.open_budget("run", Caps(tokens=100_000))
    print(proxy.url, opened.budget, opened.token, flush=True)
    sys.stdin.read()
"""


def post_all(bed: ProxyBed, asked: list[tuple[str, dict[str, object]]]) -> list[int]:
    """Make calls all at once and return their statuses."""
    client = bed.http()

    def post(call: tuple[str, dict[str, object]]) -> int:
        path, body = call
        return client.post(path, json=body).status_code

    with ThreadPoolExecutor(len(asked)) as threads:
        return list(threads.map(post, asked))


@pytest.mark.parametrize("stream", [False, True])
def test_of_64_callers_40_fit_and_24_are_refused(tmp_path: Path, stream: bool) -> None:
    call = {**CHAT, "max_tokens": 100, "stream": stream}
    with proxy_bed(tmp_path) as bed:
        bed.http().post("/v1/chat/completions", json=call)
        one = bed.calls[0].reserved.tokens
        shared = bed.ledger.open_budget("shared", Caps(tokens=FITTING * one))
        bed.token, bed.budget = shared.token, shared.budget

        def cost_all(_: Heard) -> Answer:
            return Answer("17", tokens=(one - 100, 100), pause_after=0)

        bed.server.respond_with(cost_all)
        with ThreadPoolExecutor(1) as waiting:
            waiting.submit(lambda: (bed.server.wait_for(1 + FITTING), bed.server.release()))
            statuses = post_all(bed, [("/v1/chat/completions", call)] * CALLERS)
        assert (statuses.count(200), statuses.count(402)) == (FITTING, CALLERS - FITTING)
        status = bed.status
        assert (status.settled.tokens, status.reserved.tokens) == (FITTING * one, 0)
        assert (status.calls.answered, status.calls.refused) == (FITTING, CALLERS - FITTING)
        assert len(bed.server.heard) == 1 + FITTING


@pytest.mark.parametrize("seed", range(3))
def test_callers_of_all_kinds_never_pass_the_cap(tmp_path: Path, seed: int) -> None:
    choose = random.Random(seed)
    faults = [
        Answer("a long answer of many pieces", tokens=(20, 30)),
        Answer("17", usage="missing"),
        Answer("17", cut_after=2),
        Answer("17", reset_after=0),
        Answer(status=500, body=b"{}"),
        Answer(status=400, body=b"{}"),
    ]
    kinds: list[tuple[str, dict[str, object]]] = [
        ("/v1/chat/completions", {**CHAT, "max_tokens": 60}),
        ("/v1/messages", MESSAGES),
        ("/v1/responses", RESPONSES),
    ]
    asked = [(path, body | {"stream": choose.random() < 0.5}) for path, body in choose.choices(kinds, k=CALLERS)]
    with proxy_bed(tmp_path, caps=Caps(tokens=6_000), max_connections=128) as bed:
        bed.server.script(*choose.choices(faults, weights=(6, 1, 1, 1, 1, 1), k=CALLERS))
        statuses = post_all(bed, asked)
        assert set(statuses) <= {200, 400, 402, 429, 500, 502}
        status = bed.status
        calls = bed.calls
        assert status.settled.tokens <= 6_000
        assert (status.reserved.tokens, status.calls.open) == (0, 0)
        assert status.settled.tokens == sum(call.billed.tokens for call in calls if call.billed)
        assert len(calls) + status.calls.refused == CALLERS


def test_callers_of_several_children_share_the_cap_above_them(tmp_path: Path) -> None:
    with proxy_bed(tmp_path) as bed:
        bed.http().post("/v1/chat/completions", json=CHAT)
        one = bed.calls[0].reserved.tokens
        root = bed.ledger.open_budget("root", Caps(tokens=5 * one))
        children = [bed.ledger.open_budget(str(place), Caps(tokens=3 * one), parent=root.budget) for place in range(4)]
        bed.server.respond_with(lambda _: Answer("17", tokens=(one, 0), pause_after=0))
        clients = [bed.http(authorization=f"Bearer {child.token}") for child in children for _ in range(4)]

        def post(client: httpx2.Client) -> int:
            return client.post("/chat/completions", json=CHAT).status_code

        with ThreadPoolExecutor(1) as waiting, ThreadPoolExecutor(16) as threads:
            waiting.submit(lambda: (bed.server.wait_for(1 + 5), bed.server.release()))
            statuses = list(threads.map(post, clients))
        assert sorted(statuses) == [200] * 5 + [402] * 11
        assert bed.ledger.status(root.budget).settled.tokens == 5 * one
        assert all(bed.ledger.status(child.budget).settled.tokens <= 3 * one for child in children)


def test_a_killed_proxy_has_spent_what_its_calls_may_have_used(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite3"
    with ModelServer(Answer("17", tokens=(11, 5)), Answer("18", pause_after=0), responder=echo) as server:
        command = [sys.executable, "-c", PROXY, str(path), server.url, str(Path(__file__).parents[2])]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with process:
            assert process.stdout is not None
            url, budget, token = process.stdout.readline().split()
            with httpx2.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=30) as client:
                assert client.post("/v1/chat/completions", json=CHAT).status_code == 200
                with ThreadPoolExecutor(1) as threads:
                    lost = threads.submit(client.post, "/v1/chat/completions", json=CHAT)
                    server.wait_for(2)
                    process.send_signal(signal.SIGKILL)
                    with pytest.raises(httpx2.HTTPError):
                        lost.result()
    with Ledger(path) as ledger:
        [found] = ledger.tree()
        assert (found.budget, found.settled.tokens, found.calls.open) == (budget, 16, 1)
        assert ledger.recover() == 1
        after = ledger.status(found.budget)
        newest, oldest = ledger.calls(found.budget)
        assert (oldest.outcome, newest.outcome) == ("answered", "abandoned")
        assert after.settled.tokens == 16 + newest.reserved.tokens
        assert after.reserved.tokens == 0


def test_two_runs_with_the_scripted_model_cost_the_same(tmp_path: Path) -> None:
    told: list[tuple[list[str], int]] = []
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
        with proxy_bed(tmp_path / place) as bed:
            texts = [bed.http().post("/v1/messages", json=MESSAGES | {"stream": s}).text for s in (False, True)]
            told.append((texts, bed.tokens))
    assert told[0] == told[1]
    assert json.loads(told[0][0][0])["content"][0]["text"].startswith("Answer ")


def test_a_call_waits_for_a_process_that_is_at_work_on_the_ledger(tmp_path: Path) -> None:
    with proxy_bed(tmp_path) as bed, closing(sqlite3.connect(bed.ledger.path, isolation_level=None)) as other:
        bed.http().post("/v1/chat/completions", json=CHAT)
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as threads:
            waiting = threads.submit(post_all, bed, [("/v1/chat/completions", CHAT)])
            while not any(thread.name.startswith("AnyIO worker") for thread in threading.enumerate()):
                assert not waiting.done()
                threading.Event().wait(0.01)
            other.execute("ROLLBACK")
            assert waiting.result() == [200]
        assert bed.outcomes == ["answered"] * 2
