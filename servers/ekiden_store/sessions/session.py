"""Session files of Codex and Claude Code become steps.

What a row of a session holds, beside times, tokens and the model:

- `message`: `tool` says who speaks (`user`, `assistant`, `reasoning`, `system`, `developer`, `summary`, `error`,
  `forked_from`); `tool_input` is what the model was given, `tool_output` what the model said.
- `model_call`: one answer of the model, before the rows of what it said; `tool_output` holds further counts as JSON.
- `tool_call`: `tool`, `tool_input`, `tool_output`, `outcome`, `failure_kind`, `duration_ms`.

A row is made when what it tells of is over, and its id comes from the session: a session that is imported again while
it grows adds what is new, and doubles nothing. What a fork repeats of the session it comes from is counted once: Claude
Code keeps the ids of lines, so whichever of both is imported first has the rows, and of Codex the fork has only its
own. A subagent is an attempt below the one that started it.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, cast

from ekiden_store.errors import StoreError
from ekiden_store.sessions.claude import ClaudeReader
from ekiden_store.sessions.codex import CODEX_TYPES, CodexReader
from ekiden_store.sessions.rows import SessionIds
from ekiden_store.steps import MAX_LINE_BYTES, Step

SessionKind = Literal["codex", "claude"]
_PATTERNS: dict[SessionKind, tuple[str, ...]] = {
    "codex": ("sessions/**/*.jsonl", "archived_sessions/**/*.jsonl"),
    "claude": ("projects/**/*.jsonl",),
}


@dataclass(slots=True)
class SessionReport:
    """What was found in a session file; complete when all its steps are read.

    Attributes:
        kind: Whose session it is; empty: no line told.
        version: The version of the agent.
        session: The id of the session.
        lines: How many lines there were.
        steps: How many steps they made.
        unknown: The kinds of lines that are not known, and how many; they made no step.
        damaged: How many lines were no JSON objects, or too long.
        copied: How many lines repeat the session that this one was forked from; they made no step.
        unfinished: How many calls had no result yet; they make no step until they have.
        torn: Whether the last line is not finished.
    """

    kind: SessionKind | Literal[""] = ""
    version: str = ""
    session: str = ""
    lines: int = 0
    steps: int = 0
    unknown: Counter[str] = field(default_factory=Counter[str])
    damaged: int = 0
    copied: int = 0
    unfinished: int = 0
    torn: bool = False


class SessionFile:
    """One session file.

    Attributes:
        report: What was found, so far.
    """

    def __init__(
        self,
        path: Path,
        *,
        theorem_name: str = "",
        run_id: str = "",
        iteration: int | None = None,
        is_over: bool = False,
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            path: The file.
            theorem_name: What was to be proved.
            run_id: The run it belongs to.
            iteration: The iteration of expert iteration it belongs to.
            is_over: Whether nothing more will come: calls without a result have then failed.
        """
        self.report = SessionReport()
        self._path = path
        self._ids = SessionIds(theorem_name=theorem_name, run_id=run_id, iteration=iteration, file=path.name)
        self._is_over = is_over

    def steps(self) -> Iterator[Step]:
        """Yield the steps of the session, in order; the file is read as they are needed.

        Raises:
            StoreError: It cannot be read, or is no session of Codex or Claude Code.
        """
        self.report = report = SessionReport()
        reader: CodexReader | ClaudeReader | None = None
        seen: set[str] = set()
        try:
            with self._path.open("rb") as file:
                for number, line in self._lines(file):
                    if reader is None:
                        reader = self._reader(line)
                    if reader is not None:
                        yield from self._fresh(reader.read(number, line), seen)
        except OSError as error:
            raise StoreError(f"The session {str(self._path)!r} cannot be read: {error.strerror}.") from error
        if reader is None:
            if report.lines or report.damaged:
                raise StoreError(f"{str(self._path)!r} is no session file of Codex or Claude Code.")
            return
        yield from self._fresh(reader.end(is_over=self._is_over), seen)
        report.unfinished, report.copied = reader.pending, reader.copied
        report.unknown, report.version, report.session = reader.unknown, reader.version, reader.session

    def _lines(self, file: BinaryIO) -> Iterator[tuple[int, dict[str, object]]]:
        """Yield the lines that hold objects, with their numbers."""
        while line := file.readline(MAX_LINE_BYTES):
            if not line.endswith(b"\n"):
                if len(line) < MAX_LINE_BYTES:
                    self.report.torn = True
                    return
                while line and not line.endswith(b"\n"):
                    line = file.readline(MAX_LINE_BYTES)
                line = b""
            self.report.lines += 1
            try:
                value: object = json.loads(line)
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, dict):
                yield self.report.lines, cast("dict[str, object]", value)
            else:
                self.report.damaged += bool(line != b"\n")

    def _reader(self, line: dict[str, object]) -> CodexReader | ClaudeReader | None:
        if "payload" in line and line.get("type") in CODEX_TYPES:
            self.report.kind = "codex"
            return CodexReader(self._ids)
        if "sessionId" in line or "leafUuid" in line:
            self.report.kind = "claude"
            return ClaudeReader(self._ids)
        return None

    def _fresh(self, steps: Iterator[Step], seen: set[str]) -> Iterator[Step]:
        """Leave out what a resumed session repeats."""
        for step in steps:
            if step.row_id not in seen:
                seen.add(step.row_id)
                self.report.steps += 1
                yield step


def session_files(home: Path, kind: SessionKind) -> list[Path]:
    """Return the session files below an agent's folder, such as `~/.codex` or `~/.claude`, the oldest names first."""
    return sorted({path for pattern in _PATTERNS[kind] for path in home.glob(pattern) if path.is_file()})
