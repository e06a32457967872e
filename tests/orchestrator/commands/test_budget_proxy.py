"""`ekiden budget proxy` as a process: what it says, what it serves, and how it ends."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from openai import OpenAI

from command_line import ekiden
from ekiden_budget.ledger import Ledger
from ekiden_policies.budget import Caps
from model_server import Answer, ModelServer

PROGRAM = [sys.executable, "-c", "from ekiden_orchestrator.main import main; main()", "budget", "proxy"]
KEY = "sk-the-runners-own"
ANSWER = Answer("17", tokens=(20, 5))


@contextmanager
def running(
    folder: Path, server: ModelServer, *arguments: str, token: str = ""
) -> Generator[subprocess.Popen[str], None, None]:
    """Run the command with one upstream."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("EKIDEN_", "OPENAI", "ANTHROPIC"))
    }
    environment = kept | {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url, "EKIDEN_BUDGET_TOKEN": token}
    command = [*PROGRAM, "--ledger", str(folder / "ledger.sqlite3"), *arguments]
    with subprocess.Popen(
        command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def said_until(process: subprocess.Popen[str], text: str) -> str:
    """Return the lines up to the one that begins with a text."""
    assert process.stdout is not None
    lines: list[str] = []
    while not (lines and lines[-1].startswith(text)):
        line = process.stdout.readline()
        assert line, process.communicate()
        lines.append(line)
    return "".join(lines)


def ask(url: str, token: str) -> str | None:
    with OpenAI(base_url=f"{url}/v1", api_key=token, max_retries=0) as client:
        answer = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "What is 8 + 9?"}], max_tokens=100
        )
    return answer.choices[0].message.content


@pytest.mark.parametrize("request_to_end", [signal.SIGINT, signal.SIGTERM])
def test_what_is_said_is_enough_to_call_a_model_and_the_key_is_not_in_it(tmp_path: Path, request_to_end: int) -> None:
    with ModelServer(ANSWER) as server, running(tmp_path, server, "paper", "--tokens", "5000") as process:
        said = said_until(process, "env_key")
        values = dict(re.findall(r"^export (\w+)=(\S+)$", said, re.MULTILINE))
        codex = tomllib.loads(said[said.index("model_provider") :])["model_providers"]["ekiden"]
        url, token = values["ANTHROPIC_BASE_URL"], values["OPENAI_API_KEY"]
        assert values == {
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_API_KEY": token,
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": token,
            "EKIDEN_BUDGET_TOKEN": token,
        }
        assert (codex["base_url"], codex["env_key"]) == (f"{url}/v1", "EKIDEN_BUDGET_TOKEN")
        assert KEY not in said
        assert f"openai ({server.url})" in said
        ledger = f" --ledger {shlex.quote(str(tmp_path.resolve() / 'ledger.sqlite3'))}\n"
        assert re.search(rf"  ekiden budget watch b\w+{re.escape(ledger)}", said)
        assert ask(url, token) == "17"
        assert server.heard[0].headers["authorization"] == f"Bearer {KEY}"
        process.send_signal(request_to_end)
        rest, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")
    assert re.search(rf"^Still open; close it with: ekiden budget close b\w+{re.escape(ledger)}", rest, re.MULTILINE)
    assert re.search(
        r"^paper \[b\w+\]: 25 / 5,000 tokens, \$0\.00 \(without 1 unpriced\), .* 1 answered", rest, re.MULTILINE
    )


def test_programs_read_the_addresses_and_the_token_as_json(tmp_path: Path) -> None:
    with ModelServer(ANSWER) as server, running(tmp_path, server, "--json") as process:
        facts = json.loads(said_until(process, "{"))
        assert ask(facts["url"], facts["token"]) == "17"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == ("", "")
    with Ledger(tmp_path / "ledger.sqlite3") as ledger:
        assert ledger.status(facts["budget_id"]).settled.tokens == 25


def test_a_call_in_flight_at_the_end_is_answered_and_billed(tmp_path: Path) -> None:
    held = Answer("17", tokens=(20, 5), pause_after=0)
    with ModelServer(held) as server, running(tmp_path, server, "--json") as process:
        facts = json.loads(said_until(process, "{"))
        with ThreadPoolExecutor() as pool:
            asking = pool.submit(ask, facts["url"], facts["token"])
            server.wait_for(1)
            process.send_signal(signal.SIGINT)
            server.release()
            assert asking.result(30) == "17"
        assert process.wait(30) == 0
    with Ledger(tmp_path / "ledger.sqlite3") as ledger:
        assert ledger.status(facts["budget_id"]).settled.tokens == 25


def test_a_token_of_the_environment_is_served_and_not_said_again(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.sqlite3") as ledger:
        opened = ledger.open_budget("mine", Caps(tokens=5000))
    with ModelServer(ANSWER) as server, running(tmp_path, server, token=opened.token) as process:
        said = said_until(process, "env_key")
        assert opened.token not in said
        assert "mine [" in said
        told = said.index("# First set EKIDEN_BUDGET_TOKEN to the budget's token in the shell of the callers.")
        assert told < said.index('export OPENAI_API_KEY="$EKIDEN_BUDGET_TOKEN"')
        url = re.findall(r"export ANTHROPIC_BASE_URL=(\S+)", said)[0]
        assert ask(url, opened.token) == "17"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    with Ledger(tmp_path / "ledger.sqlite3") as ledger:
        assert [status.settled.tokens for status in ledger.tree()] == [25]


def test_what_keeps_the_proxy_from_being_served_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "DEEPSEEK_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("EKIDEN_BUDGET_LEDGER", str(tmp_path / "ledger.sqlite3"))

    def refusal(*arguments: object) -> str:
        done = ekiden("budget", "proxy", *arguments)
        assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        return done.stderr

    assert "There is no model to call: set one of OPENROUTER_API_KEY" in refusal()
    assert not (tmp_path / "ledger.sqlite3").exists()
    monkeypatch.setenv("OPENAI_API_KEY", "ekb_somebodys")
    told = refusal()
    assert "OPENAI_API_KEY holds the token of a budget" in told
    assert "ekb_" not in told
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with Ledger(tmp_path / "ledger.sqlite3") as ledger:
        opened = ledger.open_budget("mine", Caps())
        monkeypatch.setenv("EKIDEN_BUDGET_TOKEN", opened.token)
        assert "has its caps; give none" in refusal("--tokens", 5)
        assert "EKIDEN_BUDGET_TOKEN is for the budget 'mine', not 'other'" in refusal("other")
        monkeypatch.delenv("EKIDEN_BUDGET_TOKEN")
        told = refusal("mine", "--tokens", 5)
        assert f"A budget 'mine' is open already [{opened.budget}]" in told
        assert f"ekiden budget renew {opened.budget}" in told
        with ModelServer() as taken:
            assert "Cannot listen on 127.0.0.1:" in refusal("--port", taken.url.split(":")[2].split("/")[0])
        assert [status.name for status in ledger.tree()] == ["mine"], "a proxy that never was opened no budget"
