"""Codex and Claude Code, the real ones: they ask the proof graph, and patch a blueprint only where they may."""

import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from agent_clients import (
    Agent,
    Session,
    mcp_call,
    mcp_patience,
    run_claude,
    run_codex,
    with_every_agent,
)
from blueprint_graphs import node, text_of
from ekiden_config import default_settings
from ekiden_kit.client_config import Launch, merged
from ekiden_kit.table import ClientName, entries
from model_server import Answer, Heard, ModelServer

SERVERS = ("dag_tracker", "apply_patch")
PROMPT = "Prove the lemma 'target'."
FILE = "Main.lean"
BLUEPRINT = text_of(
    node("lemma first : True", body="trivial"),
    node("lemma target : True", "lem:first"),
    node("theorem last : True", "lem:target"),
)
PROVED = BLUEPRINT.replace("  sorry_using [first]\n", "  exact first\n")
INSIDE = "*** Begin Patch\n@@ lemma target : True := by\n-  sorry_using [first]\n+  exact first\n*** End Patch"
OUTSIDE = "*** Begin Patch\n@@ theorem last : True := by\n-  sorry_using [target]\n+  trivial\n*** End Patch"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
every_agent = with_every_agent()


@pytest.fixture
def blueprint(tmp_path: Path) -> Path:
    """Return the file of a blueprint of three nodes, in a folder of its own."""
    file = tmp_path / "project" / FILE
    file.parent.mkdir()
    file.write_text(BLUEPRINT, encoding="utf-8")
    return file


def run(agent: Agent, model: ModelServer, blueprint: Path, home: Path) -> Session:
    """Run an agent that has both servers as `ekiden client-config` renders them, and may edit the node `target`."""
    project = str(blueprint.parent)
    scope = {"APPLY_PATCH_WORKSPACE": project, "APPLY_PATCH_TARGET_FILE": FILE, "APPLY_PATCH_NODE": "target"}
    variables = {"DAG_PROJECT_ROOT": project, "DAG_TARGET_FILE": FILE, "MODEL_KEY": "any", **scope}
    if agent.kind == "codex":
        provider = f'name = "local"\nbase_url = "{model.url}"\nwire_api = "responses"\nenv_key = "MODEL_KEY"\n'
        configuration = f'model_provider = "local"\nweb_search = "disabled"\n[model_providers.local]\n{provider}'
        return run_codex(agent, home, configuration + servers_for("codex"), variables, PROMPT)
    reach = {"ANTHROPIC_BASE_URL": model.address, "ANTHROPIC_API_KEY": "any"}
    config = home.with_name("mcp.json")
    config.write_text(servers_for("claude"), encoding="utf-8")
    allowed = [f"mcp__{server}" for server in SERVERS]
    options = ["--mcp-config", str(config), "--allowedTools", *allowed]
    return run_claude(agent, home, reach | variables, PROMPT, *options)


def servers_for(client: ClientName) -> str:
    """Return the file with which an agent finds the servers, as `ekiden client-config` renders it."""
    program = Path(sys.executable).with_name("ekiden")
    return merged(client, "", entries(SERVERS), Launch.over_stdio(str(program)), default_settings())


def received(heard: Heard, call: str) -> str:
    """Return what a model reads, in a request, as the result of a call; "" when that is not in the request."""
    for item in items_of(heard):
        if item["type"] == "function_call_output" and item["call_id"] == call:
            return text_in(item["output"])
        if item["type"] == "tool_result" and item["tool_use_id"] == call:
            return text_in(item["content"])
    return ""


def items_of(heard: Heard) -> list[dict[str, object]]:
    """Return what a request consists of: its input for Codex, the blocks of its messages for Claude Code."""
    body = cast("dict[str, list[dict[str, object]]]", heard.json)
    contents = [message["content"] for message in body.get("messages", [])]
    blocks = [cast("list[dict[str, object]]", content) for content in contents if isinstance(content, list)]
    return [*body.get("input", []), *(block for each in blocks for block in each)]


def text_in(content: object) -> str:
    """Return the text of a result: text, blocks of text, or, in Codex 0.128.0, blocks that are written as JSON."""
    if isinstance(content, list):
        content = "\n".join(block.get("text", "") for block in cast("list[dict[str, str]]", content))
    told = re.sub(r"\AWall time: .*\nOutput:\n", "", str(content))
    return text_in(json.loads(told)) if told.startswith("[") else told


def line_of(text: str) -> int:
    """Return the number of the line where some text begins in the blueprint."""
    return BLUEPRINT[: BLUEPRINT.index(text)].count("\n") + 1


@dataclass
class Mender:
    """A model whose first patch was refused, and that then does what the refusal says."""

    agent: Agent
    blueprint: Path
    refusal: str = ""
    file_then: str = ""
    success: str = ""

    def __call__(self, heard: Heard) -> Answer:
        """Patch the nearest span that may be edited; once that is done, stop."""
        if success := received(heard, "call_2"):
            self.success = success
            return Answer("It is proved.")
        self.refusal = received(heard, "call_1")
        self.file_then = self.blueprint.read_text(encoding="utf-8")
        found = re.search(r"nearest editable span is body (\d+):1-(\d+):1", self.refusal)
        if not found:
            return Answer("I cannot tell what to do.")
        start, end = (int(line) - 1 for line in found.groups())
        goes = "".join(f"-{line}\n" for line in self.file_then.splitlines()[start:end])
        patch = f"*** Begin Patch\n@@\n{goes}+  exact first\n*** End Patch"
        return mcp_call(self.agent, "apply_patch", "apply_patch", {"patch": patch}, "call_2")


@every_agent
def test_an_agent_asks_the_graph_and_patches_the_node_it_may_edit(
    agent: Agent, blueprint: Path, tmp_path: Path
) -> None:
    answers = (
        *mcp_patience(agent),
        mcp_call(agent, "dag_tracker", "parent_nodes", {"lean_name": "target"}, "call_1"),
        mcp_call(agent, "apply_patch", "apply_patch", {"patch": INSIDE}, "call_2"),
        Answer("It is proved."),
    )
    with ModelServer(*answers) as model:
        session = run(agent, model, blueprint, tmp_path / "home")
        asked = [heard for heard in model.heard if heard.method == "POST"]
    assert session.exit_code == 0, session
    assert len(asked) == len(answers), session
    parents = json.loads(received(asked[-1], "call_1"))
    assert (parents["target"], parents["parent_nodes"], parents["count"]) == ("target", ["first"], 1)
    assert json.loads(received(asked[-1], "call_2"))["modified"] == [FILE]
    assert blueprint.read_text(encoding="utf-8") == PROVED


@every_agent
def test_a_refusal_tells_an_agent_why_where_and_what_it_may_edit_instead(
    agent: Agent, blueprint: Path, tmp_path: Path
) -> None:
    answers = (*mcp_patience(agent), mcp_call(agent, "apply_patch", "apply_patch", {"patch": OUTSIDE}, "call_1"))
    mender = Mender(agent, blueprint)
    with ModelServer(*answers, responder=mender) as model:
        session = run(agent, model, blueprint, tmp_path / "home")
    refused, body = line_of("  sorry_using [target]"), line_of("  sorry_using [first]")
    lines = mender.refusal.splitlines()
    assert lines[0] == f"out_of_scope: The patch of '{FILE}' is refused; nothing was written.", session
    assert lines[1].startswith("- outside_scope: ")
    assert f"at original {refused}:" in lines[1]
    assert lines[1].endswith(f"the nearest editable span is body {body}:1-{body + 1}:1.")
    assert json.loads(lines[-1])["violations"][0]["nearest"] == f"body {body}:1-{body + 1}:1"
    assert mender.file_then == BLUEPRINT
    assert json.loads(mender.success)["modified"] == [FILE]
    assert blueprint.read_text(encoding="utf-8") == PROVED
    assert session.exit_code == 0, session
