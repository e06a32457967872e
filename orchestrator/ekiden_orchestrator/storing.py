"""Runs in the trajectory store. Whatever is wrong with the store, no run depends on it."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ekiden_config import StoreSettings

if TYPE_CHECKING:
    from ekiden_budget.ledger import BudgetId, Ledger
    from ekiden_budget.records import CallRecord
    from ekiden_judge import Verdict
    from ekiden_store import Step, Writer

_PART_ROWS = 50_000
"""How large the parts get that a run makes at its end: larger ones would hold up whoever waits for it."""
_TIDY_S = 2.0
_LONGEST_CODE = 200_000
_PAGE = 1_000


class RunStore:
    """The store, as far as a run writes to it, by one writer; after a first failure nothing more is tried.

    Attributes:
        trouble: Why something could not be stored; empty: all is stored.
    """

    def __init__(self, settings: StoreSettings, *, producer: str) -> None:
        self.trouble = ""
        self._settings = settings
        self._producer = producer
        self._writer: Writer | None = None

    def keep(self, steps: Callable[[], Iterable["Step"]]) -> bool:
        """Store rows that bring their ids, those that are there already left out; tell whether all are stored."""
        if self.trouble:
            return False
        try:
            if self._writer is None:
                from ekiden_store import Store

                store = Store(Path(self._settings.folder).expanduser())
                self._writer = store.writer(producer=self._producer, segment_bytes=self._settings.segment_bytes)
            self._writer.append(steps())
        except Exception as error:  # noqa: BLE001  # whatever is wrong with the store, the run is right
            self.trouble = " ".join(str(error).split()) or type(error).__name__
        return not self.trouble

    def close(self) -> None:
        """Let go of the writer's file, so that it can be compacted."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def tidy(self) -> None:
        """Close, and compact what many runs have left if that is worth it and quick; what goes wrong harms nothing."""
        self.close()
        if self.trouble:
            return
        try:
            from ekiden_store import Store

            store = Store(Path(self._settings.folder).expanduser(), create=False)
            rows = min(_PART_ROWS, self._settings.part_rows)
            store.compact_if_due(files=self._settings.compact_files, part_rows=rows, seconds=_TIDY_S, waits=False)
        except (Exception, KeyboardInterrupt):  # noqa: BLE001, S110  # nothing is lost, and the run has ended
            pass


def ended_calls(ledger: "Ledger", budget: "BudgetId") -> list["CallRecord"]:
    """Return the calls of a budget and of all below it that have ended, the oldest first."""
    found: list[CallRecord] = []
    page = ledger.calls(budget, limit=_PAGE)
    while page:
        found += (call for call in page if call.outcome is not None)
        page = ledger.calls(budget, limit=_PAGE, before=page[-1].call)
    return found[::-1]


def call_step(blank: "Step", call: "CallRecord", *, said: Mapping[str, object] | None = None) -> "Step":
    """Return a call of a model as a row.

    Args:
        blank: What the row says besides: whose it is, its id, its place.
        call: What the ledger says.
        said: What else is known of the answer.
    """
    is_answered = call.outcome == "answered"
    took = None if call.ended_at is None else int((call.ended_at - call.begun_at).total_seconds() * 1000)
    told: dict[str, object] = {"tokens": 0 if call.billed is None else call.billed.tokens + call.excess.tokens}
    if call.parts is not None:
        told |= {"cached_input": call.parts.cached_input, "reasoning": call.parts.reasoning}
    told |= {"dialect": call.label.dialect, "upstream": call.label.upstream}
    if call.detail:
        told["detail"] = call.detail
    return replace(
        blank,
        kind="model_call",
        timestamp_ms=int(call.begun_at.timestamp() * 1000),
        model=call.label.model,
        prompt_sha256=call.label.prompt_sha256,
        temperature=call.label.temperature,
        tool_output=json.dumps(told | dict(said or {})),
        outcome="ok" if is_answered else "failed",
        failure_kind="" if is_answered else call.outcome or "",
        tokens_in=None if call.parts is None else call.parts.input,
        tokens_out=None if call.parts is None else call.parts.output,
        cost_nanodollars=None if call.billed is None else call.billed.nanodollars,
        duration_ms=None if took is None else max(0, took),
    )


def verdict_step(blank: "Step", verdict: "Verdict", code: object, *, judge: str) -> "Step":
    """Return a verdict as a row.

    Args:
        blank: What the row says besides: whose it is, its id, its place.
        verdict: The verdict.
        code: What was judged.
        judge: Who judged, where the verdict does not tell.
    """
    is_accepted = verdict.status == "accepted"
    messages = [verdict.message, *(diagnostic.message for diagnostic in verdict.diagnostics)]
    found = {"claim": verdict.verdict, "certificate": verdict.certificate, "axioms": verdict.axioms}
    return replace(
        blank,
        kind="verdict",
        verdict=verdict.status,
        outcome="ok" if is_accepted else "failed",
        failure_kind="" if is_accepted else verdict.error_code,
        is_proof_complete=is_accepted,
        lean_messages=() if is_accepted else tuple(message for message in messages if message),
        tool=verdict.checker or judge,
        tool_input=code[:_LONGEST_CODE] if isinstance(code, str) else "",
        tool_output=json.dumps(found),
        duration_ms=int(verdict.seconds * 1000),
    )
