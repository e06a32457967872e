"""Codex and Claude Code, the real ones, are run; what their session files tell of it is what happened."""

import json
from collections import Counter
from pathlib import Path

import pytest

from agent_clients import Agent, Session, run_claude, run_codex, with_every_agent
from ekiden_store.sessions.session import SessionFile, SessionReport, session_files
from ekiden_store.steps import Step
from ekiden_store.store import Store
from model_server import Answer, ModelServer, ToolCall

PROVIDER = 'model_provider = "local"\nweb_search = "disabled"\n[model_providers.local]\nname = "local"\n'

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
every_agent = with_every_agent()


def run(agent: Agent, model: ModelServer, home: Path, prompt: str, session: str = "") -> Session:
    """Run an agent on a prompt, in a session that is there already or in a new one."""
    if agent.kind == "codex":
        reach = f'base_url = "{model.url}"\nwire_api = "responses"\nenv_key = "MODEL_KEY"\n'
        more = ("resume", session) if session else ()
        return run_codex(agent, home, PROVIDER + reach, {"MODEL_KEY": "any"}, prompt, *more)
    reach = {"ANTHROPIC_BASE_URL": model.address, "ANTHROPIC_API_KEY": "any"}
    more = ("--resume", session) if session else ()
    return run_claude(agent, home, reach, prompt, "--allowedTools", "Bash", *more)


def shell(agent: Agent, *commands: str) -> tuple[ToolCall, ...]:
    """Return calls that have an agent run commands."""
    if agent.kind == "codex":
        given = [("exec_command", {"cmd": command}) for command in commands]
    else:
        given = [("Bash", {"command": command, "description": "Try"}) for command in commands]
    return tuple(ToolCall(name, json.dumps(told), f"call_{told!r}"[:40]) for name, told in given)


def read(agent: Agent, home: Path, *, is_over: bool = False) -> tuple[list[Step], SessionReport]:
    """Return the steps of the one session that an agent left."""
    (file,) = session_files(home / {"codex": "codex", "claude": ".claude"}[agent.kind], agent.kind)
    session = SessionFile(file, theorem_name="target", is_over=is_over)
    return list(session.steps()), session.report


def tokens_of(steps: list[Step]) -> list[tuple[int | None, int | None]]:
    return [(step.tokens_in, step.tokens_out) for step in steps if step.kind == "model_call"]


def calls_of(steps: list[Step]) -> list[tuple[str, str, str]]:
    calls = [step for step in steps if step.kind == "tool_call"]
    return [(step.outcome, step.failure_kind, step.tool_output.split("\n")[-1]) for step in calls]


@every_agent
def test_a_session_that_is_killed_and_resumed_is_imported_as_it_grows_and_nothing_is_lost_or_doubled(
    agent: Agent, tmp_path: Path
) -> None:
    home, store = tmp_path / "home", Store(tmp_path / "store")
    both = Answer("I try.", tool_calls=shell(agent, "printf one", "printf two; exit 3"), tokens=(1000, 50))
    dies = Answer(tool_calls=shell(agent, "kill -9 $PPID"), tokens=(1200, 52))
    script = (both, Answer("It is tried.", tokens=(1100, 51)), dies, Answer("It is over.", tokens=(1300, 53)))
    counts: list[int] = []
    with ModelServer(*script) as model:
        for turn, code in enumerate((0, -9, 0)):
            told = run(agent, model, home, f"prompt {turn}", read(agent, home)[1].session if turn else "")
            assert told.exit_code == code, told
            steps, report = read(agent, home)
            assert (report.unknown, report.damaged, report.torn) == (Counter(), 0, False)
            assert report.unfinished == (1 if code else 0)
            with store.writer(producer="test") as writer:
                writer.append(steps)
            with store.snapshot() as snapshot:
                counts.append(snapshot.count())
            assert counts[-1] == len({step.row_id for step in steps}) == len(steps)
    steps, report = read(agent, home)
    assert counts == sorted(set(counts))
    assert tokens_of(steps) == [(1000, 50), (1100, 51), (1200, 52), (1300, 53)]
    assert calls_of(steps) == [("ok", "", "one"), ("failed", "exit_code", "two"), ("failed", "no_result", "")]
    prompts = [step.tool_input for step in steps if step.tool == "user"]
    assert [text for text in prompts if text.startswith("prompt")] == ["prompt 0", "prompt 1", "prompt 2"]
    said = [step.tool_output for step in steps if step.tool == "assistant"]
    assert said == ["I try.", "It is tried.", "It is over."]
    assert {step.attempt_id for step in steps} == {report.session}
    assert [step.step for step in steps] == list(range(len(steps)))


@every_agent
def test_a_session_whose_agent_was_killed_is_over_when_one_says_so(agent: Agent, tmp_path: Path) -> None:
    dies = Answer("I try.", tool_calls=shell(agent, "kill -9 $PPID"), tokens=(1000, 50))
    with ModelServer(dies) as model:
        assert run(agent, model, tmp_path / "home", "prompt").exit_code == -9
    steps, report = read(agent, tmp_path / "home", is_over=True)
    assert (tokens_of(steps), calls_of(steps)) == ([(1000, 50)], [("failed", "no_result", "")])
    assert report.unfinished == 0
