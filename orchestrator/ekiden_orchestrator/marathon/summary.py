"""The result of a run as one document, `summary.json`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ekiden_config import JudgeName
from ekiden_judge import STATUSES, ReadAnswers
from ekiden_orchestrator.marathon.answers import SealedAnswers
from ekiden_orchestrator.marathon.events import EndReason
from ekiden_orchestrator.marathon.scoring import Scored
from ekiden_orchestrator.marathon.spending import Spending
from ekiden_orchestrator.marathon.state import AttemptState, RunState
from ekiden_orchestrator.marathon.versions import versions

MAX_MESSAGE_CHARS = 1000
_SOLVERS_WORDS = {
    "token budget would be exhausted by this call": "The solver did not send calls that may use more than the tokens "
    "left: raise --budget-tokens, or have it ask for shorter answers.",
    "price unknown: ": "Calls were refused, since the price of their model is not known: add it under [budget.prices].",
}
"""What errors of model calls say, where a solver prints them, and what whoever reads the result should know."""


@dataclass(frozen=True, slots=True)
class Judging:
    """What a judge found.

    Attributes:
        judge: The judge's name, also where it has not judged yet.
        identity: What its verdicts depend on besides problem and answer; None where nothing was judged.
        scored: The verdicts in manifest order; None where nothing was judged.
        seconds: How long it took.
    """

    judge: JudgeName
    identity: str | None = None
    scored: Sequence[Scored] | None = None
    seconds: float = 0.0


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemResult(_Part):
    """One problem of the manifest."""

    id: str
    status: str
    verdict: str | None = Field(description="What the answer claims.")
    message: str
    error_code: str
    checker: str | None
    certificate: str | None
    axioms: tuple[str, ...] = Field(description="Axioms that the proof rests on, where the checker can tell.")
    declarations: tuple[str, ...] = Field(description="Constants that `submission` names, where the checker can tell.")
    seconds: float


class AttemptResult(_Part):
    """One solver process."""

    attempt: int
    reason: EndReason | None = Field(description="How it ended; null while that is not known.")
    isolation: str | None = Field(description="Strongest isolation that worked here.")
    read_only: bool = Field(description="Whether everything but the attempt's own folder was read-only.")
    refused_isolation: dict[str, str] = Field(description="Stronger kinds that did not work, with the reason.")
    exit_code: int | None
    wall_seconds: float
    sigterm_fired: bool
    sigkill_fired: bool
    answer_bytes: int
    notes: tuple[str, ...]


class LineCounts(_Part):
    """What became of the lines of the answers file."""

    lines: int
    replaced: int = Field(description="Answers that a later line of the same id replaced.")
    unknown_ids: int
    unread: int = Field(description="Lines behind those that are read; 0 unless the file was flooded.")
    skipped: dict[str, int] = Field(description="Lines that are no answer, by reason.")
    first_skipped: tuple[str, ...]


class LabelCheck(_Part):
    """How the accepted answers compare with the labels of the manifest."""

    labelled: int
    agreeing: int
    contradicting: tuple[str, ...] = Field(description="Ids of accepted answers whose verdict is not the label.")


class Summary(_Part):
    """Everything that is known about a run; counts and verdicts are null when it was not judged."""

    score: int | None
    problems: int
    attempted: int | None = Field(description="Problems with an answer, apart from harness errors.")
    not_attempted: int | None
    harness_errors: int | None = Field(description="Problems on whose answers the judge itself failed.")
    by_status: dict[str, int]
    by_error_code: dict[str, int]
    labels: LabelCheck | None
    wall_seconds: float | None
    judging_seconds: float
    budget_seconds: float | None
    budget_tokens: int | None
    budget_origin: str | None
    exit_code: int | None
    sigterm_fired: bool
    sigkill_fired: bool
    sigterm_reason: Literal["wall", "tokens", "output"] | None
    tokens_used: int
    tokens_exhausted: bool
    budget_usd: Decimal | None = Field(description="Dollars for language models; null is no cap.")
    usd_spent: Decimal | None = Field(
        description="Dollars settled, of calls with a price; null where no model was there."
    )
    model_calls: dict[str, int] = Field(description="Calls to models by how they ended; `refused` ones reached none.")
    model_call_failures: dict[str, int] = Field(
        description="Why calls were not answered, the most frequent reason first."
    )
    models: tuple[str, ...] = Field(description="The upstreams that calls could go to.")
    model: str | None = Field(description="The model that the solver was told to use; null: its own choice.")
    stderr_tail: str
    isolation: str | None
    solver: str | None
    solver_sha256: str | None
    manifest: str
    manifest_sha256: str
    judge: JudgeName
    judge_identity: str | None = Field(description="What the verdicts depend on besides problem and answer.")
    versions: dict[str, str]
    notes: tuple[str, ...] = Field(description="What was unusual about the answers file or the spending.")
    ignored_lines: LineCounts | None
    attempts: tuple[AttemptResult, ...]
    per_problem: tuple[ProblemResult, ...]


def summarise(
    *,
    manifest: str,
    manifest_sha256: str,
    problems: int,
    state: RunState | None,
    judging: Judging,
    read: ReadAnswers | None,
    sealed: SealedAnswers,
) -> Summary:
    """Compose the summary of a run, or of a foreign answers file where `state` is None."""
    scored = judging.scored
    statuses = Counter(item.verdict.status for item in scored or ())
    attempts = () if state is None else tuple(_attempt(attempt) for attempt in state.attempts)
    started = None if state is None else state.started
    spending = None if state is None else state.spending
    ended = None if state is None or not state.attempts else state.attempts[-1].ended
    reason = None if ended is None else ended.reason
    return Summary(
        score=None if scored is None else statuses["accepted"],
        problems=problems,
        attempted=None if scored is None else problems - statuses["not_attempted"] - statuses["harness_error"],
        not_attempted=None if scored is None else statuses["not_attempted"],
        harness_errors=None if scored is None else statuses["harness_error"],
        by_status={status: statuses[status] for status in STATUSES if statuses[status]},
        by_error_code=dict(Counter(item.verdict.error_code for item in scored or ())),
        labels=_labels(scored or ()),
        wall_seconds=None if state is None else round(state.wall_seconds, 3),
        judging_seconds=round(judging.seconds, 3),
        budget_seconds=None if started is None else started.budget_seconds,
        budget_tokens=None if started is None else started.budget_tokens,
        budget_origin=None if started is None else started.budget_origin,
        exit_code=None if ended is None else ended.exit_code,
        sigterm_fired=ended is not None and ended.sigterm_fired,
        sigkill_fired=ended is not None and ended.sigkill_fired,
        sigterm_reason=reason if reason in ("wall", "tokens", "output") else None,
        tokens_used=0 if spending is None else spending.tokens,
        tokens_exhausted=state is not None and state.tokens_exhausted,
        budget_usd=None if started is None else started.budget_usd,
        usd_spent=None if spending is None else spending.usd,
        model_calls={} if spending is None else spending.calls,
        model_call_failures={} if spending is None else spending.failures,
        models=() if started is None else started.models,
        model=None if started is None else started.model or None,
        stderr_tail="" if ended is None else ended.stderr_tail,
        isolation=attempts[-1].isolation if attempts else None,
        solver=None if started is None else started.solver,
        solver_sha256=None if started is None else started.solver_sha256,
        manifest=manifest,
        manifest_sha256=manifest_sha256,
        judge=judging.judge,
        judge_identity=judging.identity,
        versions=versions() if started is None else started.versions,
        notes=(
            *(note for attempt in attempts for note in attempt.notes),
            *sealed.notes,
            *_unread(read),
            *_unusual(spending, capped=started is not None and started.budget_usd is not None),
            *(note for words, note in _SOLVERS_WORDS.items() if ended is not None and words in ended.stderr_tail),
        ),
        ignored_lines=None if read is None else _lines(read),
        attempts=attempts,
        per_problem=tuple(_problem(item) for item in scored or ()),
    )


def _attempt(state: AttemptState) -> AttemptResult:
    running, ended = state.running, state.ended
    return AttemptResult(
        attempt=state.started.attempt,
        reason=None if ended is None else ended.reason,
        isolation=None if running is None else running.isolation,
        read_only=running is not None and running.read_only,
        refused_isolation={} if running is None else running.refused,
        exit_code=None if ended is None else ended.exit_code,
        wall_seconds=round(state.wall_seconds, 3),
        sigterm_fired=ended is not None and ended.sigterm_fired,
        sigkill_fired=ended is not None and ended.sigkill_fired,
        answer_bytes=0 if ended is None else ended.answer_bytes,
        notes=() if ended is None else ended.notes,
    )


def _problem(item: Scored) -> ProblemResult:
    verdict = item.verdict
    return ProblemResult(
        id=item.problem.id,
        status=verdict.status,
        verdict=verdict.verdict,
        message=verdict.message[:MAX_MESSAGE_CHARS],
        error_code=verdict.error_code,
        checker=verdict.checker,
        certificate=verdict.certificate,
        axioms=verdict.axioms,
        declarations=verdict.declarations,
        seconds=round(verdict.seconds, 6),
    )


def _labels(scored: Sequence[Scored]) -> LabelCheck | None:
    labelled = [item for item in scored if item.problem.answer is not None]
    if not labelled:
        return None
    accepted = [item for item in labelled if item.verdict.status == "accepted"]
    wrong = tuple(item.problem.id for item in accepted if (item.verdict.verdict == "true") != item.problem.answer)
    return LabelCheck(labelled=len(labelled), agreeing=len(accepted) - len(wrong), contradicting=wrong)


def _unread(read: ReadAnswers | None) -> list[str]:
    if read is None or not read.unread:
        return []
    return [f"The answers file has too many lines: the first {read.lines:,} count, the other {read.unread:,} do not."]


def _unusual(spending: Spending | None, *, capped: bool) -> list[str]:
    """Say what of the spending is not in its figures; of dollars only where they are shown or capped."""
    notes: list[str] = []
    if spending is not None and (free := sum(spending.calls.get(kind, 0) for kind in ("unsent", "turned_away"))):
        notes.append(f"The contract bills calls that no upstream took at their reservations: {free:,} here.")
    if spending is not None and spending.excess_tokens:
        notes.append(f"Upstreams reported {spending.excess_tokens:,} tokens above what the budget had room for.")
    if spending is not None and spending.unpriced_calls and (capped or spending.usd):
        notes.append(f"Calls without a known price: {spending.unpriced_calls:,}. They are not in the dollars spent.")
    return notes


def _lines(read: ReadAnswers) -> LineCounts:
    return LineCounts(
        lines=read.lines,
        replaced=read.replaced,
        unknown_ids=read.unknown_ids,
        unread=read.unread,
        skipped={**read.skipped_by_reason},
        first_skipped=tuple(f"line {line.line}: {line.message}" for line in read.skipped[:10]),
    )
