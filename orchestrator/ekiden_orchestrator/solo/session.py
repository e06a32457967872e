"""One problem: what its solver calls for, and what it is answered."""

import json
import signal
import time
from collections.abc import Callable
from typing import cast

from ekiden_config import JudgeName
from ekiden_judge import Entry, JudgeConfigurationError, JudgeInfrastructureError, Problem, Verdict
from ekiden_judge.choice import Judge
from ekiden_orchestrator.solo.models import OUT_OF_BUDGET, ProblemModels
from ekiden_orchestrator.solo.process import SolverProcess
from ekiden_orchestrator.solo.prompt import Attempt, fill_prompt
from ekiden_orchestrator.solo.results import Ending, EntryType, LogEntry, SoloRecord

SHORTEST_CALL_S = 1.0
"""Seconds that must be left for a call to be begun."""

MAX_LOGGED_CHARS = 20_000
MAX_LOGGED_FIELDS = 20
MAX_LOG_ENTRIES = 10_000
MAX_DEPTH = 100
MAX_REASON_CHARS = 120

Json = dict[str, object]
OnCall = Callable[[str], None]


class Session:
    """Serves one solver process until its problem is solved, it ends, or its time is over."""

    def __init__(
        self,
        problem: Problem,
        process: SolverProcess,
        *,
        prompt: str,
        judge: Judge,
        models: ProblemModels,
        tell: OnCall,
    ) -> None:
        self._problem = problem
        self._process = process
        self._prompt = prompt
        self._judge = judge
        self._models = models
        self._tell = tell
        self._attempts: list[Attempt] = []
        self._log: list[LogEntry] = []
        self._llm_calls = 0
        self._model_error = ""
        self._accepted: tuple[str, str] | None = None
        self._verdict: Verdict | None = None  # of the call that is being answered

    def serve(self, start: Json) -> Ending:
        """Give the solver its problem, then answer its calls."""
        self._process.send(_line(start))
        while True:
            line = self._process.next_line()
            match line:
                case "ended":
                    return "solver ended"
                case "time":
                    return self._out_of_time("The time was over.")
                case "flood":
                    self._note("error", text="A line of the solver's output has more than 1,048,576 characters.")
                    return "line too long"
                case bytes():
                    call = _call_in(line)
            if call is None:
                continue
            if self._process.left_s <= SHORTEST_CALL_S:
                return self._out_of_time(f"At most {SHORTEST_CALL_S:g} s was left, so the call was not begun.")
            self._process.send(_line(self._answer(call)))
            if self._accepted is not None:
                return "solved"

    def record(self, ending: Ending, judge: JudgeName) -> SoloRecord:
        """Say how it went; the process has ended."""
        if self._process.stderr_tail:
            self._note("solver_stderr", text=self._process.stderr_tail, limit=None)
        verdict, code = self._accepted or (None, None)
        reason = ""
        if ending == "solver ended":
            ending, reason = _own_end(self._process.exit_code, self._model_error)
        lasted_s = time.monotonic() - self._process.began
        return SoloRecord(
            solved=self._accepted is not None,
            verdict=verdict,
            code=code,
            llm_calls=self._llm_calls,
            judge_calls=len(self._attempts),
            tokens=0,
            seconds=round(lasted_s, 3),
            began_ms=int((time.time() - lasted_s) * 1000),
            ending=ending,
            reason=reason,
            exit_code=self._process.exit_code,
            judge=judge,
            equation1=self._problem.equation1,
            equation2=self._problem.equation2,
            log=tuple(self._log),
        )

    def _answer(self, call: Json) -> Json:
        began = time.monotonic()
        self._verdict = None
        kind: EntryType
        reply: Json
        match call["call"]:
            case "judge":
                self._tell("judge")
                kind, reply = "judge", self._judged(call)
            case "llm":
                self._tell("llm")
                kind, reply = "llm", self._asked(call)
            case other:
                kind, reply = "unknown", {"error": f"unknown call type: {other}"}
        seconds = round(time.monotonic() - began, 3)
        self._note(kind, request=call, reply=reply, seconds=seconds, verdict=self._verdict)
        return reply

    def _judged(self, call: Json) -> Json:
        claim, code = call.get("verdict"), call.get("code")
        try:
            [verdict] = self._judge.judge([Entry(self._problem, claim, code)])
        except JudgeConfigurationError as error:
            return {"error": f"judge configuration error: {error}"}
        except JudgeInfrastructureError as error:
            return {"error": f"judge infrastructure error: {error}"}
        if verdict.status == "harness_error":
            return {"error": f"judge infrastructure error: {verdict.message}"}
        self._verdict = verdict
        stderr = _diagnostics(verdict)
        accepted = verdict.status == "accepted"
        self._attempts.append(
            Attempt(_readable(claim)[:20], verdict.status, "" if accepted else stderr or verdict.message)
        )
        if accepted:
            self._accepted = (cast("str", claim), cast("str", code))
        reply: Json = {"status": verdict.status}
        reply |= {key: text for key, text in (("message", verdict.message), ("stderr", stderr)) if text}
        return reply

    def _asked(self, call: Json) -> Json:
        given = call.get("context")
        context = cast("Json", given) if isinstance(given, dict) else {}
        self._llm_calls += 1
        prompt = fill_prompt(self._prompt, self._problem, self._attempts, number=self._llm_calls, context=context)
        reply = self._models.ask(prompt, time_limit_s=self._process.left_s)
        self._model_error = _readable(reply.get("error", ""))
        return reply

    def _out_of_time(self, why: str) -> Ending:
        self._note("timeout", text=why)
        return "out of time"

    def _note(
        self,
        kind: EntryType,
        *,
        request: Json | None = None,
        reply: Json | None = None,
        seconds: float = 0.0,
        text: str = "",
        verdict: Verdict | None = None,
        limit: int | None = MAX_LOGGED_CHARS,
    ) -> None:
        if len(self._log) >= MAX_LOG_ENTRIES:
            return
        at = round(time.monotonic() - self._process.began, 3)
        entry = LogEntry(
            type=kind,
            at_seconds=at,
            seconds=seconds,
            request=_shortened(request or {}),
            reply=_shortened(reply or {}),
            text=text[:limit],
            verdict=verdict,
        )
        self._log.append(entry)


def _own_end(exit_code: int | None, model_error: str) -> tuple[Ending, str]:
    """Say why a solver ended that nobody ended.

    Args:
        exit_code: Its exit status, negative for a signal; None if nobody knows.
        model_error: What its last call of a model got for an answer, if that was an error.
    """
    if exit_code is None:
        return "solver killed", "its keeper died"
    if exit_code == -signal.SIGTERM:  # what one gets that goes on behind a closed output
        return "solver ended", "SIGTERM after its output had ended"
    if exit_code < 0:
        names = {each.value: each.name for each in signal.Signals}
        return "solver killed", names.get(-exit_code, f"signal {-exit_code}")
    if exit_code > 0:
        return "solver failed", f"exit status {exit_code}"
    if not model_error:
        return "solver ended", "by itself"
    shown = model_error if len(model_error) <= MAX_REASON_CHARS else f"{model_error[:MAX_REASON_CHARS]}..."
    return "out of budget" if model_error.startswith(OUT_OF_BUDGET) else "no model", shown


def _call_in(line: bytes) -> Json | None:
    """Return the call that a line holds; None for what is no JSON object or has no `call`, and gets no reply."""
    try:
        value = cast("object", json.loads(line))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or "call" not in value or not _is_shallow(cast("object", value)):
        return None
    return cast("Json", value)


def _is_shallow(value: object) -> bool:
    """Tell whether a value can be written again: one that is nested too deeply could be read, but only just."""
    level = [value]
    for _ in range(MAX_DEPTH):
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner += cast("Json", item).values()
            elif isinstance(item, list):
                inner += cast("list[object]", item)
        if not inner:
            return True
        level = inner
    return False


def _line(value: Json) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _shortened(fields: Json) -> dict[str, str]:
    """Return fields for the log: as texts that any reader of JSON takes, long ones cut."""
    return {_readable(key)[:200]: _readable(value) for key, value in list(fields.items())[:MAX_LOGGED_FIELDS]}


def _readable(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    if len(text) > MAX_LOGGED_CHARS:
        text = text[:MAX_LOGGED_CHARS] + "..."
    return text.encode("utf-8", "replace").decode()


def _diagnostics(verdict: Verdict) -> str:
    """Return what Lean says of places of the code, a line each, as a compiler would."""
    return "\n".join(
        f"Submission.lean:{place.line}:{place.column}: {place.severity}: {place.message}"
        for place in verdict.diagnostics
    )
