"""Session files of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from uuid import UUID

from ekiden_store.columns import Outcome
from ekiden_store.sessions.rows import (
    PendingCall,
    Rows,
    SessionIds,
    compact,
    content_text,
    count_at,
    dict_at,
    list_at,
    milliseconds,
    text_at,
)
from ekiden_store.steps import Step

CODEX_TYPES = frozenset(
    {
        "session_meta",
        "turn_context",
        "response_item",
        "event_msg",
        "token_usage_record",
        "compacted",
        "world_state",
        "ghost_snapshot",
    }
)
_ENDS = frozenset({"task_complete", "turn_complete", "turn_aborted", "task_started", "turn_started"})
_ERRORS = frozenset({"error", "stream_error"})
_RESULTS = frozenset({"item_completed", "mcp_tool_call_end", "exec_command_end", "patch_apply_end"})
_ENDED: dict[str, Outcome] = {"completed": "ok", "failed": "failed"}
_TOLD_ELSEWHERE = frozenset(
    {
        *("user_message", "agent_message", "agent_reasoning", "item_started"),
        *("agent_reasoning_raw_content", "agent_reasoning_section_break", "thread_settings_applied", "warning"),
        *("context_compacted", "mcp_tool_call_begin", "exec_command_begin", "patch_apply_begin", "turn_diff"),
        *("thread_name_updated", "plan_update", "web_search_begin", "web_search_end", "background_event"),
        *("view_image_tool_call", "image_generation_begin", "image_generation_end", "thread_goal_updated"),
        *("entered_review_mode", "exited_review_mode"),
    }
)
_EXIT = re.compile(r"(?m)^(?:Process exited with code|Exit code:) (-?\d+)$")
_WALL = re.compile(r"(?m)^Wall time: (\d+(?:\.\d+)?) seconds$")
_ABORTED = re.compile(r"Wall time: [\d.]+ seconds\naborted by user")
_HEAD = 300  # the client's own words come first; what follows is the tool's
_REFUSALS = {
    "unsupported call:": "unsupported_call",
    "unsupported custom tool call:": "unsupported_call",
    "tool call error:": "tool_error",
    "user cancelled MCP tool call": "not_approved",
    "MCP tool call requires approval": "not_approved",
    "patch rejected:": "not_approved",
    "aborted": "no_result",
}


class CodexReader:
    """Reads the lines of one session, in order.

    Attributes:
        version: The version of Codex.
        session: The id of the thread.
        unknown: The kinds of lines that are not known.
        copied: How many lines repeat the session that this one was forked from.
    """

    def __init__(self, ids: SessionIds) -> None:
        self.version = ""
        self.session = ""
        self.unknown: Counter[str] = Counter()
        self.copied = 0
        self._is_copy = False
        self._rows = Rows(ids, agent="codex")
        self._model = ""
        self._calls: dict[str, PendingCall] = {}
        self._overdue: dict[str, PendingCall] = {}
        self._results: dict[str, dict[str, object]] = {}
        self._said: list[tuple[str, str, str, int]] = []  # what the model said, until its tokens are known
        self._has_records = False
        self._total: object = None
        self._now_ms = 0
        self._asked_ms: int | None = None

    @property
    def pending(self) -> int:
        """How many calls have no result yet."""
        return len(self._calls) + len(self._overdue)

    def read(self, number: int, line: dict[str, object]) -> Iterator[Step]:
        """Yield the steps that a line completes."""
        payload = dict_at(line, "payload")
        if line.get("type") != "session_meta" and self._is_told_there(payload):
            self.copied += 1
            self._total = dict_at(payload, "info", "total_token_usage") or self._total  # goes on from there
            return
        self._now_ms = milliseconds(line.get("timestamp"), self._now_ms)
        match line.get("type"):
            case "session_meta":
                yield from self._meta(number, payload)
            case "turn_context":
                self._model = text_at(payload, "model") or self._model
            case "response_item":
                yield from self._item(number, payload)
            case "event_msg":
                yield from self._event(number, payload)
            case "token_usage_record":
                self._has_records = True
                yield from self._answered(number, dict_at(payload, "usage"))
            case "compacted":
                if text := text_at(payload, "message"):
                    yield self._rows.message(self._row(number), "summary", text, self._now_ms)
            case "world_state" | "ghost_snapshot":
                pass
            case kind:
                self.unknown[str(kind)] += 1

    def end(self, *, is_over: bool) -> Iterator[Step]:
        """Yield what is left after the last line; nothing if more may come."""
        if is_over:
            yield from self._turn_over()

    def _row(self, number: int) -> str:
        return f"{self.session}:{number}"

    def _meta(self, number: int, payload: dict[str, object]) -> Iterator[Step]:
        told = text_at(payload, "id")
        if self.session:  # a fork may repeat the session it comes from, from its first line on
            self._is_copy = told != self.session and _created_ms(self.session) is not None
            self.copied += self._is_copy
            return
        self.session = self._rows.attempt = told
        above = text_at(payload, "session_id") or text_at(payload, "parent_thread_id")
        if spawned := text_at(payload, "source", "subagent", "thread_spawn", "parent_thread_id"):
            self._rows.attempt = f"{above or spawned}/{told}"
        self.version = text_at(payload, "cli_version")
        self._rows.agent = f"codex {self.version}".strip()
        if origin := text_at(payload, "forked_from_id"):
            yield self._rows.message(f"{self._row(number)}:origin", "forked_from", origin, self._now_ms)
        instructions = payload.get("base_instructions")
        if text := instructions if isinstance(instructions, str) else text_at(instructions, "text"):
            yield self._rows.message(self._row(number), "system", text, self._now_ms)

    def _is_told_there(self, payload: dict[str, object]) -> bool:
        """Tell whether a line repeats the session that this one was forked from: its turns began before this session.

        Copied lines bear the time of the copy, but the ids of turns and sessions tell when those were made.
        """
        if self._is_copy and "turn_id" in payload:
            began, turn = _created_ms(self.session), _created_ms(text_at(payload, "turn_id"))
            self._is_copy = began is not None and turn is not None and turn < began
        return self._is_copy

    def _item(self, number: int, item: dict[str, object]) -> Iterator[Step]:
        kind = text_at(item, "type")
        if kind == "message" and text_at(item, "role") != "assistant":
            yield from self._flush_said()
            self._overdue |= self._calls  # unless it was said while they run: the next answer tells
            self._calls = {}
            text = content_text(item.get("content"))
            self._asked_ms = self._now_ms
            yield self._rows.message(self._row(number), text_at(item, "role") or "user", text, self._now_ms)
        elif kind == "message":
            self._said.append((self._row(number), "assistant", content_text(item.get("content")), self._now_ms))
        elif kind == "reasoning":
            blocks = [*list_at(item, "summary"), *list_at(item, "content")]
            if blocks:
                self._said.append((self._row(number), "reasoning", content_text(blocks), self._now_ms))
        elif kind.endswith("_output"):
            yield from self._output(number, item)
        elif kind.endswith("_call"):
            yield from self._call(number, kind, item)
        elif kind not in {"ghost_snapshot", "compaction", "compaction_summary"}:
            self.unknown[f"response_item/{kind}"] += 1

    def _call(self, number: int, kind: str, item: dict[str, object]) -> Iterator[Step]:
        space, name = text_at(item, "namespace").removesuffix("__"), text_at(item, "name") or kind.removesuffix("_call")
        told = next((item[key] for key in ("arguments", "input", "action") if key in item), "")
        given = told if isinstance(told, str) else compact(told)
        call = PendingCall(self._row(number), f"{space}__{name}" if space else name, given, self._now_ms)
        if call_id := text_at(item, "call_id"):
            self._calls[call_id] = call
        else:  # one that the provider ran itself: it is over
            call.is_by_provider, call.failure_kind = True, "tool_error"
            call.outcome = _ENDED.get(text_at(item, "status"), "")
            yield from self._flush_said()
            yield self._rows.called(call, "", self._now_ms)

    def _output(self, number: int, item: dict[str, object]) -> Iterator[Step]:
        call_id = text_at(item, "call_id")
        call = self._calls.pop(call_id, None) or self._overdue.pop(call_id, None)
        if call is None:
            self.unknown[f"response_item/{text_at(item, 'type')} without its call"] += 1
            return
        yield from self._flush_said()
        output = content_text(item["output"]) if "output" in item else compact(list_at(item, "tools"))
        output = _judge(call, output, self._results.pop(call_id, None))
        if "tools" in item and text_at(item, "status") == "completed":
            call.outcome = "ok"
        self._asked_ms = self._now_ms
        yield self._rows.called(call, output, self._now_ms, row=self._row(number))

    def _event(self, number: int, event: dict[str, object]) -> Iterator[Step]:
        kind = text_at(event, "type")
        if kind == "token_count":
            total = dict_at(event, "info", "total_token_usage")
            if not self._has_records and total and total != self._total:  # it comes again after each tool
                self._total = total
                yield from self._answered(number, dict_at(event, "info", "last_token_usage"))
        elif kind in _RESULTS:
            self._note_result(event)
        elif kind in _ENDS:
            yield from self._turn_over()
            if text := text_at(event, "error", "message"):
                yield self._rows.message(self._row(number), "error", text, self._now_ms)
        elif kind == "thread_rolled_back":
            text = f"The last {count_at(event, 'num_turns')} turns are taken back."
            yield self._rows.message(self._row(number), "system", text, self._now_ms)
        elif kind in _ERRORS:
            yield self._rows.message(self._row(number), "error", text_at(event, "message"), self._now_ms)
        elif kind not in _TOLD_ELSEWHERE and not kind.startswith("collab_"):
            self.unknown[f"event_msg/{kind}"] += 1

    def _note_result(self, event: dict[str, object]) -> None:
        result = dict_at(event, "item") or event
        call_id = text_at(result, "id") or text_at(result, "call_id")
        if call_id in self._calls or call_id in self._overdue:
            self._results[call_id] = result

    def _answered(self, number: int, usage: dict[str, object]) -> Iterator[Step]:
        """Yield the row of a model's answer, and the rows of what it said."""
        yield from self._unanswered(self._overdue)
        names = {"cached_tokens": "cached_input_tokens", "cache_write_tokens": "cache_write_input_tokens"}
        names["reasoning_tokens"] = "reasoning_output_tokens"
        more = {name: count for name, key in names.items() if (count := count_at(usage, key))}
        began_ms = self._asked_ms
        yield self._rows.row(
            "model_call",
            self._row(number),
            self._now_ms,
            model=self._model,
            tokens_in=count_at(usage, "input_tokens"),
            tokens_out=count_at(usage, "output_tokens"),
            tool_output=compact(more) if more else "",
            duration_ms=None if began_ms is None else max(0, self._now_ms - began_ms),
            outcome="ok",
        )
        yield from self._flush_said()

    def _flush_said(self) -> Iterator[Step]:
        said, self._said = self._said, []
        for row, who, text, at_ms in said:
            yield self._rows.message(row, who, text, at_ms, by_model=True)

    def _turn_over(self) -> Iterator[Step]:
        yield from self._flush_said()
        yield from self._unanswered(self._overdue)
        yield from self._unanswered(self._calls)

    def _unanswered(self, calls: dict[str, PendingCall]) -> Iterator[Step]:
        for call in calls.values():
            yield self._rows.unanswered(call, self._now_ms)
        calls.clear()


def _judge(call: PendingCall, output: str, result: dict[str, object] | None) -> str:
    """Note how a call ended, from what Codex recorded of it and else from its words; return the output."""
    head = output.partition("\nOutput:")[0]
    wall = _WALL.search(head[:_HEAD])
    if wall:
        call.duration_ms = round(float(wall.group(1)) * 1000)
    if result is not None:
        call.outcome, call.failure_kind = _recorded(result)
        seconds, nanos = count_at(result, "duration", "secs"), count_at(result, "duration", "nanos")
        if seconds is not None and nanos is not None:
            call.duration_ms = seconds * 1000 + round(nanos / 1e6)
        return output
    code = _EXIT.search(head[:_HEAD])
    if _ABORTED.match(output):
        call.outcome, call.failure_kind = "failed", "no_result"
    elif code:
        call.outcome, call.failure_kind = ("ok", "") if code.group(1) == "0" else ("failed", "exit_code")
    elif refusal := next((kind for words, kind in _REFUSALS.items() if output.startswith(words)), ""):
        call.outcome, call.failure_kind = "failed", refusal
    elif output.startswith('{"output":'):
        output = _unpacked(call, output)
    return output


def _unpacked(call: PendingCall, output: str) -> str:
    """Read an output that older versions wrote as JSON."""
    try:
        told: object = json.loads(output)
    except (ValueError, RecursionError):
        return output
    code = dict_at(told, "metadata").get("exit_code")
    seconds = dict_at(told, "metadata").get("duration_seconds")
    if isinstance(seconds, float | int):
        call.duration_ms = max(0, round(seconds * 1000))
    if isinstance(code, int):
        call.outcome, call.failure_kind = ("ok", "") if code == 0 else ("failed", "exit_code")
        return text_at(told, "output")
    return output


def _recorded(result: dict[str, object]) -> tuple[Outcome, str]:
    """Return how a call ended, as Codex recorded it."""
    code, status = result.get("exit_code"), text_at(result, "status")
    answer = dict_at(result, "result")
    if isinstance(code, int):
        return ("ok", "") if code == 0 else ("failed", "exit_code")
    if (
        status == "failed"
        or "Err" in answer
        or dict_at(answer, "Ok").get("isError") is True
        or result.get("success") is False
    ):
        return "failed", "tool_error"
    if status == "declined":
        return "failed", "not_approved"
    return ("ok", "") if status == "completed" or "Ok" in answer or result.get("success") is True else ("", "")


def _created_ms(told: str) -> int | None:
    """Return when an id was made, in milliseconds since 1970; None if it does not tell."""
    try:
        made = UUID(told)
    except ValueError:
        return None
    return made.int >> 80 if made.version == 7 else None
