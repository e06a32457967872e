"""A run in the trajectory store: an attempt for each problem, with its verdict and its calls of models."""

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ekiden_config import StoreSettings
from ekiden_judge import ReadAnswers
from ekiden_orchestrator.marathon.folder import RunFolder
from ekiden_orchestrator.marathon.scoring import Scored, answer_hash
from ekiden_orchestrator.marathon.state import RunState
from ekiden_orchestrator.marathon.summary import Judging

if TYPE_CHECKING:
    from ekiden_budget.records import CallRecord
    from ekiden_store import Step

_PAGE = 1_000
_LONGEST_ANSWER = 200_000


def store_run(
    settings: StoreSettings,
    folder: RunFolder,
    state: RunState,
    *,
    problems: Collection[str],
    read: ReadAnswers,
    judging: Judging,
) -> str:
    """Store what a run has come to; what was stored before is not stored again.

    Args:
        settings: The store.
        folder: The run.
        state: What its events say.
        problems: The ids of its problems.
        read: Its answers.
        judging: Their verdicts.

    Returns:
        Why it could not be stored; empty: it is. The run itself is as it was.
    """
    try:
        from ekiden_store import Store

        steps = [*_calls(folder, state, problems), *_verdicts(folder, state, read, judging)]
        store = Store(Path(settings.folder).expanduser())
        with store.writer(producer="ekiden marathon", segment_bytes=settings.segment_bytes) as writer:
            writer.append(steps)
    except Exception as error:  # noqa: BLE001  # whatever is wrong with the store, the run is right
        return " ".join(str(error).split()) or type(error).__name__
    return ""


def run_id(folder: RunFolder, state: RunState) -> str:
    """Return what the store calls a run: the name of its folder, and what tells it from others of that name."""
    started = hashlib.sha256(state.started.model_dump_json().encode()).hexdigest()
    return f"{folder.root.name}-{started[:12]}"


def _verdicts(folder: RunFolder, state: RunState, read: ReadAnswers, judging: Judging) -> Iterator["Step"]:
    blank = _blank(folder, state)
    for item in judging.scored or ():
        answer = read.answers.get(item.problem.id)
        if item.verdict.status == "harness_error" or (answer is None and not state.solver_is_done):
            continue  # it says nothing yet
        depends_on = f"{'' if answer is None else answer_hash(answer)}:{judging.identity}"
        code = None if answer is None else answer.code
        yield _of_verdict(item, code, judging, replace(blank, theorem_name=item.problem.id), depends_on)


def _of_verdict(item: Scored, code: object, judging: Judging, blank: "Step", depends_on: str) -> "Step":
    verdict = item.verdict
    is_accepted = verdict.status == "accepted"
    messages = [verdict.message, *(diagnostic.message for diagnostic in verdict.diagnostics)]
    attempt = f"{blank.run_id}/{item.problem.id}"
    return replace(
        blank,
        kind="verdict",
        attempt_id=attempt,
        row_id=f"{attempt}:{hashlib.sha256(depends_on.encode()).hexdigest()[:24]}",
        step=2**32 - 1,  # after all calls, however many a resumed run adds
        verdict=verdict.status,
        outcome="ok" if is_accepted else "failed",
        failure_kind="" if is_accepted else verdict.error_code,
        is_proof_complete=is_accepted,
        lean_messages=() if is_accepted else tuple(message for message in messages if message),
        tool=verdict.checker or judging.judge,
        tool_input=code[:_LONGEST_ANSWER] if isinstance(code, str) else "",
        tool_output=json.dumps({"claim": verdict.verdict, "certificate": verdict.certificate}),
        duration_ms=int(verdict.seconds * 1000),
    )


def _calls(folder: RunFolder, state: RunState, problems: Collection[str]) -> Iterator["Step"]:
    """Yield the calls of models that have ended; one that names no problem belongs to the run as a whole."""
    blank = _blank(folder, state)
    for number, call in enumerate(_settled(folder)):
        problem = call.label.purpose if call.label.purpose in problems else ""
        attempt = f"{blank.run_id}/{problem}" if problem else blank.run_id
        tokens = 0 if call.billed is None else call.billed.tokens
        counts = {"tokens": tokens, "dialect": call.label.dialect, "upstream": call.label.upstream}
        is_answered = call.outcome == "answered"
        took = None if call.ended_at is None else int((call.ended_at - call.begun_at).total_seconds() * 1000)
        yield replace(
            blank,
            theorem_name=problem,
            kind="model_call",
            attempt_id=attempt,
            row_id=f"{blank.run_id}:call:{call.call}",
            step=number,
            timestamp_ms=int(call.begun_at.timestamp() * 1000),
            model=call.label.model,
            tool_output=json.dumps(counts),
            outcome="ok" if is_answered else "failed",
            failure_kind="" if is_answered else call.outcome or "",
            cost_nanodollars=None if call.billed is None else call.billed.nanodollars,
            duration_ms=None if took is None else max(0, took),
        )


def _settled(folder: RunFolder) -> Sequence["CallRecord"]:
    """Return the calls of a run that have ended, the oldest first."""
    if not folder.ledger.is_file():
        return ()
    from ekiden_budget.ledger import BudgetId, Ledger
    from ekiden_orchestrator.marathon.model_access import RUN

    found: list[CallRecord] = []
    with Ledger(folder.ledger) as ledger:
        page = ledger.calls(BudgetId(RUN), limit=_PAGE)
        while page:
            found += (call for call in page if call.outcome is not None)
            page = ledger.calls(BudgetId(RUN), limit=_PAGE, before=page[-1].call)
    return found[::-1]


def _blank(folder: RunFolder, state: RunState) -> "Step":
    from ekiden_store import Step

    started = state.started
    settings = started.model_dump_json(exclude={"at", "manifest_origin"})
    return Step(
        theorem_name="",
        kind="message",
        run_id=run_id(folder, state),
        model=started.model or "",
        settings_sha256=hashlib.sha256(settings.encode()).hexdigest(),
        origin="solver",
        source=f"{started.solver} {started.solver_sha256[:12]} on {started.manifest}",
    )
