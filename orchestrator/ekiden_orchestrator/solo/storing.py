"""A Solo run in the trajectory store: an attempt for each time that a problem was run, with its solver's calls."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ekiden_orchestrator.solo.models import purpose_of
from ekiden_orchestrator.solo.results import LogEntry, Results, SoloRecord
from ekiden_orchestrator.storing import call_step, ended_calls, verdict_step
from ekiden_store.columns import LAST_STEP

if TYPE_CHECKING:
    from ekiden_budget.records import CallRecord
    from ekiden_store import Step

_ROLE = "problem"
"""The role of the budgets of problems."""
_LONGEST_TEXT = 20_000


@dataclass(frozen=True, slots=True)
class SoloStory:
    """What a results file and its ledger tell.

    Attributes:
        results: The records.
        problems: What the problems are called.
        output: The results file.
        ledger: The ledger beside it.
    """

    results: Results
    problems: str
    output: Path
    ledger: Path

    def steps(self, *names: str) -> Iterator["Step"]:
        """Yield the rows of some problems; without a name those of all, and of problems that were cut short."""
        chosen = {name: record for name, record in self.results.results.items() if name in names or not names}
        calls = self._calls({record.budget: name for name, record in chosen.items()} if names else None)
        for name, record in chosen.items():
            yield from self._attempt(name, record, calls.pop(record.budget, ("", []))[1])
        for budget, (name, cut_short) in calls.items():
            blank = replace(self._blank(name), attempt_id=f"{self._run}/{name}/{budget}")
            for number, call in enumerate(cut_short):
                yield call_step(replace(blank, row_id=_row_of(blank, call), step=number), call)

    @property
    def _run(self) -> str:
        return f"{self.output.stem}-{self.results.id}"

    def _blank(self, name: str) -> "Step":
        from ekiden_store import Step

        return Step(
            theorem_name=name,
            kind="message",
            run_id=self._run,
            origin="solver",
            source=f"{self.results.solver} on {self.problems}",
        )

    def _calls(self, budgets: Mapping[str, str] | None) -> dict[str, tuple[str, list["CallRecord"]]]:
        """Return the ended calls of problems' budgets, with the problem's name.

        Args:
            budgets: The ids of the budgets, and their problems; None: all that the ledger has.
        """
        if not self.ledger.is_file():
            return {}
        from ekiden_budget.ledger import BudgetId, Ledger

        with Ledger(self.ledger) as ledger:
            if budgets is None:
                budgets = {status.budget: status.name for status in ledger.tree() if status.role == _ROLE}
            return {budget: (name, ended_calls(ledger, BudgetId(budget))) for budget, name in budgets.items() if budget}

    def _attempt(self, name: str, record: SoloRecord, calls: Sequence["CallRecord"]) -> Iterator["Step"]:
        content = f"{name}\n{record.model_dump_json()}"
        tag = record.budget or hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]
        blank = replace(
            self._blank(name), attempt_id=f"{self._run}/{name}/{tag}", settings_sha256=record.settings_sha256
        )
        asked = {call.label.purpose: call for call in calls}
        number = 0
        for step, entry in enumerate(record.log):
            number += entry.type == "llm"
            began = record.began_ms + int((entry.at_seconds - entry.seconds) * 1000) if record.began_ms else None
            own = replace(
                blank,
                row_id=f"{blank.attempt_id}:{step}",
                step=step,
                timestamp_ms=began,
                duration_ms=int(entry.seconds * 1000),
            )
            call = asked.pop(purpose_of(number), None) if entry.type == "llm" else None
            if call is not None:
                own = replace(own, row_id=_row_of(blank, call))  # whether its record is there yet or not
            yield _entry_step(own, entry, record, call)
        for step, call in enumerate(asked.values(), len(record.log)):  # the log is bounded
            yield call_step(replace(blank, row_id=_row_of(blank, call), step=step), call)
        yield _end(replace(blank, row_id=f"{blank.attempt_id}:end", step=LAST_STEP), record)


def _entry_step(blank: "Step", entry: LogEntry, record: SoloRecord, call: "CallRecord | None") -> "Step":
    """Return one thing that happened as a row."""
    match entry.type:
        case "judge" if status := entry.reply.get("status"):
            code = record.code if status == "accepted" else entry.request.get("code", "")  # the log cuts long ones
            if entry.verdict is not None:
                return verdict_step(blank, entry.verdict, code, judge=record.judge)
            return replace(  # a record of an earlier version
                blank,
                kind="verdict",
                verdict=status,
                outcome="ok" if status == "accepted" else "failed",
                is_proof_complete=status == "accepted",
                tool=record.judge,
                tool_input=code or "",
            )
        case "llm":
            said = _without_empty({"context": entry.request.get("context", ""), **entry.reply})
            own = replace(blank, kind="model_call")
            if call is not None:
                return call_step(own, call, said=said)
            why = entry.reply.get("error", "")
            outcome = "failed" if why else "ok"
            return replace(own, tool_output=json.dumps(said), outcome=outcome, failure_kind=why[:80])
        case "judge" | "unknown":
            return replace(
                blank,
                kind="tool_call",
                tool="judge" if entry.type == "judge" else entry.request.get("call", ""),
                tool_input=json.dumps(entry.request),
                tool_output=json.dumps(entry.reply),
                outcome="failed",
                failure_kind=entry.reply.get("error", entry.reply.get("status", ""))[:80],
            )
        case "error" | "timeout" | "solver_stderr":
            return replace(blank, tool=entry.type, tool_output=entry.text[:_LONGEST_TEXT], duration_ms=None)


def _end(blank: "Step", record: SoloRecord) -> "Step":
    """Return how an attempt ended as a row."""
    told = record.model_dump(mode="json", include={"exit_code", "judge_calls", "llm_calls", "tokens", "llm_failures"})
    return replace(
        blank,
        timestamp_ms=record.began_ms + int(record.seconds * 1000) if record.began_ms else None,
        tool="solo",
        tool_output=json.dumps({"ending": record.ending, "reason": record.reason, **told}),
        outcome="ok" if record.solved else "failed",
        failure_kind="" if record.solved else record.ending,
        duration_ms=int(record.seconds * 1000),
    )


def _row_of(blank: "Step", call: "CallRecord") -> str:
    return f"{blank.attempt_id}:call:{call.call}"


def _without_empty(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value}
