"""Attempts as trajectories of ATIF: nothing is lost either way."""

import json
import math
from pathlib import Path
from typing import cast

import atif
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_store.columns import COLUMNS
from ekiden_store.errors import StoreError
from ekiden_store.sessions.atif import export_attempt, import_trajectory, read_trajectory
from ekiden_store.sessions.session import SessionFile
from ekiden_store.steps import Step

SESSIONS = sorted((Path(__file__).parents[2] / "data" / "sessions").glob("*.jsonl"))
Json = dict[str, object]
FOREIGN: Json = {
    "schema_version": "ATIF-v1.8",
    "session_id": "run-9",
    "trajectory_id": "main",
    "agent": {
        "name": "open hands",
        "version": "beta",
        "model_name": "m-1",
        "tool_definitions": [{"type": "function", "function": {"name": "now", "parameters": {}}}],
        "extra": {"seed": 3},
    },
    "notes": "by hand",
    "continued_trajectory_ref": "next.json",
    "extra": {"lab": {"room": None}},
    "final_metrics": {"total_prompt_tokens": 7, "extra": {"energy": 1.5}},
    "steps": [
        {"step_id": 1, "source": "system", "message": "You prove.", "extra": {"kind": "rules"}},
        {
            "step_id": 2,
            "source": "user",
            "timestamp": "2026-01-01T10:00:00+02:00",
            "message": [
                {"type": "text", "text": "Prove"},
                {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}},
            ],
        },
        {
            "step_id": 3,
            "source": "agent",
            "timestamp": "2026-01-01T08:00:01Z",
            "reasoning_effort": "high",
            "reasoning_content": "It is Wednesday.",
            "message": "Let me check.",
            "tool_calls": [
                {"tool_call_id": "c1", "function_name": "now", "arguments": {"zone": None}, "extra": {"tries": 2}},
                {"tool_call_id": "c2", "function_name": "later", "arguments": {}},
                {"tool_call_id": "c3", "function_name": "patch", "arguments": {"input": "*** Begin"}},
                {"tool_call_id": "c4", "function_name": "odd", "arguments": {"input": '{"a": 1}'}},
            ],
            "observation": {
                "results": [
                    {"source_call_id": "c2", "content": ""},
                    {
                        "source_call_id": "c1",
                        "content": [{"type": "text", "text": "12:00"}],
                        "extra": {"cached": False},
                    },
                    {"content": "a bell rings", "subagent_trajectory_ref": [{"trajectory_id": "sub"}]},
                ]
            },
            "metrics": {
                "prompt_tokens": 120,
                "completion_tokens": 18,
                "cached_tokens": 100,
                "cost_usd": 0.0012345678912,
                "logprobs": [-0.5],
                "completion_token_ids": [4],
                "extra": {"reasoning_tokens": 9},
            },
            "llm_call_count": 2,
        },
        {"step_id": 4, "source": "agent", "message": "", "llm_call_count": 0},
        {"step_id": 5, "source": "agent", "message": "dispatched", "llm_call_count": 0, "is_copied_context": True},
        {"step_id": 6, "source": "agent", "message": "Again.", "model_name": "m-2"},
        {"step_id": 7, "source": "agent", "message": "Same.", "model_name": "m-1"},
    ],
    "subagent_trajectories": [
        {
            "schema_version": "ATIF-v1.7",
            "trajectory_id": "sub",
            "agent": {"name": "helper", "version": "1.0"},
            "steps": [{"step_id": 1, "source": "user", "message": "ring"}],
        }
    ],
}
texts = st.text(max_size=12) | st.sampled_from(
    ["{}", '{"a": 1}', '{"input": "x"}', "⊢ p ∧ q", "\n\n", "trajectory", "atif"]
)
values = {
    "text": texts,
    "texts": st.lists(texts, max_size=2).map(tuple),
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "uint64": st.integers(0, 2**64 - 1),
}


@st.composite
def rows(draw: st.DrawFn) -> list[Step]:
    """Return the steps of an attempt, of any kind and in any order."""
    columns = [column for column in COLUMNS if column.name not in {"attempt_id", "step"}]
    made: list[Step] = []
    for number in range(draw(st.integers(1, 6))):
        chosen = draw(st.lists(st.sampled_from(columns), max_size=6))
        told: Json = {
            one.name: draw(st.sampled_from(one.choices) if one.choices else values[one.type]) for one in chosen
        }
        told["kind"] = draw(st.sampled_from(("message", "tool_call", "model_call", "tactic", "verdict", "search_node")))
        if told["kind"] == "message":
            told["tool"] = draw(st.sampled_from(("user", "assistant", "reasoning", "developer", "atif", "trajectory")))
        fixed: Json = {"theorem_name": "t", "timestamp_ms": 5, "attempt_id": "a", "step": number}
        made.append(Step(**{**fixed, **told}))  # pyright: ignore[reportArgumentType]  # columns by their names
    return made


def without_ours(trajectory: Json) -> Json:
    """Return a trajectory without what Ekiden adds."""
    clean = dict(trajectory)
    extra = dict(cast("Json", clean.pop("extra")))
    del extra["ekiden"]
    below = [without_ours(one) for one in cast("list[Json]", clean.get("subagent_trajectories", []))]
    return clean | ({"extra": extra} if extra else {}) | ({"subagent_trajectories": below} if below else {})


def again(trajectory: Json) -> Json:
    """Return a trajectory as a file would hold it."""
    return json.loads(json.dumps(trajectory, allow_nan=False))


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_session_goes_to_atif_and_comes_back_whole(path: Path) -> None:
    steps = list(SessionFile(path, theorem_name="target", run_id="run-1", iteration=2).steps())
    trajectory = again(export_attempt(reversed(steps)))
    assert import_trajectory(trajectory) == steps
    model = atif.Trajectory.model_validate(trajectory)
    name, _, version = path.stem.partition("-")
    assert (model.agent.name, model.agent.version) == (name, version)
    assert {turn.source for turn in model.steps} <= {"system", "user", "agent"}


def test_atif_tells_a_session_in_its_own_words() -> None:
    path = next(path for path in SESSIONS if "0.169" in path.name)
    trajectory = export_attempt(SessionFile(path, theorem_name="target").steps())
    model = atif.Trajectory.model_validate(trajectory)
    turn = model.steps[4]
    assert (turn.source, turn.message, turn.reasoning_content, turn.timestamp) == (
        "agent",
        "I look at the graph first.",
        "The lemma follows from `first`.",
        "2026-11-22T01:23:35.581Z",
    )
    assert turn.metrics == atif.Metrics(prompt_tokens=1000, completion_tokens=50, extra={"reasoning_tokens": 7})
    assert turn.tool_calls == [
        atif.ToolCall(
            tool_call_id="call_5_1", function_name="mcp__dag_tracker__parent_nodes", arguments={"lean_name": "target"}
        )
    ]
    assert turn.observation is not None
    assert turn.observation.results[0].source_call_id == "call_5_1"
    assert str(turn.observation.results[0].content).endswith('"parent_nodes":["first"],"count":1}')
    assert model.agent.model_name == "gpt-5.5"
    assert model.final_metrics == atif.FinalMetrics(
        total_prompt_tokens=8800, total_completion_tokens=233, total_cached_tokens=7000, total_steps=len(model.steps)
    )


def test_a_search_goes_to_atif_and_comes_back_whole() -> None:
    steps = [
        Step(theorem_name="t", kind="search_node", attempt_id="a", state_pp="⊢ p", row_id="r0", timestamp_ms=1),
        Step(
            theorem_name="t",
            kind="tactic",
            attempt_id="a",
            step=1,
            row_id="r1",
            tactic_applied="simp",
            state_before="⊢ p",
            parent_state_id=0,
            state_id=1,
            llm_log_prob=-math.inf,
            label="negative",
            lean_messages=("no progress",),
            timestamp_ms=2,
        ),
        Step(theorem_name="t", kind="verdict", attempt_id="a", step=2, verdict="accepted", row_id="r2", timestamp_ms=3),
    ]
    trajectory = again(export_attempt(steps))
    assert import_trajectory(trajectory) == steps
    turns = cast("list[Json]", trajectory["steps"])
    assert cast("list[Json]", turns[1]["tool_calls"])[0]["arguments"] == {"tactic": "simp", "state": "⊢ p"}
    assert turns[2]["message"] == "accepted"


def test_an_attempt_with_subagents_goes_to_atif_and_comes_back_whole() -> None:
    steps = [
        Step(
            theorem_name="t",
            kind="message",
            attempt_id=attempt,
            step=step,
            tool="user",
            tool_input=attempt,
            timestamp_ms=9,
            row_id=f"{attempt}:{step}",
        )
        for attempt in ("a", "a/x", "a/x/deep", "a/y")
        for step in range(2)
    ]
    trajectory = again(export_attempt(steps))
    below = cast("list[Json]", trajectory["subagent_trajectories"])
    assert [one["trajectory_id"] for one in below] == ["x", "y"]
    assert sorted(import_trajectory(trajectory), key=lambda step: (step.attempt_id, step.step)) == steps


@given(rows())
def test_any_steps_come_back_whole(steps: list[Step]) -> None:
    assert import_trajectory(again(export_attempt(steps))) == steps


def test_a_trajectory_of_others_loses_nothing() -> None:
    steps = import_trajectory(FOREIGN, theorem_name="clock", run_id="r", file="trajectory.json")
    assert without_ours(again(export_attempt(steps))) == FOREIGN
    assert import_trajectory(again(export_attempt(steps))) == steps
    assert len({step.row_id for step in steps}) == len(steps)
    assert {(step.theorem_name, step.run_id, step.origin) for step in steps} == {("clock", "r", "import")}
    asked = next(step for step in steps if step.kind == "model_call")
    assert (asked.model, asked.tokens_in, asked.tokens_out, asked.cost_nanodollars) == ("m-1", 120, 18, 1_234_568)
    calls = [(step.tool, step.tool_input, step.tool_output) for step in steps if step.kind == "tool_call"]
    assert calls == [
        ("now", '{"zone":null}', "12:00"),
        ("later", "", ""),
        ("patch", "*** Begin", ""),
        ("odd", '{"input":"{\\"a\\": 1}"}', ""),
    ]
    assert {step.attempt_id for step in steps} == {"main", "main/sub"}


def test_a_plain_trajectory_needs_no_rows_of_its_own() -> None:
    plain: Json = {
        "schema_version": "ATIF-v1.8",
        "trajectory_id": "p",
        "agent": {"name": "a", "version": "1.0.0", "model_name": "m"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "What time is it?"},
            {"step_id": 2, "source": "agent", "message": "Noon.", "metrics": {"prompt_tokens": 12}},
        ],
        "final_metrics": {"total_prompt_tokens": 12, "total_steps": 2},
    }
    steps = import_trajectory(plain)
    assert [(step.kind, step.tool) for step in steps] == [
        ("message", "user"),
        ("model_call", ""),
        ("message", "assistant"),
    ]
    assert without_ours(export_attempt(steps)) == plain


def test_importing_a_trajectory_twice_gives_the_same_ids() -> None:
    unnamed: Json = {name: value for name, value in FOREIGN.items() if name not in {"trajectory_id", "session_id"}}
    assert import_trajectory(unnamed) == import_trajectory(again(unnamed))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"schema_version": "ATIF-v2.0"}, "versions 1.x"),
        ({"agent": {}}, r"agent\.name"),
        ({"steps": [{"step_id": 2, "source": "user", "message": ""}]}, "not sequential"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_what_is_no_trajectory_is_refused(change: Json, told: str) -> None:
    with pytest.raises(StoreError, match=told):
        import_trajectory(FOREIGN | change)


def test_files_are_read_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "trajectory.json"
    file.write_text(json.dumps(FOREIGN), encoding="utf-8")
    assert read_trajectory(file, theorem_name="clock") == import_trajectory(
        FOREIGN, theorem_name="clock", file=file.name
    )
    for content, told in ((b"[]", "holds no object"), (b"{", "no JSON"), (b"\xff", "no JSON")):
        file.write_bytes(content)
        with pytest.raises(StoreError, match=told):
            read_trajectory(file)
    with pytest.raises(StoreError, match="cannot be read"):
        read_trajectory(tmp_path / "gone.json")


def test_steps_of_several_attempts_are_refused() -> None:
    several = [Step(theorem_name="t", kind="message", attempt_id=name) for name in ("a", "ab")]
    with pytest.raises(StoreError, match="'a' and 'ab'; export one"):
        export_attempt(several)
    with pytest.raises(StoreError, match="no steps"):
        export_attempt([])
