"""The state of a run: the fold of its events."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import assert_never

from ekiden_config import JudgeName
from ekiden_judge import Verdict
from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.marathon.events import (
    AttemptEnded,
    AttemptStarted,
    Event,
    Heartbeat,
    Judged,
    RunFinished,
    RunStarted,
    SolverStarted,
)
from ekiden_orchestrator.marathon.spending import Spending


@dataclass(frozen=True, slots=True)
class VerdictKey:
    """What a verdict depends on: the problem, the answer, and the identity of the judge."""

    problem: str
    answer_sha256: str
    judge: str


@dataclass(frozen=True, slots=True)
class AttemptState:
    """One solver process: how it was started, how far it came, how it ended."""

    started: AttemptStarted
    running: SolverStarted | None = None
    elapsed_seconds: float = 0.0
    ended: AttemptEnded | None = None

    @property
    def wall_seconds(self) -> float:
        """The time it counts for; of a lost attempt, what its last heartbeat said."""
        return self.elapsed_seconds if self.ended is None else self.ended.wall_seconds

    @property
    def settled(self) -> bool:
        """Whether the solver itself, or a watchdog, ended it."""
        return self.ended is not None and self.ended.reason not in ("interrupted", "lost")


@dataclass(frozen=True, slots=True)
class RunState:
    """Everything that the events say."""

    started: RunStarted
    attempts: tuple[AttemptState, ...] = ()
    verdicts: dict[VerdictKey, Verdict] = field(default_factory=dict[VerdictKey, Verdict])
    finished: RunFinished | None = None

    @property
    def judge(self) -> JudgeName:
        """The judge that was last asked, else the one that the run was started for."""
        asked = None if self.finished is None else self.finished.judge_name
        return asked or self.started.judge

    @property
    def wall_seconds(self) -> float:
        """Wall time of all attempts."""
        return sum(attempt.wall_seconds for attempt in self.attempts)

    @property
    def answer_bytes(self) -> int:
        """Size of the answers of all attempts that have ended."""
        return sum(attempt.ended.answer_bytes for attempt in self.attempts if attempt.ended is not None)

    @property
    def spending(self) -> Spending | None:
        """What language models have cost so far; None where none could be reached."""
        told = [attempt.ended.spending for attempt in self.attempts if attempt.ended is not None]
        return next((spending for spending in reversed(told) if spending is not None), None)

    @property
    def tokens_exhausted(self) -> bool:
        """Whether all tokens of a finite budget are settled."""
        cap = self.started.budget_tokens
        return cap > 0 and self.spending is not None and self.spending.tokens >= cap

    @property
    def solver_is_done(self) -> bool:
        """Whether the last attempt ended by itself or by a watchdog, so that nothing remains to be run."""
        return bool(self.attempts) and self.attempts[-1].settled


def fold(events: Iterable[Event]) -> RunState:
    """Compute the state of a run.

    Raises:
        MarathonError: The events do not start with the start of a run, or speak of an attempt that is not there.
    """
    state: RunState | None = None
    for event in events:
        if isinstance(event, RunStarted):
            state = RunState(event)
        elif state is None:
            raise MarathonError(f"The event log starts with {event.type!r} in place of 'run_started'.")
        else:
            state = _step(state, event)
    if state is None:
        raise MarathonError("The event log is empty: the run was killed before it began; start a new one.")
    return state


def _step(
    state: RunState, event: AttemptStarted | SolverStarted | Heartbeat | AttemptEnded | Judged | RunFinished
) -> RunState:
    match event:
        case AttemptStarted():
            return replace(state, attempts=(*state.attempts, AttemptState(event)), finished=None)
        case SolverStarted():
            return _with_attempt(state, event.attempt, replace(_attempt(state, event.attempt), running=event))
        case Heartbeat():
            moved = replace(_attempt(state, event.attempt), elapsed_seconds=event.elapsed_seconds)
            return _with_attempt(state, event.attempt, moved)
        case AttemptEnded():
            return _with_attempt(state, event.attempt, replace(_attempt(state, event.attempt), ended=event))
        case Judged():
            key = VerdictKey(event.problem, event.answer_sha256, event.judge)
            state.verdicts[key] = event.verdict  # the fold owns this one dictionary
            return state
        case RunFinished():
            return replace(state, finished=event)
        case _:
            assert_never(event)


def _attempt(state: RunState, number: int) -> AttemptState:
    if not 1 <= number <= len(state.attempts):
        raise MarathonError(f"The event log speaks of attempt {number}, which was never started.")
    return state.attempts[number - 1]


def _with_attempt(state: RunState, number: int, attempt: AttemptState) -> RunState:
    attempts = (*state.attempts[: number - 1], attempt, *state.attempts[number:])
    return replace(state, attempts=attempts)
