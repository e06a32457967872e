"""Real agent clients for tests: where they are, and how one is run on a model server of our own.

`EKIDEN_TEST_AGENTS` names a folder that holds npm prefixes, one a client, as `.ci/run` fills it:

    npm install --prefix FOLDER/codex-0.128.0 @openai/codex@0.128.0

Without it, `codex` and `claude` are taken from the PATH.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from model_server import Answer, ToolCall

FOLDER_VARIABLE = "EKIDEN_TEST_AGENTS"
Kind = Literal["codex", "claude"]
_PROGRAMS: dict[Kind, tuple[str, ...]] = {
    "codex": ("codex-*/vendor/*/codex/codex", "codex-*/vendor/*/bin/codex"),
    "claude": ("claude-code-*/claude",),
}


@dataclass(frozen=True)
class Agent:
    """One installed client."""

    kind: Kind
    program: Path
    version: str

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.version}"


class Session(NamedTuple):
    """What an agent printed, and how it ended."""

    exit_code: int
    output: str
    errors: str


def installed_agents() -> list[Agent]:
    """Return the clients that are here, by kind and then the oldest first."""
    found = [Agent(kind, program, _version(program)) for kind in _PROGRAMS for program in sorted(_programs(kind))]
    return sorted(found, key=lambda agent: (agent.kind, [int(part) for part in agent.version.split(".")]))


def with_every_agent() -> pytest.MarkDecorator:
    """Return a mark that runs a test with each client that is here; it skips the test where none is."""
    why_not = f"Codex and Claude Code are not here: no folder in {FOLDER_VARIABLE} holds them, nor does the PATH"
    return pytest.mark.parametrize(
        "agent",
        [pytest.param(agent, id=agent.name) for agent in installed_agents()]
        or [pytest.param(None, id="none", marks=pytest.mark.skip(reason=why_not))],
    )


def _programs(kind: Kind) -> set[Path]:
    if folder := os.environ.get(FOLDER_VARIABLE):
        scopes = Path(folder).glob("*/node_modules/@*")
        return {file for scope in scopes for pattern in _PROGRAMS[kind] for file in scope.glob(pattern)}
    on_path = shutil.which(kind)
    return {Path(on_path)} if on_path else set()


def _version(program: Path) -> str:
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    found = re.search(r"\d+\.\d+\.\d+", told)
    assert found, f"{program} tells no version: {told!r}"
    return found.group()


def run_codex(
    agent: Agent, home: Path, configuration: str, variables: Mapping[str, str], prompt: str, *more: str
) -> Session:
    """Run Codex on one prompt.

    Args:
        agent: The client.
        home: A folder for all that it keeps.
        configuration: How it reaches its model, as a user would write it into `config.toml`.
        variables: What is in its environment.
        prompt: What it is asked.
        more: What stands before the prompt, such as `resume` and the id of a session.
    """
    (home / "codex").mkdir(parents=True, exist_ok=True)
    quiet = 'model = "gpt-5.5"\napproval_policy = "never"\nfeatures.plugins = false\nanalytics.enabled = false\n'
    (home / "codex" / "config.toml").write_text(quiet + configuration, encoding="utf-8")
    environment = {"HOME": str(home), "CODEX_HOME": str(home / "codex"), **variables}
    options = ["--json", "--skip-git-repo-check", "--sandbox", "danger-full-access"]
    return _run([str(agent.program), "exec", *options, *more, prompt], home, environment)


def run_claude(agent: Agent, home: Path, variables: Mapping[str, str], prompt: str, *more: str) -> Session:
    """Run Claude Code on one prompt.

    Args:
        agent: The client.
        home: A folder for all that it keeps.
        variables: How it reaches its model, as a user would export it.
        prompt: What it is asked.
        more: Further options.
    """
    quiet = ("DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER")
    off = dict.fromkeys((*quiet, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"), "1")
    options = ["--output-format", "stream-json", "--verbose", "--strict-mcp-config", *more]
    home.mkdir(parents=True, exist_ok=True)
    return _run([str(agent.program), "-p", prompt, *options], home, {"HOME": str(home), **off, **variables})


def mcp_patience(agent: Agent) -> tuple[Answer, ...]:
    """Return answers in which a model waits for its servers: Claude Code starts without those that are slow."""
    wait = ToolCall("WaitForMcpServers", id="call_0")  # for five seconds at most; an error, and harmless, once all run
    return (Answer(tool_calls=(wait,)),) * 3 if agent.kind == "claude" else ()


def mcp_call(agent: Agent, server: str, tool: str, arguments: Mapping[str, object], call: str) -> Answer:
    """Return an answer in which a model calls a tool of an MCP server.

    Args:
        agent: The client that is to make the call.
        server: The server's name.
        tool: The tool's name.
        arguments: What it is called with.
        call: The call's id.
    """
    told = json.dumps(arguments)
    if agent.kind == "claude":
        return Answer(tool_calls=(ToolCall(f"mcp__{server}__{tool}", told, call),))
    namespace = f"mcp__{server}__" if agent.version == "0.128.0" else f"mcp__{server}"
    item = {"type": "function_call", "call_id": call, "namespace": namespace, "name": tool, "arguments": told}
    events: list[dict[str, object]] = [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1"}},
    ]
    return Answer(body="".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events).encode())


def _run(command: list[str], home: Path, environment: dict[str, str]) -> Session:
    """Run a client in a workspace of its own, with nothing of this process's environment but the PATH."""
    workspace = home / "workspace"
    workspace.mkdir(exist_ok=True)
    done = subprocess.run(
        command,
        cwd=workspace,
        env={"PATH": os.environ["PATH"], **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    return Session(done.returncode, done.stdout, done.stderr)
