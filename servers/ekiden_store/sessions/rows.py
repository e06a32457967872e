"""What readers of session files share: the rows of an attempt, and values of unknown shape."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from ekiden_store.columns import Kind, Outcome
from ekiden_store.steps import Step

_MOST_U64 = 2**64
_MEDIA = frozenset({"image", "input_image", "output_image", "image_url", "audio", "input_audio", "file", "input_file"})
_UNREADABLE = frozenset({"base64", "data", "encrypted_content", "signature"})


@dataclass(frozen=True, slots=True)
class SessionIds:
    """What all rows of a file have in common.

    Attributes:
        theorem_name: What was to be proved.
        run_id: The run.
        iteration: The iteration.
        file: The name of the file.
    """

    theorem_name: str
    run_id: str
    iteration: int | None
    file: str


@dataclass(slots=True)
class PendingCall:
    """A call of a tool that has no result yet.

    Attributes:
        row: The line and the block that asked for it.
        tool: The tool.
        given: What it was given.
        began_ms: When the line was written.
        is_by_provider: Whether the model's provider ran it while it answered; how long it took is not known then.
        outcome: How it ended.
        failure_kind: Why it failed.
        duration_ms: How long it took, if the session tells.
    """

    row: str
    tool: str
    given: str
    began_ms: int
    is_by_provider: bool = False
    outcome: Outcome = ""
    failure_kind: str = ""
    duration_ms: int | None = None


@dataclass(slots=True)
class Rows:
    """Makes the rows of a session; steps are counted for each attempt.

    Attributes:
        ids: What all rows have in common.
        agent: The agent and its version.
        attempt: The attempt of rows that name none.
    """

    ids: SessionIds
    agent: str = ""
    attempt: str = ""
    _steps: dict[str, int] = field(default_factory=dict[str, int])

    def message(self, row: str, who: str, text: str, at_ms: int, *, by_model: bool = False, attempt: str = "") -> Step:
        """Return the row of a message."""
        given, said = ("", text) if by_model else (text, "")
        outcome: Outcome = "failed" if who == "error" else ""
        return self.row("message", row, at_ms, attempt, tool=who, tool_input=given, tool_output=said, outcome=outcome)

    def called(self, call: PendingCall, output: str, at_ms: int, *, row: str = "", attempt: str = "") -> Step:
        """Return the row of a call that is over."""
        passed_ms = None if call.is_by_provider else max(0, at_ms - call.began_ms)
        return self.row(
            "tool_call",
            row or call.row,
            at_ms,
            attempt,
            tool=call.tool,
            tool_input=call.given,
            tool_output=output,
            outcome=call.outcome,
            failure_kind=call.failure_kind if call.outcome == "failed" else "",
            duration_ms=passed_ms if call.duration_ms is None else call.duration_ms,
        )

    def unanswered(self, call: PendingCall, at_ms: int, *, attempt: str = "") -> Step:
        """Return the row of a call that never had a result."""
        call.outcome, call.failure_kind = "failed", "no_result"
        return self.called(call, "", at_ms, row=f"{call.row}:none", attempt=attempt)

    def row(self, kind: Kind, row: str, at_ms: int, attempt: str = "", **columns: object) -> Step:
        """Return a row; its id is the agent's name and `row`."""
        attempt = attempt or self.attempt
        step = self._steps.get(attempt, 0)
        self._steps[attempt] = step + 1
        return Step(
            theorem_name=self.ids.theorem_name,
            kind=kind,
            row_id=f"{self.agent.partition(' ')[0]}:{row}",
            run_id=self.ids.run_id,
            attempt_id=attempt,
            step=step,
            iteration=self.ids.iteration,
            timestamp_ms=at_ms,
            origin="agent",
            source=f"{self.agent} {self.ids.file}",
            **columns,  # pyright: ignore[reportArgumentType]  # columns by their names
        )


def dict_at(value: object, *path: str) -> dict[str, object]:
    """Return the object at a path; empty if there is none."""
    for name in path:
        value = cast("dict[str, object]", value).get(name) if isinstance(value, dict) else None
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def list_at(value: object, *path: str) -> list[object]:
    """Return the list at a path; empty if there is none."""
    found = dict_at(value, *path[:-1]).get(path[-1]) if path else value
    return cast("list[object]", found) if isinstance(found, list) else []


def text_at(value: object, *path: str) -> str:
    """Return the text at a path; empty if there is none."""
    found = dict_at(value, *path[:-1]).get(path[-1])
    return found if isinstance(found, str) else ""


def count_at(value: object, *path: str) -> int | None:
    """Return the count at a path; None if there is none."""
    found = dict_at(value, *path[:-1]).get(path[-1])
    is_count = isinstance(found, int) and not isinstance(found, bool) and 0 <= found < _MOST_U64
    return cast("int", found) if is_count else None


def content_text(content: object) -> str:
    """Return the text of a content: text, or blocks of it.

    Pictures and the like are named by their kind; blocks of other kinds are told as JSON.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return readable(cast("object", content))
    return "\n".join(map(_block_text, list_at(content)))


def readable(value: object) -> str:
    """Return JSON without blanks, and without what nobody can read."""
    try:
        return compact(_without_data(value))
    except RecursionError:
        return "[nested too deeply]"


def _block_text(block: object) -> str:
    if isinstance(block, str):
        return block
    kind = text_at(block, "type")
    if "text" in dict_at(block) or kind in _MEDIA or not set(dict_at(block)) - {"type"}:
        return text_at(block, "text") or f"[{kind or 'block'}]"
    return readable(block)


def _without_data(value: object) -> object:
    if isinstance(value, list):
        return [_without_data(one) for one in cast("list[object]", value)]
    if isinstance(value, dict):
        named = cast("dict[str, object]", value)
        return {
            name: "…" if name in _UNREADABLE and isinstance(one, str) else _without_data(one)
            for name, one in named.items()
        }
    return value


def compact(value: object) -> str:
    """Return JSON without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def milliseconds(told: object, otherwise: int) -> int:
    """Return a time of ISO 8601 as milliseconds since 1970; `otherwise` if it is none."""
    if not isinstance(told, str):
        return otherwise
    try:
        return max(0, round(datetime.fromisoformat(told).timestamp() * 1000))
    except (ValueError, OverflowError):
        return otherwise
