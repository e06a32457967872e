"""The cases of the SAIR judge's marathon harness about tokens and keys, each under its name there.

Its cases set counters of the proxy by hand; here real calls to a scripted upstream make them what they are.
"""

import os
import select
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest

from marathon_bed import Bed
from model_server import Answer, ModelServer
from orchestrator.marathon.solver_sources import HELPER, SDK, WAIT_FOR_EVER

TOKENS = 1000
NEARLY_ALL = Answer("said", tokens=(10, TOKENS - 15))


def test_token_kill_settled_tokens_end_the_run(bed: Bed, models: ModelServer) -> None:
    models.script(Answer("said", tokens=(10, TOKENS - 10)))
    source = HELPER + "report(reply=call_llm('Prove it', config={'max_output_tokens': 500}))" + WAIT_FOR_EVER
    summary = bed.run(bed.solver(source), tokens=TOKENS)
    assert (summary.sigterm_fired, summary.sigterm_reason) == (True, "tokens")
    assert (summary.tokens_used, summary.tokens_exhausted) == (TOKENS, True)
    assert f"Tokens used:   {TOKENS:,} / {TOKENS:,} (exhausted)" in bed.printed


def test_token_tamper_inert(bed: Bed, models: ModelServer) -> None:
    del models
    source = """
for folder in (scratch, os.path.join(scratch, "_proxy_state"), os.path.join(scratch, "..", "..", "..", "_proxy_state")):
    try:
        os.makedirs(folder, exist_ok=True)
        for name in ("tokens_used.txt", "tokens_used.txt.tmp"):
            with open(os.path.join(folder, name), "w") as file:
                file.write("999999999")
    except OSError:
        pass
report(done=True)
"""
    summary = bed.run(bed.solver(source), seconds=10, tokens=100)
    assert bed.scratch_report() == {"done": True}
    assert (summary.exit_code, summary.sigterm_fired, summary.tokens_exhausted) == (0, False, False)
    assert summary.tokens_used == 0


def test_over_budget_call_rejected(bed: Bed, models: ModelServer) -> None:
    models.script(NEARLY_ALL)
    source = SDK + "report(first=ask('Prove it', max_tokens=500), second=ask('Prove it', max_tokens=4096))"
    summary = bed.run(bed.solver(source), tokens=TOKENS)
    assert bed.scratch_report() == {"first": "said", "second": 402}
    assert (summary.exit_code, summary.sigterm_fired, summary.tokens_used) == (0, False, TOKENS - 5)
    assert summary.model_calls == {"answered": 1, "refused": 1}
    assert len(models.heard) == 1


def test_upstream_failure_bills_reservation(bed: Bed, key: str) -> None:
    del key
    bed.connect("http://127.0.0.1:1/v1", retries=0)
    summary = bed.run(bed.solver(SDK + "report(status=ask('Prove it', max_tokens=50))"), seconds=60, tokens=100_000)
    assert bed.scratch_report() == {"status": 502}
    assert summary.exit_code == 0
    assert 50 <= summary.tokens_used <= 1000
    assert summary.model_calls == {"unsent": 1}
    assert summary.notes == ("The contract bills calls that no upstream took at their reservations: 1 here.",)


def test_multipart_prompt_charged_correctly(bed: Bed, models: ModelServer) -> None:
    source = """
part = {"type": "text", "text": "x" * 25_000}
image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
report(long=ask([part, part], max_tokens=1), image=ask([part, image], max_tokens=1))
"""
    summary = bed.run(bed.solver(SDK + source), seconds=15, tokens=15_000)
    assert bed.scratch_report() == {"long": 402, "image": 400}
    assert (summary.tokens_used, models.connections) == (0, 0)


def test_watchdog_uses_settled_only(bed: Bed, models: ModelServer) -> None:
    """A reservation that fills the budget to its last token is no reason to end a solver that waits for the answer."""
    source = HELPER + "report(reply=call_llm('Prove it', config={'max_output_tokens': 500}))"
    folder = bed.solver(source)
    models.script(Answer("said", usage="missing"))
    reservation = bed.run(folder, tokens=TOKENS).tokens_used
    other = bed.again()
    models.script(Answer("said", tokens=(3, 4), pause_after=0))
    events = other.run_folder / "events.jsonl"
    with ThreadPoolExecutor(1) as runner:
        run = runner.submit(other.run, folder, manifest=other.manifest(3), tokens=reservation)
        models.wait_for(2)
        _wait_for_heartbeats(events, 3)
        models.release()
        summary = run.result()
    assert reservation > 500
    assert "response" in str(other.scratch_report()["reply"])
    assert (summary.exit_code, summary.sigterm_fired, summary.tokens_exhausted) == (0, False, False)
    assert summary.tokens_used == 7


def _wait_for_heartbeats(events: Path, more: int) -> None:
    """Wait until the runner has looked at its solver several times more."""
    wanted = events.read_bytes().count(b'"heartbeat"') + more
    pause = select.poll()
    while events.read_bytes().count(b'"heartbeat"') < wanted:
        pause.poll(20)


def test_zero_token_budget_rejects_llm(bed: Bed, models: ModelServer) -> None:
    source = (
        "report(helper=call_llm('Prove it'), sdk=ask('Prove it', max_tokens=1), left=marathon_llm.budget_remaining())"
    )
    summary = bed.run(bed.solver(HELPER + SDK + source), tokens=0)
    refusal = {"error": "token budget is zero — no LLM calls allowed", "budget_remaining": 0}
    assert bed.scratch_report() == {"helper": refusal, "sdk": 402, "left": 0}
    assert (summary.exit_code, summary.sigterm_fired, summary.tokens_exhausted) == (0, False, False)
    assert models.connections == 0


def test_proxy_slowloris_bounded(bed: Bed, models: ModelServer) -> None:
    bed.connect(models.url, body_deadline_s=0.5)
    source = """
import socket
host, port = os.environ["OPENAI_BASE_URL"].split("/")[2].split(":")
head = (f"POST /v1/chat/completions HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n"
    f"Authorization: Bearer {os.environ['OPENAI_API_KEY']}\\r\\nContent-Length: {1 << 20}\\r\\n\\r\\n").encode()
slow = [socket.create_connection((host, int(port))) for _ in range(256)]
for each in slow:
    each.sendall(head)
ends = 0
for each in slow:
    try:
        while each.recv(65536): pass
    except ConnectionResetError:
        pass
    ends += 1
report(ends=ends, reply=call_llm("Prove it", config={"max_output_tokens": 100}))
"""
    models.script(Answer("17", tokens=(3, 4)))
    summary = bed.run(bed.solver(HELPER + source), tokens=TOKENS)
    report = bed.scratch_report()
    assert report["ends"] == 256
    assert report["reply"] == {
        "response": "17",
        "tokens_used_call": 7,
        "tokens_used_total": 7,
        "budget_remaining": TOKENS - 7,
    }
    assert (summary.exit_code, summary.tokens_used) == (0, 7)


SPY = """
keys = {name: value for name, value in os.environ.items() if name.endswith("_API_KEY")}
found = []
for entry in os.listdir("/proc"):
    if entry.isdigit():
        for part in ("environ", "cmdline"):
            try:
                with open(f"/proc/{entry}/{part}", "rb") as file:
                    if b"the-runners-" + b"own-key" in file.read():
                        found.append(f"{entry}/{part}")
            except OSError:
                pass
report(keys=keys, found=found, openai=os.environ["OPENAI_BASE_URL"], anthropic=os.environ["ANTHROPIC_BASE_URL"],
       values=[name for name, value in os.environ.items() if "the-runners-" + "own-key" in value])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_key_isolation(bed: Bed, *, keys_are_kept: bool) -> None:
    if not keys_are_kept:
        pytest.skip("this system has no user namespaces")
    upstream = ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "DEEPSEEK_API_KEY", "ANTHROPIC_API_KEY")
    command = [Path(sys.executable).parent / "ekiden", "marathon", "run", "--solver", bed.solver(SPY), "--manifest"]
    command += [bed.manifest(1), "--budget-seconds", "10", "--budget-tokens", "100", "--output-dir", bed.run_folder]
    environment = {**os.environ, **dict.fromkeys(upstream, "the-runners-own-key")}
    done = subprocess.run(command, cwd=bed.root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = bed.scratch_report()
    tokens = cast("dict[str, str]", report["keys"])
    assert tokens.keys() == {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"}
    (token,) = set(tokens.values())
    assert token.startswith("ekb_")
    assert (report["found"], report["values"]) == ([], [])
    assert str(report["openai"]).startswith("http://127.0.0.1:")
    assert str(report["openai"]) == f"{report['anthropic']}/v1"
    written = {path.name: path.read_bytes() for path in bed.run_folder.rglob("*") if path.is_file()}
    assert "budget.sqlite3" in written
    assert [name for name, data in written.items() if b"the-runners-own-key" in data] == []
    assert [name for name, data in written.items() if token.encode() in data] == ["report.json"]
