"""Session files of Claude Code: `~/.claude/projects/FOLDER/*.jsonl`."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

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
    readable,
    text_at,
)
from ekiden_store.steps import Step

_TOLD_ELSEWHERE = frozenset(
    {
        *("queue-operation", "last-prompt", "file-history-snapshot", "progress", "custom-title"),
        *("ai-title", "agent-name", "agent-color", "agent-setting", "mode", "permission-mode", "tag", "pr-link"),
        *("worktree-state", "content-replacement", "speculation-accept", "bridge-session"),
    }
)
_SYNTHETIC = "<synthetic>"
_EXIT = re.compile(r"Exit code \d+")
_SILENT = frozenset({"redacted_thinking", "image", "document", "fallback"})


@dataclass(frozen=True, slots=True)
class _Said:
    """What the model said, until its answer is over."""

    row: str
    who: str
    text: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class _Result:
    """What a tool answered, while the model's answer was not over yet."""

    row: str
    call: PendingCall
    text: str
    at_ms: int


@dataclass(slots=True)
class _Conversation:
    """What is open in a session, or in one of its subagents."""

    attempt: str
    calls: dict[str, PendingCall] = field(default_factory=dict[str, PendingCall])
    said: list[_Said | _Result] = field(default_factory=list["_Said | _Result"])
    answer: dict[str, object] = field(default_factory=dict[str, object])  # the line whose counts are the latest
    answer_row: str = ""
    began_ms: int | None = None
    asked_ms: int | None = None
    at_ms: int = 0

    @property
    def is_answering(self) -> bool:
        """Whether more lines of the model's answer will come, as far as its last line tells."""
        return bool(self.answer) and not text_at(self.answer, "message", "stop_reason")


class ClaudeReader:
    """Reads the lines of one session, in order.

    Attributes:
        version: The version of Claude Code.
        session: The id of the session.
        unknown: The kinds of lines that are not known.
        copied: None: a fork keeps the ids of the lines that it repeats.
    """

    def __init__(self, ids: SessionIds) -> None:
        self.version = ""
        self.session = ""
        self.unknown: Counter[str] = Counter()
        self.copied = 0
        self._rows = Rows(ids, agent="claude")
        self._open: dict[str, _Conversation] = {}
        self._now_ms = 0

    @property
    def pending(self) -> int:
        """How many calls have no result yet."""
        return sum(len(one.calls) for one in self._open.values())

    def read(self, number: int, line: dict[str, object]) -> Iterator[Step]:
        """Yield the steps that a line completes."""
        self._now_ms = milliseconds(line.get("timestamp"), self._now_ms)
        self.session = self._rows.attempt = self.session or text_at(line, "sessionId")
        self.version = self.version or text_at(line, "version")
        self._rows.agent = f"claude {self.version}".strip()
        row = text_at(line, "uuid") or f"{self.session}:{number}"  # a copy of the session keeps the ids of its lines
        match line.get("type"):
            case "assistant":
                yield from self._assistant(row, line)
            case "user":
                yield from self._user(row, line)
            case "system":
                yield from self._system(row, line)
            case "attachment":
                yield from self._attachment(row, line)
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
            last = one.said[-1] if one.said else None
            if is_over or (stop not in {"", "tool_use"} and isinstance(last, _Said) and last.who == "assistant"):
                yield from self._answered(one)
            if is_over:
                yield from self._turn_over(one)

    def _conversation(self, line: dict[str, object]) -> _Conversation:
        agent = text_at(line, "agentId") if line.get("isSidechain") is True else ""
        attempt = f"{self.session}/{agent}" if agent else self.session
        return self._open.setdefault(attempt, _Conversation(attempt))

    def _assistant(self, row: str, line: dict[str, object]) -> Iterator[Step]:
        one = self._conversation(line)
        message = dict_at(line, "message")
        if text_at(message, "model") == _SYNTHETIC:
            yield from self._answered(one)
            who = "system" if line.get("isApiErrorMessage") is False else "error"
            text = content_text(message.get("content"))
            yield self._rows.message(f"{row}:0", who, text, self._now_ms, attempt=one.attempt)
            return
        if not one.answer or text_at(message, "id") != text_at(one.answer, "message", "id"):
            yield from self._answered(one)
            one.began_ms, one.answer_row = one.asked_ms, row
        one.answer, one.at_ms = line, self._now_ms
        for place, block in enumerate(list_at(message, "content")):
            self._block(one, f"{row}:{place}", dict_at(block), line)

    def _block(self, one: _Conversation, row: str, block: dict[str, object], line: dict[str, object]) -> None:
        match text_at(block, "type"):
            case "text":
                one.said.append(_Said(row, "assistant", text_at(block, "text"), self._now_ms))
            case "thinking":
                if text := text_at(block, "thinking"):
                    one.said.append(_Said(row, "reasoning", text, self._now_ms))
            case "tool_use" | "server_tool_use" as kind:
                given = compact(block.get("input", {}))
                call = PendingCall(row, text_at(block, "name"), given, self._now_ms, kind == "server_tool_use")
                one.calls[text_at(block, "id")] = call
            case kind if kind.endswith("_tool_result"):  # of a tool that the provider ran itself
                self._note_result(one, row, block, line)
            case kind if kind not in _SILENT:
                self.unknown[f"assistant/{kind}"] += 1
            case _:
                pass

    def _answered(self, one: _Conversation) -> Iterator[Step]:
        """Yield the row of a model's answer that is whole, and the rows of what it said."""
        if one.answer:
            line, one.answer = one.answer, {}
            yield self._model_call(one, line)
        said, one.said = one.said, []
        for it in said:
            if isinstance(it, _Said):
                yield self._rows.message(it.row, it.who, it.text, it.at_ms, by_model=True, attempt=one.attempt)
            else:
                yield self._rows.called(it.call, it.text, it.at_ms, row=it.row, attempt=one.attempt)

    def _model_call(self, one: _Conversation, line: dict[str, object]) -> Step:
        message = dict_at(line, "message")
        usage = dict_at(message, "usage")
        cached, written = count_at(usage, "cache_read_input_tokens"), count_at(usage, "cache_creation_input_tokens")
        fresh = count_at(usage, "input_tokens")
        counts = {"cached_tokens": cached, "cache_write_tokens": written}
        more = {name: count for name, count in counts.items() if count}
        cost = line.get("costUSD")
        return self._rows.row(
            "model_call",
            f"{one.answer_row}:call",
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

    def _user(self, row: str, line: dict[str, object]) -> Iterator[Step]:
        one = self._conversation(line)
        content = dict_at(line, "message").get("content")
        others: list[object] = []
        for place, block in enumerate(list_at(content)):
            if text_at(block, "type") == "tool_result":
                self._note_result(one, f"{row}:{place}", dict_at(block), line)
            else:
                others.append(block)
        text = content if isinstance(content, str) else content_text(others)
        if text or not one.is_answering:  # else more of the answer may come: a tool may run before it is over
            yield from self._answered(one)
        one.asked_ms = self._now_ms
        if text:
            is_summary, is_meta = line.get("isCompactSummary") is True, line.get("isMeta") is True
            if not is_meta:
                yield from self._turn_over(one)
            who = "summary" if is_summary else "system" if is_meta else "user"
            yield self._rows.message(f"{row}:text", who, text, self._now_ms, attempt=one.attempt)

    def _note_result(self, one: _Conversation, row: str, block: dict[str, object], line: dict[str, object]) -> None:
        call = one.calls.pop(text_at(block, "tool_use_id"), None)
        if call is None:
            self.unknown["tool_result without its call"] += 1
            return
        output = content_text(block.get("content"))
        is_error = block.get("is_error") is True or text_at(block, "content", "type").endswith("_error")
        call.outcome = "failed" if is_error else "ok"
        call.failure_kind = _failure(output)
        if (told := dict_at(line, "toolUseResult")) and call.duration_ms is None:
            call.duration_ms = count_at(told, "durationMs") or count_at(told, "totalDurationMs")
        one.said.append(_Result(row, call, output, self._now_ms))

    def _system(self, row: str, line: dict[str, object]) -> Iterator[Step]:
        if text := text_at(line, "content"):
            one = self._conversation(line)
            yield from self._answered(one)
            who = "error" if text_at(line, "subtype") == "api_error" or text_at(line, "level") == "error" else "system"
            yield self._rows.message(f"{row}:0", who, text, self._now_ms, attempt=one.attempt)

    def _attachment(self, row: str, line: dict[str, object]) -> Iterator[Step]:
        """Yield what the model was shown beside the conversation: commands that waited, notes, lists."""
        attachment = dict_at(line, "attachment")
        if not attachment:
            return
        one = self._conversation(line)
        if not one.is_answering:
            yield from self._answered(one)
        is_command = text_at(attachment, "type") == "queued_command"
        text = content_text(attachment.get("prompt")) if is_command else readable(attachment)
        who = "user" if is_command else "system"
        yield self._rows.message(f"{row}:0", who, text, self._now_ms, attempt=one.attempt)

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
