"""A run in the trajectory store: an attempt for each problem, with its verdict and its calls of models."""

import hashlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ekiden_judge import ReadAnswers
from ekiden_orchestrator.marathon.folder import RunFolder
from ekiden_orchestrator.marathon.scoring import answer_hash
from ekiden_orchestrator.marathon.solver_rows import read_solver_rows
from ekiden_orchestrator.marathon.state import RunState
from ekiden_orchestrator.marathon.summary import Judging
from ekiden_orchestrator.storing import call_step, ended_calls, verdict_step
from ekiden_store.columns import LAST_STEP

if TYPE_CHECKING:
    from ekiden_store import Step


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run has come to.

    Attributes:
        folder: The run.
        state: What its events say.
        problems: The ids of its problems.
        read: Its answers.
        judging: Their verdicts.
    """

    folder: RunFolder
    state: RunState
    problems: Collection[str]
    read: ReadAnswers
    judging: Judging


def run_steps(result: RunResult) -> Iterator["Step"]:
    """Yield the rows of a run: calls of models, what its solver tells of its own work, its processes, verdicts."""
    blank = _blank(result.folder, result.state)
    yield from _calls(result, blank)
    for attempt in result.state.attempts:
        scratch = result.folder.attempt(attempt.started.attempt).scratch
        yield from read_solver_rows(scratch, blank, attempt=attempt.started.attempt, problems=result.problems)
    yield from _processes(result.state, blank)
    yield from _verdicts(result, blank)


def run_id(folder: RunFolder, state: RunState) -> str:
    """Return what the store calls a run: the name of its folder, and what tells it from others of that name."""
    started = hashlib.sha256(state.started.model_dump_json().encode()).hexdigest()
    return f"{folder.root.name}-{started[:12]}"


def _verdicts(result: RunResult, blank: "Step") -> Iterator["Step"]:
    judging = result.judging
    for item in judging.scored or ():
        name = item.problem.id
        answer = result.read.answers.get(name)
        if item.verdict.status == "harness_error" or (answer is None and not result.state.solver_is_done):
            continue  # it says nothing yet
        depends_on = f"{'' if answer is None else answer_hash(answer)}:{judging.identity}"
        attempt = f"{blank.run_id}/{name}"
        own = replace(
            blank,
            theorem_name=name,
            attempt_id=attempt,
            row_id=f"{attempt}:{hashlib.sha256(depends_on.encode()).hexdigest()[:24]}",
            step=LAST_STEP,
        )
        yield verdict_step(own, item.verdict, None if answer is None else answer.code, judge=judging.judge)


def _calls(result: RunResult, blank: "Step") -> Iterator["Step"]:
    """Yield the calls of models that have ended; one that names no problem belongs to the run as a whole."""
    if not result.folder.ledger.is_file():
        return
    from ekiden_budget.ledger import BudgetId, Ledger
    from ekiden_orchestrator.marathon.model_access import RUN

    with Ledger(result.folder.ledger) as ledger:
        calls = ended_calls(ledger, BudgetId(RUN))
    for number, call in enumerate(calls):
        problem = call.label.purpose if call.label.purpose in result.problems else ""
        attempt = f"{blank.run_id}/{problem}" if problem else blank.run_id
        row_id = f"{blank.run_id}:call:{call.call}"
        yield call_step(replace(blank, theorem_name=problem, attempt_id=attempt, row_id=row_id, step=number), call)


def _processes(state: RunState, blank: "Step") -> Iterator["Step"]:
    """Yield the solver's processes that have ended; they belong to the run as a whole."""
    for attempt in state.attempts:
        ended = attempt.ended
        if ended is None:
            continue
        is_well = ended.reason == "exited" and ended.exit_code == 0
        told = ended.model_dump(mode="json", include={"exit_code", "answer_bytes", "notes", "stderr_tail"})
        yield replace(
            blank,
            kind="tool_call",
            attempt_id=blank.run_id,
            row_id=f"{blank.run_id}:process:{ended.attempt}",
            step=LAST_STEP,
            timestamp_ms=int(attempt.started.at.timestamp() * 1000),
            tool=state.started.solver,
            tool_input=json.dumps({"problems": attempt.started.problems, "seconds": attempt.started.wall_seconds}),
            tool_output=json.dumps(told),
            outcome="ok" if is_well else "failed",
            failure_kind="" if is_well else ended.reason,
            duration_ms=int(ended.wall_seconds * 1000),
        )


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
