"""Codex and Claude Code, the real ones: metered to the token, and still as soon as their budget is out."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from agent_clients import Agent, Session, run_claude, run_codex, with_every_agent
from ekiden_config import default_settings
from ekiden_kit.client_config import Launch, merged
from ekiden_kit.table import ClientName, entries
from ekiden_orchestrator.commands.budget_clients import Access
from ekiden_policies.budget import Caps
from model_server import Answer, ToolCall
from proxy_bed import ProxyBed, proxy_bed

PROMPT = "Say what 8 + 9 is."
COMMAND = "echo $((8 + 9))"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
every_agent = with_every_agent()


def run(agent: Agent, bed: ProxyBed, home: Path, *, server: bool = False) -> Session:
    """Run an agent with the very lines that `ekiden budget proxy` prints, and the MCP server `budget` if asked for."""
    shell, _, codex = Access(bed.proxy.url, bed.token).paste().partition("config.toml\n")
    if agent.kind == "codex":
        return run_codex(agent, home, codex + (server_for("codex") if server else ""), environment(bed), PROMPT)
    exported = dict(re.findall(r"^export (\w+)=(\S+)$", shell, re.MULTILINE))
    options = ["--allowedTools", "Bash"]
    if server:
        home.with_name("mcp.json").write_text(server_for("claude"), encoding="utf-8")
        options = ["--mcp-config", str(home.with_name("mcp.json")), "--allowedTools", "mcp__budget"]
    return run_claude(agent, home, exported | environment(bed), PROMPT, *options)


def environment(bed: ProxyBed) -> dict[str, str]:
    """Return what an agent of a budget has in its environment."""
    return {"EKIDEN_BUDGET_TOKEN": bed.token, "EKIDEN_BUDGET_LEDGER": str(bed.ledger.path)}


def server_for(client: ClientName) -> str:
    """Return the file with which an agent finds the server, as `ekiden client-config` renders it."""
    program = Path(sys.executable).with_name("ekiden")
    return merged(client, "", entries(["budget"]), Launch.over_stdio(str(program)), default_settings())


def shell_call(agent: Agent) -> ToolCall:
    """Return the call with which a model has the agent run a command."""
    if agent.kind == "codex":
        return ToolCall("exec_command", json.dumps({"cmd": COMMAND}))
    return ToolCall("Bash", json.dumps({"command": COMMAND, "description": "Add"}), id="toolu_1")


def events(session: Session) -> Iterator[dict[str, object]]:
    """Return what an agent told about its work, line by line."""
    return (cast("dict[str, object]", json.loads(line)) for line in session.output.splitlines() if line[:1] == "{")


def said(session: Session) -> str:
    """Return the last thing that an agent said."""
    texts = [""]
    for event in events(session):
        item = cast("dict[str, str]", event.get("item", {}))
        if event["type"] == "item.completed" and item["type"] == "agent_message":
            texts.append(item["text"])
        elif event["type"] == "result":
            texts.append(str(event["result"]))
    return texts[-1]


@every_agent
def test_an_agent_works_with_its_tools_and_is_metered_to_the_token(agent: Agent, tmp_path: Path) -> None:
    asks_for_a_tool = Answer(tool_calls=(shell_call(agent),), tokens=(21_000, 50))
    answers = Answer("It is 17.", tokens=(21_300, 9))
    with proxy_bed(tmp_path, asks_for_a_tool, answers) as bed:
        session = run(agent, bed, tmp_path / "home")
        assert session.exit_code == 0, session
        assert said(session) == "It is 17."
        first, second = (heard for heard in bed.server.heard if heard.method == "POST")
        assert "17" in second.prompt.removeprefix(first.prompt), "what the command printed reached the model"
        assert bed.tokens == 21_000 + 50 + 21_300 + 9
        assert bed.status.reserved.tokens == 0
        dialect = {"codex": "responses", "claude": "messages"}[agent.kind]
        assert [(call.outcome, call.label.dialect, call.label.stream) for call in bed.calls] == [
            ("answered", dialect, True),
            ("answered", dialect, True),
        ]
        assert {
            heard.headers.get("authorization", heard.headers.get("x-api-key", "")) for heard in (first, second)
        } <= {
            "Bearer sk-the-runners-own",
            "sk-the-runners-own",
        }
        assert bed.token not in repr(bed.server.heard), "the upstream never sees the budget's token"


@every_agent
def test_an_agent_whose_budget_runs_out_in_its_work_stops_at_the_first_refusal(agent: Agent, tmp_path: Path) -> None:
    # The first call fits; what it leaves is less than what any second one reserves.
    dear = Answer(tool_calls=(shell_call(agent),), tokens=(150_000, 50))
    with proxy_bed(tmp_path, dear, caps=Caps(tokens=160_000)) as bed:
        session = run(agent, bed, tmp_path / "home")
        assert bed.tokens == 150_050, session
        assert Counter(heard.method for heard in bed.server.heard)["POST"] == 1
        assert bed.status.calls.answered == 1
        assert bed.status.calls.refused == 1, f"{bed.status.calls.refused} requests after the budget was out"
        assert session.exit_code == 1
        assert said_to_be_out(session), session


@every_agent
def test_an_agent_without_any_budget_asks_once_and_nothing_reaches_the_upstream(agent: Agent, tmp_path: Path) -> None:
    with proxy_bed(tmp_path, caps=Caps(tokens=0)) as bed:
        session = run(agent, bed, tmp_path / "home")
        assert bed.server.connections == 0
        assert (bed.status.calls.refused, bed.tokens) == (1, 0), session
        assert session.exit_code == 1
        assert said_to_be_out(session), session


@every_agent
def test_an_agent_sees_through_the_server_what_is_left_of_its_budget(agent: Agent, tmp_path: Path) -> None:
    answers = (*patience(agent), status_call(agent), Answer("Enough is left."))
    with proxy_bed(tmp_path, *answers, caps=Caps(tokens=1_000_000)) as bed:
        session = run(agent, bed, tmp_path / "home", server=True)
        assert said(session) == "Enough is left.", session
        asked = [heard for heard in bed.server.heard if heard.method == "POST"]
        assert len(asked) == len(answers)
        told = re.search(
            r'"limit": ?"tokens".{0,200}?"spent": ?(\d+), ?"reserved": ?(\d+), ?"left": ?(\d+)', asked[-1].prompt
        )
        assert told, asked[-1].prompt[-2000:]
        spent, reserved, left = map(int, told.groups())
        assert spent + reserved + left == 1_000_000
        before = sum(call.billed.tokens for call in bed.calls[: len(patience(agent))] if call.billed)
        # Claude Code may run a tool before the answer that asks for it has ended: then that call is still in flight.
        assert (spent, reserved) in {(before + 20_010, 0), (before, bed.calls[-2].reserved.tokens)}


def patience(agent: Agent) -> tuple[Answer, ...]:
    """Return answers in which a model waits for its servers: Claude Code starts without those that are slow."""
    wait = ToolCall("WaitForMcpServers", id="toolu_0")  # for five seconds at most; an error, and harmless, once all run
    return (Answer(tool_calls=(wait,), tokens=(1_000, 10)),) * 3 if agent.kind == "claude" else ()


def status_call(agent: Agent) -> Answer:
    """Return an answer in which a model asks the server `budget` how the budget stands."""
    if agent.kind == "claude":
        return Answer(tool_calls=(ToolCall("mcp__budget__budget_status", id="toolu_1"),), tokens=(20_000, 10))
    namespace = "mcp__budget__" if agent.version == "0.128.0" else "mcp__budget"
    call = {"type": "function_call", "call_id": "call_1", "name": "budget_status", "arguments": "{}"}
    ended = {"id": "resp_1", "usage": {"input_tokens": 20_000, "output_tokens": 10, "total_tokens": 20_010}}
    sent: list[dict[str, object]] = [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": call | {"namespace": namespace}},
        {"type": "response.completed", "response": ended},
    ]
    return Answer(body="".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in sent).encode())


def said_to_be_out(session: Session) -> bool:
    """Tell whether an agent told its user that a budget is out."""
    return bool(re.search("budget exhausted|usage limit|[Qq]uota exceeded", session.output))
