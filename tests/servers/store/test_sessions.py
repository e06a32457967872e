"""Session files of the real agents become steps; growing ones are imported again, and nothing is doubled."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from ekiden_store.errors import StoreError
from ekiden_store.sessions.session import SessionFile, session_files
from ekiden_store.steps import Step
from ekiden_store.store import Store

SESSIONS = Path(__file__).parents[2] / "data" / "sessions"
CODEX = [SESSIONS / "codex-0.128.0.jsonl", SESSIONS / "codex-0.169.0.jsonl"]
CLAUDE = SESSIONS / "claude-2.1.197.jsonl"
EVERY = [*CODEX, CLAUDE]
ANSWERS = [(1000, 50), (1100, 20), (1200, 30), (1300, 40), (1300, 40), (1400, 41), (1500, 12)]
Line = dict[str, object]


def steps_of(path: Path, *, is_over: bool = False) -> list[Step]:
    return list(SessionFile(path, theorem_name="target", run_id="run-1", is_over=is_over).steps())


def calls_of(steps: Iterable[Step]) -> list[tuple[str, str, str]]:
    return [(step.tool, step.outcome, step.failure_kind) for step in steps if step.kind == "tool_call"]


def said_in(steps: Iterable[Step]) -> list[tuple[str, str]]:
    return [(step.tool, step.tool_output) for step in steps if step.kind == "message" and step.tool_output]


def written(path: Path, lines: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def codex_lines(*payloads: tuple[str, Mapping[str, object]]) -> list[Line]:
    lines: list[Line] = [
        {
            "timestamp": "2026-01-01T00:00:00.000Z",
            "type": "session_meta",
            "payload": {"id": "thread-1", "cli_version": "1.2.3"},
        }
    ]
    for second, (kind, payload) in enumerate(payloads, 1):
        lines.append({"timestamp": f"2026-01-01T00:00:{second:02}.500Z", "type": kind, "payload": payload})
    return lines


def claude_line(kind: str, uuid: str, message: Line, **more: object) -> Line:
    common: Line = {
        "type": kind,
        "uuid": uuid,
        "sessionId": "s-1",
        "version": "2.0.0",
        "timestamp": "2026-01-01T00:00:00Z",
    }
    return {**common, "message": message, **more}


@pytest.mark.parametrize("path", CODEX, ids=lambda path: path.stem)
def test_a_session_of_codex_tells_what_was_said_asked_called_and_spent(path: Path) -> None:
    steps = steps_of(path)
    assert [(step.tokens_in, step.tokens_out) for step in steps if step.kind == "model_call"] == ANSWERS
    assert {step.model for step in steps if step.kind == "model_call"} == {"gpt-5.5"}
    assert said_in(steps) == [
        ("reasoning", "The lemma follows from `first`."),
        ("assistant", "I look at the graph first."),
        ("assistant", "It is proved."),
    ]
    given = [(step.tool, step.tool_input) for step in steps if step.kind == "message" and step.tool_input]
    assert [tool for tool, _ in given] == ["system", "developer", "user", "user"]
    assert given[-1] == ("user", "Prove the lemma 'target'.")
    told = "" if "0.128" in path.name else "ok"  # the older version does not write how a call of a server ended
    refused = ("mcp__apply_patch__apply_patch", *(("", "") if "0.128" in path.name else ("failed", "tool_error")))
    assert calls_of(steps) == [
        ("mcp__dag_tracker__parent_nodes", told, ""),
        ("exec_command", "failed", "exit_code"),
        ("apply_patch", "ok", ""),
        refused,
        ("exec_command", "ok", ""),
        ("no_such_tool", "failed", "unsupported_call"),
        ("mcp__apply_patch__apply_patch", told, ""),
    ]
    first = next(step for step in steps if step.kind == "tool_call")
    assert (first.tool_input, first.duration_ms) == ('{"lean_name": "target"}', 2447 if "0.128" in path.name else 1806)
    assert first.tool_output.endswith('{"origin":"declared","target":"target","parent_nodes":["first"],"count":1}')


def test_a_session_of_claude_code_tells_what_was_said_asked_called_and_spent() -> None:
    steps = steps_of(CLAUDE)
    answers = [step for step in steps if step.kind == "model_call"]
    waits = [(3072, 1), (3097, 1)]
    assert [(step.tokens_in, step.tokens_out) for step in answers] == waits + [
        one for one in ANSWERS if one != (1200, 30)
    ]
    assert said_in(steps) == [("assistant", "I look at the graph first."), ("assistant", "It is proved.")]
    assert calls_of(steps) == [
        ("WaitForMcpServers", "ok", ""),
        ("WaitForMcpServers", "failed", "unsupported_call"),
        ("mcp__dag_tracker__parent_nodes", "ok", ""),
        ("Bash", "failed", "exit_code"),
        ("mcp__apply_patch__apply_patch", "failed", "tool_error"),
        ("Read", "failed", "tool_error"),
        ("NoSuchTool", "failed", "unsupported_call"),
        ("Bash", "ok", ""),
        ("mcp__apply_patch__apply_patch", "ok", ""),
    ]
    bash = next(step for step in steps if step.tool == "Bash")
    assert (bash.tool_input, bash.tool_output, bash.duration_ms) == (
        '{"command":"echo hello; exit 3","description":"try"}',
        "Exit code 3\nhello",
        137,
    )


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_every_line_of_a_real_session_is_known_and_rows_are_whole(path: Path) -> None:
    session = SessionFile(path, theorem_name="target", run_id="run-1", iteration=4)
    steps = list(session.steps())
    report = session.report
    agent, _, version = path.stem.partition("-")
    assert (report.kind, report.version, report.steps) == (agent, version, len(steps))
    assert (report.unknown, report.damaged, report.unfinished, report.torn) == (Counter(), 0, 0, False)
    assert [step.step for step in steps] == list(range(len(steps)))
    assert len({step.row_id for step in steps}) == len(steps)
    assert {(step.attempt_id, step.origin, step.source) for step in steps} == {
        (report.session, "agent", f"{agent} {version} {path.name}")
    }
    assert {(step.theorem_name, step.run_id, step.iteration) for step in steps} == {("target", "run-1", 4)}
    times = [step.timestamp_ms for step in steps]
    assert all(time and time > 1_700_000_000_000 for time in times)


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_a_session_that_grows_keeps_every_row_it_had(path: Path, tmp_path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    whole = {step.row_id: step for step in steps_of(path)}
    file = tmp_path / path.name
    for end in range(1, len(lines) + 1):
        file.write_bytes(b"".join(lines[:end]))
        assert all(whole[step.row_id] == step for step in steps_of(file)), end


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_importing_twice_doubles_nothing(path: Path, tmp_path: Path) -> None:
    steps = steps_of(path)
    store = Store(tmp_path / "store")
    for part in (steps[:9], steps, steps):
        with store.writer(producer="test") as writer:
            writer.append(part)
    with store.snapshot() as snapshot:
        assert snapshot.count() == len(steps)


def test_lines_that_are_not_known_are_counted_and_told(tmp_path: Path) -> None:
    lines = codex_lines(
        ("event_msg", {"type": "new_event"}),
        ("response_item", {"type": "hologram"}),
        ("new_line", {}),
        ("response_item", {"type": "function_call_output", "call_id": "gone", "output": "x"}),
    )
    file = written(tmp_path / "rollout.jsonl", [*lines, ["no", "object"], 7])
    with file.open("ab") as more:
        more.write(b'not json\n\n{"torn": ')
    session = SessionFile(file)
    assert list(session.steps()) == []
    assert session.report.unknown == Counter(
        {
            "event_msg/new_event": 1,
            "response_item/hologram": 1,
            "new_line": 1,
            "response_item/function_call_output without its call": 1,
        }
    )
    assert (session.report.damaged, session.report.torn, session.report.lines) == (3, True, 9)


def test_a_call_without_a_result_waits_until_the_session_is_over(tmp_path: Path) -> None:
    call = ("response_item", {"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": "c"})
    file = written(tmp_path / "rollout.jsonl", codex_lines(call))
    session = SessionFile(file)
    assert list(session.steps()) == []
    assert session.report.unfinished == 1
    assert calls_of(steps_of(file, is_over=True)) == [("exec_command", "failed", "no_result")]
    aborted = written(tmp_path / "aborted.jsonl", codex_lines(call, ("event_msg", {"type": "turn_aborted"})))
    assert calls_of(steps_of(aborted)) == [("exec_command", "failed", "no_result")]


def test_tools_of_codex_that_other_versions_have_are_read(tmp_path: Path) -> None:
    file = written(
        tmp_path / "rollout.jsonl",
        codex_lines(
            ("response_item", {"type": "web_search_call", "status": "completed", "action": {"query": "Lean"}}),
            ("response_item", {"type": "tool_search_call", "call_id": "a", "arguments": {"query": "dag"}}),
            (
                "response_item",
                {"type": "tool_search_output", "call_id": "a", "status": "completed", "tools": [{"name": "x"}]},
            ),
            ("response_item", {"type": "local_shell_call", "call_id": "b", "action": {"command": ["ls"]}}),
            (
                "event_msg",
                {
                    "type": "exec_command_end",
                    "call_id": "b",
                    "exit_code": 2,
                    "duration": {"secs": 1, "nanos": 5_000_000},
                },
            ),
            ("response_item", {"type": "function_call_output", "call_id": "b", "output": [{"type": "input_image"}]}),
            (
                "response_item",
                {"type": "function_call", "name": "t", "namespace": "mcp__s__", "call_id": "c", "arguments": "{}"},
            ),
            (
                "event_msg",
                {"type": "mcp_tool_call_end", "call_id": "c", "result": {"Ok": {"content": [], "isError": True}}},
            ),
            ("response_item", {"type": "function_call_output", "call_id": "c", "output": "bad"}),
            ("event_msg", {"type": "error", "message": "the stream broke"}),
        ),
    )
    steps = steps_of(file)
    assert calls_of(steps) == [
        ("web_search", "ok", ""),
        ("tool_search", "ok", ""),
        ("local_shell", "failed", "exit_code"),
        ("mcp__s__t", "failed", "tool_error"),
    ]
    assert [step.tool_output for step in steps] == ["", '[{"name":"x"}]', "[input_image]", "bad", ""]
    assert steps[2].duration_ms == 1005
    assert (steps[4].kind, steps[4].tool, steps[4].outcome, steps[4].tool_input) == (
        "message",
        "error",
        "failed",
        "the stream broke",
    )


FIRST_THREAD, TURN = "01a2018f-dc6a-7281-88ed-82b44beb1724", "01a2018f-dcce-75e3-8e8f-4a274d995860"
FORK, TURN_OF_FORK = "01a2018f-e067-7970-a4d7-fd5d704fdb05", "01a2018f-e142-7862-9389-2b9cbf937d54"


def counted(tokens_in: int, total: int) -> tuple[str, Line]:
    info: Line = {"last_token_usage": {"input_tokens": tokens_in}, "total_token_usage": {"input_tokens": total}}
    return ("event_msg", {"type": "token_count", "info": info})


def told(role: str, text: str) -> tuple[str, Line]:
    return ("response_item", {"type": "message", "role": role, "content": [{"type": "text", "text": text}]})


@pytest.mark.parametrize("source", ["cli", {"subagent": {"thread_spawn": {"parent_thread_id": FIRST_THREAD}}}])
def test_what_a_fork_of_codex_repeats_is_not_counted_again(tmp_path: Path, source: object) -> None:
    meta = {"id": FORK, "forked_from_id": FIRST_THREAD, "source": source, "cli_version": "0.128.0"}
    lines = codex_lines(
        ("session_meta", {"id": FIRST_THREAD}),
        ("event_msg", {"type": "task_started", "turn_id": TURN}),
        told("user", "before"),
        counted(1000, 1000),
        told("assistant", "said before"),
        ("event_msg", {"type": "task_complete", "turn_id": TURN}),
        ("event_msg", {"type": "task_started", "turn_id": TURN_OF_FORK}),
        told("user", "after"),
        counted(1000, 1000),  # comes again at the start of a turn
        told("assistant", "said after"),
        counted(1200, 2200),
    )
    lines[0]["payload"] = meta
    session = SessionFile(written(tmp_path / "rollout.jsonl", lines))
    rows = [(step.kind, step.tool_input, step.tool_output, step.tokens_in) for step in session.steps()]
    assert rows == [
        ("message", FIRST_THREAD, "", None),
        ("message", "after", "", None),
        ("model_call", "", "", 1200),
        ("message", "", "said after", None),
    ]
    assert session.report.copied == 6
    attempt = FORK if source == "cli" else f"{FIRST_THREAD}/{FORK}"
    assert {step.attempt_id for step in session.steps()} == {attempt}


def test_a_call_of_codex_may_end_after_the_model_was_told_something_else(tmp_path: Path) -> None:
    call = {"type": "function_call", "name": "exec_command", "arguments": "{}"}
    lines = codex_lines(
        ("response_item", {**call, "call_id": "a"}),
        ("response_item", {**call, "call_id": "b"}),
        counted(10, 10),
        told("user", "a subagent is done"),
        ("response_item", {"type": "function_call_output", "call_id": "a", "output": "Exit code: 0\nOutput:\nx"}),
        counted(20, 30),
    )
    assert calls_of(steps_of(written(tmp_path / "rollout.jsonl", lines))) == [
        ("exec_command", "ok", ""),
        ("exec_command", "failed", "no_result"),  # the model went on without it
    ]


def test_how_turns_of_codex_end_is_told(tmp_path: Path) -> None:
    call = {"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": "a"}
    output = "Wall time: 2.5 seconds\naborted by user"
    lines = codex_lines(
        ("response_item", call),
        ("response_item", {"type": "function_call_output", "call_id": "a", "output": output}),
        ("response_item", {"type": "web_search_call", "status": "failed", "action": {"type": "open_page"}}),
        ("event_msg", {"type": "task_complete", "error": {"message": "429"}}),
        ("event_msg", {"type": "thread_rolled_back", "num_turns": 2}),
    )
    steps = steps_of(written(tmp_path / "rollout.jsonl", lines))
    assert calls_of(steps) == [("exec_command", "failed", "no_result"), ("web_search", "failed", "tool_error")]
    assert [step.duration_ms for step in steps[:2]] == [2500, None]
    assert [(step.tool, step.tool_input) for step in steps[2:]] == [
        ("error", "429"),
        ("system", "The last 2 turns are taken back."),
    ]


def test_a_fork_of_claude_code_shares_the_rows_that_it_repeats(tmp_path: Path) -> None:
    answer: Line = {"id": "m1", "stop_reason": "end_turn", "content": [{"type": "text", "text": "17"}]}
    lines = [
        claude_line("user", "u1", {"content": "8 + 9?"}),
        claude_line("assistant", "a1", answer),
        {"type": "system", "uuid": "y1", "sessionId": "s-1", "content": "resumed"},
    ]
    fork = [{**line, "sessionId": "s-2"} for line in lines[:2]]
    first, second = (steps_of(written(tmp_path / name, each)) for name, each in (("1", lines), ("2", fork)))
    assert [step.row_id for step in second] == [step.row_id for step in first[:3]]
    assert [(step.kind, step.tool) for step in first] == [
        ("message", "user"),
        ("model_call", ""),
        ("message", "assistant"),
        ("message", "system"),  # what comes after an answer stands after it
    ]


def test_a_tool_of_claude_code_may_run_before_the_answer_that_asked_for_it_is_over(tmp_path: Path) -> None:
    def use(name: str) -> Line:
        return {"type": "tool_use", "id": name, "name": name, "input": {}}

    def answer(block: Line, tokens: int, stop: str | None) -> Line:
        return {"id": "m1", "usage": {"output_tokens": tokens}, "stop_reason": stop, "content": [block]}

    def result(name: str) -> Line:
        return {"content": [{"type": "tool_result", "tool_use_id": name, "content": name}]}

    lines = [
        claude_line("assistant", "a1", answer(use("x"), 1, None)),
        claude_line("user", "u1", result("x")),
        claude_line("assistant", "a2", answer(use("y"), 30, "tool_use")),
        claude_line("user", "u2", {"content": "how to use it"}, isMeta=True),
        claude_line("user", "u3", result("y")),
    ]
    rows = [(step.kind, step.tool, step.outcome, step.tokens_out) for step in steps_of(written(tmp_path / "s", lines))]
    assert rows == [
        ("model_call", "", "ok", 30),
        ("tool_call", "x", "ok", None),
        ("message", "system", "", None),
        ("tool_call", "y", "ok", None),
    ]


def test_searches_of_the_provider_and_what_claude_code_shows_the_model_are_kept(tmp_path: Path) -> None:
    def search(name: str, content: object) -> list[Line]:
        use: Line = {"type": "server_tool_use", "id": name, "name": "web_search", "input": {"query": name}}
        return [use, {"type": "web_search_tool_result", "tool_use_id": name, "content": content}]

    found: Line = {"type": "web_search_result", "url": "https://lean-lang.org", "encrypted_content": "A" * 99}
    error: Line = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    blocks = [{"type": "text", "text": "Hm."}, *search("one", [found]), *search("two", error)]
    lines = [
        claude_line("user", "", {"content": "first"}),  # no id of its own
        claude_line("user", "", {"content": "second"}),
        claude_line("assistant", "a1", {"id": "m1", "stop_reason": "tool_use", "content": blocks}),
        {
            **claude_line("attachment", "t1", {}),
            "attachment": {"type": "queued_command", "prompt": [{"type": "text", "text": "and also"}]},
        },
        {**claude_line("attachment", "t2", {}), "attachment": {"type": "skill_listing", "content": "- lean"}},
        claude_line(
            "assistant",
            "a2",
            {"model": "<synthetic>", "content": [{"type": "text", "text": "No response requested."}]},
            isApiErrorMessage=False,
        ),
    ]
    steps = steps_of(written(tmp_path / "s.jsonl", lines))
    rows = [(step.tool, step.outcome, step.tool_input, step.tool_output, step.duration_ms) for step in steps]
    assert rows == [
        ("user", "", "first", "", None),
        ("user", "", "second", "", None),
        ("", "ok", "", "", 0),
        ("assistant", "", "", "Hm.", None),
        (
            *("web_search", "ok", '{"query":"one"}'),
            *('{"type":"web_search_result","url":"https://lean-lang.org","encrypted_content":"…"}', None),
        ),
        ("web_search", "failed", '{"query":"two"}', json.dumps(error, separators=(",", ":")), None),
        ("user", "", "and also", "", None),
        ("system", "", '{"type":"skill_listing","content":"- lean"}', "", None),
        ("system", "", "No response requested.", "", None),
    ]


def test_blocks_of_claude_code_are_told_apart_and_a_subagent_is_an_attempt_of_its_own(tmp_path: Path) -> None:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5, "output_tokens": 7}
    head: Line = {"id": "m1", "model": "claude-x", "usage": usage, "stop_reason": "tool_use"}
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    use = {"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "⊢"}}
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": "done"}, {"type": "image"}],
    }
    file = written(
        tmp_path / "s-1.jsonl",
        [
            claude_line("user", "u1", {"role": "user", "content": "go"}),
            claude_line("assistant", "a1", {**head, "content": [thinking]}, costUSD=0.0125),
            claude_line("assistant", "a2", {**head, "content": [use]}, costUSD=0.0125),
            claude_line("user", "b1", {"content": [{"type": "text", "text": "help"}]}, isSidechain=True, agentId="x"),
            claude_line(
                "assistant",
                "b2",
                {"id": "m2", "stop_reason": "end_turn", "content": [{"type": "text", "text": "ok"}]},
                isSidechain=True,
                agentId="x",
            ),
            claude_line("user", "u2", {"content": [result]}, toolUseResult={"durationMs": 321}),
            claude_line("user", "u2", {"content": [result]}),
            claude_line(
                "assistant", "a3", {"model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}]}
            ),
            {"type": "system", "uuid": "y1", "sessionId": "s-1", "content": "compacted", "subtype": "compact_boundary"},
            claude_line("user", "u3", {"content": "what was"}, isCompactSummary=True),
            claude_line("user", "u4", {"content": "a note"}, isMeta=True),
        ],
    )
    session = SessionFile(file)
    rows = [
        (step.attempt_id, step.step, step.kind, step.tool, step.tool_input, step.tool_output)
        for step in session.steps()
    ]
    assert rows == [
        ("s-1", 0, "message", "user", "go", ""),
        ("s-1/x", 0, "message", "user", "help", ""),
        ("s-1", 1, "model_call", "", "", '{"cached_tokens":90,"cache_write_tokens":5}'),
        ("s-1", 2, "message", "reasoning", "", "Hm."),
        ("s-1", 3, "tool_call", "Agent", '{"prompt":"⊢"}', "done\n[image]"),
        ("s-1", 4, "message", "error", "API Error", ""),
        ("s-1", 5, "message", "system", "compacted", ""),
        ("s-1", 6, "message", "summary", "what was", ""),
        ("s-1", 7, "message", "system", "a note", ""),
        ("s-1/x", 1, "model_call", "", "", ""),
        ("s-1/x", 2, "message", "assistant", "", "ok"),
    ]
    call = next(step for step in SessionFile(file).steps() if step.kind == "model_call")
    assert (call.tokens_in, call.tokens_out, call.cost_nanodollars) == (105, 7, 12_500_000)
    assert session.report.unknown == Counter({"tool_result without its call": 1})


@pytest.mark.parametrize("text", ["hello\n", '{"a": 1}\n', "[]\n[]\n"])
def test_a_file_that_is_no_session_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match="no session file"):
        steps_of(tmp_path / "x.jsonl")


def test_an_empty_file_holds_no_steps_and_a_missing_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(b"")
    assert steps_of(tmp_path / "x.jsonl") == []
    with pytest.raises(StoreError, match="cannot be read"):
        steps_of(tmp_path / "y.jsonl")


@pytest.mark.parametrize(
    "value", [None, 7, "x", [], [7], {"type": 7}, {"content": {"a": 1}}, {"type": "message", "content": [None]}]
)
def test_lines_of_any_shape_are_survived(tmp_path: Path, value: object) -> None:
    kinds = ("session_meta", "turn_context", "response_item", "event_msg", "token_usage_record", "compacted")
    codex = [{"type": kind, "timestamp": value, "payload": value} for kind in kinds]
    start = codex_lines()
    list(SessionFile(written(tmp_path / "c.jsonl", [*start, *codex]), is_over=True).steps())
    claude = [
        {"type": kind, "sessionId": "s", "timestamp": value, "message": value}
        for kind in ("user", "assistant", "system")
    ]
    list(SessionFile(written(tmp_path / "d.jsonl", claude), is_over=True).steps())


def test_the_session_files_of_an_agent_are_found(tmp_path: Path) -> None:
    for name in (
        "sessions/2026/11/22/rollout-b.jsonl",
        "sessions/2026/11/21/rollout-a.jsonl",
        "history.jsonl",
        "projects/-p/s.jsonl",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert [path.name for path in session_files(tmp_path, "codex")] == ["rollout-a.jsonl", "rollout-b.jsonl"]
    assert [path.name for path in session_files(tmp_path, "claude")] == ["s.jsonl"]
