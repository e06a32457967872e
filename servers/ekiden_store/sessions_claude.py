"""Session files of Claude Code: `~/.claude/projects/FOLDER/*.jsonl`."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from ekiden_store.sessions_rows import (
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

_TOLD_ELSEWHERE = frozenset(
    {
        *("queue-operation", "last-prompt", "attachment", "file-history-snapshot", "progress", "custom-title"),
        *("ai-title", "agent-name", "agent-color", "agent-setting", "mode", "permission-mode", "tag", "pr-link"),
        *("worktree-state", "content-replacement", "speculation-accept", "bridge-session"),
    }
)
_SYNTHETIC = "<synthetic>"
_EXIT = re.compile(r"Exit code \d+")
_BLOCKS = frozenset(
    {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "image", "document", "fallback"}
)


@dataclass(slots=True)
class _Conversation:
    """What is open in a session, or in one of its subagents."""

    attempt: str
    calls: dict[str, PendingCall] = field(default_factory=dict[str, PendingCall])
    said: list[tuple[str, str, str, int]] = field(default_factory=list[tuple[str, str, str, int]])
    answer: dict[str, object] = field(default_factory=dict[str, object])  # the line whose counts are the latest
    began_ms: int | None = None
    asked_ms: int | None = None
    at_ms: int = 0


class ClaudeReader:
    """Reads the lines of one session, in order.

    Attributes:
        version: The version of Claude Code.
        session: The id of the session.
        unknown: The kinds of lines that are not known.
    """

    def __init__(self, ids: SessionIds) -> None:
        self.version = ""
        self.session = ""
        self.unknown: Counter[str] = Counter()
        self._rows = Rows(ids, agent="claude")
        self._open: dict[str, _Conversation] = {}
        self._now_ms = 0

    @property
    def pending(self) -> int:
        """How many calls have no result yet."""
        return sum(len(one.calls) for one in self._open.values())

    def read(self, number: int, line: dict[str, object]) -> Iterator[Step]:
        """Yield the steps that a line completes."""
        del number  # lines have ids of their own, which a copy of a session keeps
        self._now_ms = milliseconds(line.get("timestamp"), self._now_ms)
        self.session = self._rows.session = self.session or text_at(line, "sessionId")
        self.version = self.version or text_at(line, "version")
        self._rows.agent = f"claude {self.version}".strip()
        match line.get("type"):
            case "assistant":
                yield from self._assistant(line)
            case "user":
                yield from self._user(line)
            case "system":
                yield from self._system(line)
            case "summary":
                pass  # the title of another session
            case kind if kind not in _TOLD_ELSEWHERE:
                self.unknown[str(kind)] += 1
            case _:
                pass

    def end(self, *, is_over: bool) -> Iterator[Step]:
        """Yield what is left after the last line."""
        for one in self._open.values():
            stop = text_at(one.answer, "message", "stop_reason")
            if is_over or (stop not in {"", "tool_use"} and one.said and one.said[-1][1] == "assistant"):
                yield from self._answered(one)
            if is_over:
                yield from self._turn_over(one)

    def _conversation(self, line: dict[str, object]) -> _Conversation:
        agent = text_at(line, "agentId") if line.get("isSidechain") is True else ""
        attempt = f"{self.session}/{agent}" if agent else self.session
        return self._open.setdefault(attempt, _Conversation(attempt))

    def _assistant(self, line: dict[str, object]) -> Iterator[Step]:
        one = self._conversation(line)
        message = dict_at(line, "message")
        row = text_at(line, "uuid")
        if text_at(message, "model") == _SYNTHETIC:
            text = content_text(message.get("content"))
            yield self._rows.message(f"{row}:0", "error", text, self._now_ms, attempt=one.attempt)
            return
        if text_at(message, "id") != text_at(one.answer, "message", "id"):
            yield from self._answered(one)
            one.began_ms = one.asked_ms
        one.answer, one.at_ms = line, self._now_ms
        for place, block in enumerate(list_at(message, "content")):
            self._block(one, f"{row}:{place}", dict_at(block))
            if (kind := text_at(block, "type")).endswith("_tool_result"):  # one that the provider ran itself
                yield from self._result(one, f"{row}:{place}", dict_at(block), line)
            elif kind not in _BLOCKS:
                self.unknown[f"assistant/{kind}"] += 1

    def _block(self, one: _Conversation, row: str, block: dict[str, object]) -> None:
        match text_at(block, "type"):
            case "text":
                one.said.append((row, "assistant", text_at(block, "text"), self._now_ms))
            case "thinking" if text_at(block, "thinking"):
                one.said.append((row, "reasoning", text_at(block, "thinking"), self._now_ms))
            case "tool_use" | "server_tool_use":
                given = compact(block.get("input", {}))
                one.calls[text_at(block, "id")] = PendingCall(row, text_at(block, "name"), given, self._now_ms)
            case _:
                pass

    def _answered(self, one: _Conversation) -> Iterator[Step]:
        """Yield the row of a model's answer that is whole, and the rows of what it said."""
        if not one.answer:
            return
        line, one.answer = one.answer, {}
        message = dict_at(line, "message")
        usage = dict_at(message, "usage")
        cached, written = count_at(usage, "cache_read_input_tokens"), count_at(usage, "cache_creation_input_tokens")
        fresh = count_at(usage, "input_tokens")
        counts = {"cached_tokens": cached, "cache_write_tokens": written}
        more = {name: count for name, count in counts.items() if count}
        cost = line.get("costUSD")
        yield self._rows.row(
            "model_call",
            text_at(message, "id") or text_at(line, "uuid"),
            one.at_ms,
            one.attempt,
            model=text_at(message, "model"),
            tokens_in=None if fresh is None else fresh + (cached or 0) + (written or 0),
            tokens_out=count_at(usage, "output_tokens"),
            cost_nanodollars=round(Decimal(str(cost)) * 10**9) if isinstance(cost, int | float) else None,
            tool_output=compact(more) if more else "",
            duration_ms=None if one.began_ms is None else max(0, one.at_ms - one.began_ms),
            outcome="ok",
        )
        said, one.said = one.said, []
        for row, who, text, at_ms in said:
            yield self._rows.message(row, who, text, at_ms, by_model=True, attempt=one.attempt)

    def _user(self, line: dict[str, object]) -> Iterator[Step]:
        one = self._conversation(line)
        row = text_at(line, "uuid")
        content = dict_at(line, "message").get("content")
        yield from self._answered(one)
        others: list[object] = []
        for place, block in enumerate(list_at(content)):
            if text_at(block, "type") == "tool_result":
                yield from self._result(one, f"{row}:{place}", dict_at(block), line)
            else:
                others.append(block)
        one.asked_ms = self._now_ms
        if text := content if isinstance(content, str) else content_text(others):
            yield from self._turn_over(one)
            who = (
                "summary"
                if line.get("isCompactSummary") is True
                else "system"
                if line.get("isMeta") is True
                else "user"
            )
            yield self._rows.message(f"{row}:text", who, text, self._now_ms, attempt=one.attempt)

    def _result(
        self, one: _Conversation, row: str, block: dict[str, object], line: dict[str, object]
    ) -> Iterator[Step]:
        call = one.calls.pop(text_at(block, "tool_use_id"), None)
        if call is None:
            self.unknown["tool_result without its call"] += 1
            return
        output = content_text(block.get("content"))
        call.outcome = "failed" if block.get("is_error") is True else "ok"
        call.failure_kind = _failure(output)
        call.duration_ms = count_at(line, "toolUseResult", "durationMs")
        yield self._rows.called(call, output, self._now_ms, row=row, attempt=one.attempt)

    def _system(self, line: dict[str, object]) -> Iterator[Step]:
        text = text_at(line, "content")
        if text:
            who = "error" if text_at(line, "subtype") == "api_error" or text_at(line, "level") == "error" else "system"
            attempt = self._conversation(line).attempt
            yield self._rows.message(f"{text_at(line, 'uuid')}:0", who, text, self._now_ms, attempt=attempt)

    def _turn_over(self, one: _Conversation) -> Iterator[Step]:
        calls, one.calls = list(one.calls.values()), {}
        for call in calls:
            yield self._rows.unanswered(call, self._now_ms, attempt=one.attempt)


def _failure(output: str) -> str:
    if _EXIT.match(output):
        return "exit_code"
    if "No such tool available" in output[:100]:
        return "unsupported_call"
    if "requested permissions" in output[:200] or "doesn't want to" in output[:200]:
        return "not_approved"
    return "tool_error"
