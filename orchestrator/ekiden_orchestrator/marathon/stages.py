"""What is done to a run: solving, judging, concluding; each stage leaves an event before the next begins."""

import time
from contextlib import AbstractContextManager
from pathlib import Path

from ekiden_config import JudgeName, MarathonSettings
from ekiden_files import write_whole
from ekiden_judge import ReadAnswers, Verdict, read_answers
from ekiden_judge.choice import Judge
from ekiden_orchestrator.marathon.answers import SealedAnswers, compose, read_sealed
from ekiden_orchestrator.marathon.attempt import Observer, run_attempt, wait_until_gone
from ekiden_orchestrator.marathon.display import Display
from ekiden_orchestrator.marathon.events import (
    AttemptEnded,
    AttemptStarted,
    EventLog,
    Heartbeat,
    Judged,
    RunFinished,
    SolverStarted,
)
from ekiden_orchestrator.marathon.folder import RunFolder
from ekiden_orchestrator.marathon.key_safety import require_unreadable_keys
from ekiden_orchestrator.marathon.manifest import Manifest
from ekiden_orchestrator.marathon.model_access import ModelAccess, ModelSource, caps_of, open_models, settle_abandoned
from ekiden_orchestrator.marathon.plan import Plan
from ekiden_orchestrator.marathon.run_log import RunLog
from ekiden_orchestrator.marathon.scoring import Bench, judge_answers, recorded
from ekiden_orchestrator.marathon.served_model import require_model_of
from ekiden_orchestrator.marathon.spending import Spending, calls_in_words
from ekiden_orchestrator.marathon.state import RunState, VerdictKey, fold
from ekiden_orchestrator.marathon.storing import RunResult, run_steps
from ekiden_orchestrator.marathon.submission import Submission
from ekiden_orchestrator.marathon.summary import Judging, Summary, summarise
from ekiden_orchestrator.pricing import price_warning
from ekiden_orchestrator.storing import RunStore

_SYNC_INTERVAL_S = 0.5
_SHORTEST_RESUMED_ATTEMPT_S = 1.0
_SMALLEST_RESUMED_POOL_S = 5.0


class Run:
    """An open run: its folder is locked, its log can be appended to."""

    def __init__(
        self,
        folder: RunFolder,
        *,
        submission: Submission,
        manifest: Manifest,
        models: ModelSource,
        settings: MarathonSettings,
        store: RunStore | None,
        display: Display,
        events: EventLog,
        log: RunLog,
    ) -> None:
        self._folder = folder
        self._submission = submission
        self._manifest = manifest
        self._models = models
        self._settings = settings
        self._store = store
        self._display = display
        self._events = events
        self._log = log

    @property
    def state(self) -> RunState:
        """What the events say."""
        return fold(self._events.events)

    def carry_through(self, judge: Judge | None) -> Summary:
        """Do whatever the events say is still to be done; without a judge, leave judging for later."""
        self._open(self.state.judge if judge is None else judge.name)
        if self.state.finished is None:
            self._settle_lost_attempt()
            self._run_solver()
        return self._conclude(judge, final=True)

    def score_only(self, judge: Judge) -> Summary:
        """Judge what there is, without starting the solver again."""
        self._open(judge.name)
        self._settle_lost_attempt()
        return self._conclude(judge, final=self.state.solver_is_done)

    def show_again(self) -> Summary | None:
        """Show the result of a finished run; None if anything is still to be done or judged."""
        state = self.state
        finished = state.finished
        if finished is None:
            return None
        sealed = self._compose()
        read = read_answers(sealed.data, self._manifest.ids)
        judging = Judging(state.judge)
        if finished.judged:
            known = recorded(self._manifest.problems, read, finished.judge or "", state.verdicts)
            if known is None:
                return None
            judging = Judging(state.judge, finished.judge, known, finished.judging_seconds)
        self._open(state.judge)
        return self._report(read, sealed, judging, final=True)

    def _open(self, judge: JudgeName) -> None:
        self._display.heading(self.state.started, self._folder, judge)
        if self._events.repaired_bytes:
            self._note(f"The last event was torn: {self._events.repaired_bytes} bytes were cut off.")

    def _settle_lost_attempt(self) -> None:
        """Record the end of an attempt whose runner was killed."""
        attempts = self.state.attempts
        if not attempts or attempts[-1].ended is not None:
            return
        lost = attempts[-1]
        folder = self._folder.attempt(lost.started.attempt)
        wait_until_gone(folder)
        spending = settle_abandoned(self._folder)
        sealed = read_sealed(folder.answers, self._settings.output_limit_bytes - self.state.answer_bytes)
        folder.root.parent.mkdir(exist_ok=True)
        write_whole(folder.sealed, sealed.data, sync=True)
        self._events.append(
            AttemptEnded(
                attempt=lost.started.attempt,
                reason="lost",
                exit_code=None,
                wall_seconds=lost.elapsed_seconds,
                sigterm_fired=False,
                sigkill_fired=True,
                stderr_tail="",
                answer_bytes=len(sealed.data),
                notes=(*sealed.notes, "The runner was killed during this attempt."),
                spending=spending,
            )
        )
        self._note(f"Attempt {lost.started.attempt} was lost with its runner after {lost.elapsed_seconds:.1f} s.")

    def _run_solver(self) -> None:
        """Start another attempt where the solver has not ended and there is something left to do and to spend."""
        state = self.state
        if state.solver_is_done:
            return
        remaining_s = state.started.budget_seconds - state.wall_seconds
        output_bytes = self._settings.output_limit_bytes - state.answer_bytes
        answered = self._answered() if state.attempts else frozenset[str]()
        open_problems = len(self._manifest.problems) - len(answered)
        if state.attempts and (remaining_s < _SHORTEST_RESUMED_ATTEMPT_S or output_bytes <= 0 or not open_problems):
            self._note(f"Nothing is left to run: {open_problems} problems without an answer, {remaining_s:.1f} s.")
            return
        if state.tokens_exhausted and self._settings.tokens_end_run:
            self._note("Nothing is left to run: the tokens are used up, which ends a run (marathon.tokens_end_run).")
            return
        model = self._settings.model if state.started.model is None else state.started.model
        if state.attempts:
            require_unreadable_keys(self._submission, self._models, self._settings)
            tokens, usd = state.started.budget_tokens, state.started.budget_usd
            require_model_of(self._submission, model, tokens, self._models, usd=usd)
            self._note(f"Going on with {open_problems} problems without an answer and {remaining_s:.1f} s.")
        number = len(state.attempts) + 1
        self._events.append(AttemptStarted(attempt=number, wall_seconds=remaining_s, problems=open_problems))
        self._folder.attempt(number).create(self._submission, self._manifest.for_solver(without=answered))
        with self._open_models() as models:
            plan = Plan(
                number=number,
                run=self._folder,
                manifest_origin=Path(state.started.manifest_origin),
                wall_s=remaining_s,
                tokens=tokens_left(state, models),
                output_bytes=output_bytes,
                built_in=self._submission.built_in,
                pool_s=_pool_left(state, remaining_s),
                models=models,
                token_limit=state.started.budget_tokens if self._settings.tokens_end_run else 0,
                model=model,
                has_keys=self._models.has_keys,
            )
            ended = self._attempt(plan, open_problems)
            if models is not None:
                ended = ended.model_copy(update={"spending": self._settle(models)})
        self._events.append(ended)
        self._display.solver_ended(ended)
        self._log.write("marathon", f"attempt {ended.attempt} ended: {ended.reason}, exit code {ended.exit_code}")
        if ended.reason == "interrupted":
            self._compose()
            raise KeyboardInterrupt

    def _open_models(self) -> AbstractContextManager[ModelAccess | None]:
        started = self.state.started
        if not self._models.upstreams:
            self._note("No language model can be reached: no key is set and no upstream configured. The run goes on.")
        elif self._models.has_keys and self._settings.allow_readable_keys and not self._submission.built_in:
            self._note("The solver may be able to read the keys of the models (marathon.allow_readable_keys).")
        caps = caps_of(started.budget_tokens, started.budget_usd)
        if self._models.upstreams and (warning := price_warning(self._models.settings, caps)):
            self._note(warning)
        name = f"{started.solver} on {started.manifest}"
        return open_models(self._folder, self._models, self._settings, name=name, caps=caps)

    def _settle(self, models: ModelAccess) -> Spending:
        """Settle every call that was in flight when the solver ended."""
        if calls := models.calls_in_flight():
            self._note(f"Calls in flight: {calls}. They have {self._settings.drain_s:g} s to end and be settled.")
        with self._display.phase("settling"):
            spending = models.end(self._settings.drain_s)
        ways = calls_in_words(spending.calls, spending.failures)
        self._log.write("marathon", f"{spending.tokens} tokens settled, ${spending.usd:f}; calls: {ways}")
        return spending

    def _attempt(self, plan: Plan, problems: int) -> AttemptEnded:
        def started(event: SolverStarted) -> None:
            self._events.append(event)
            self._log.write("marathon", f"attempt {plan.number} runs; isolation: {event.isolation}")
            for kind, why in event.refused.items():
                self._log.write("marathon", f"isolation {kind} does not work here: {why}")

        def heartbeat(elapsed_s: float) -> None:
            self._events.append(Heartbeat(attempt=plan.number, elapsed_seconds=elapsed_s))

        observer = Observer(started, heartbeat, self._display.glance, self._log)
        expected_s = plan.wall_s if plan.pool_s is None else plan.pool_s
        with self._display.phase("solving", expected_s=expected_s, problems=problems):
            return run_attempt(plan, self._settings, observer)

    def _compose(self) -> SealedAnswers:
        """Write the run's answers from those of its attempts."""
        parts = [
            read_sealed(self._folder.attempt(attempt.started.attempt).sealed, self._settings.output_limit_bytes)
            for attempt in self.state.attempts
        ]
        data = compose([part.data for part in parts])
        write_whole(self._folder.answers, data, sync=True)
        return SealedAnswers(data)

    def _answered(self) -> frozenset[str]:
        """Return the problems that have an answer worth judging."""
        read = read_answers(self._compose().data, self._manifest.ids)
        return frozenset(
            name
            for name, answer in read.answers.items()
            if answer.fault is None and answer.verdict in ("true", "false") and isinstance(answer.code, str)
        )

    def _conclude(self, judge: Judge | None, *, final: bool) -> Summary:
        """Compose the answers, judge them, write the summary, and mark the run as finished if nothing can follow."""
        sealed = self._compose()
        read = read_answers(sealed.data, self._manifest.ids)
        judging = Judging(self.state.judge) if judge is None else self._judge(judge, read)
        return self._report(read, sealed, judging, final=final)

    def _report(self, read: ReadAnswers, sealed: SealedAnswers, judging: Judging, *, final: bool) -> Summary:
        summary = summarise(
            manifest=self._manifest.name,
            manifest_sha256=self._manifest.sha256,
            problems=len(self._manifest.problems),
            state=self.state,
            judging=judging,
            read=read,
            sealed=sealed,
        )
        write_whole(self._folder.summary, summary.model_dump_json(indent=2).encode() + b"\n", sync=True)
        if final:
            self._finish(judging)
        self._keep(read, judging)
        self._display.result(summary, self._folder)
        if self._store is not None:
            self._store.tidy()
        return summary

    def _keep(self, read: ReadAnswers, judging: Judging) -> None:
        """Write the run to the trajectory store, unless the settings say no; that it fails harms nothing."""
        if self._store is None:
            return
        problems = frozenset(self._manifest.ids)
        result = RunResult(self._folder, self.state, problems, read, judging)
        try:
            if not self._store.keep(lambda: run_steps(result)):
                self._note(f"The run is not in the trajectory store: {self._store.trouble}")
        finally:
            self._store.close()

    def _finish(self, judging: Judging) -> None:
        """Mark the run as finished, unless it is so marked already."""
        judged = judging.scored is not None
        finished = self.state.finished
        if finished is not None and (finished.judged, finished.judge) == (judged, judging.identity):
            return
        self._events.append(
            RunFinished(
                judged=judged,
                judging_seconds=judging.seconds,
                judge_name=judging.judge,
                judge=judging.identity,
            )
        )

    def _judge(self, judge: Judge, read: ReadAnswers) -> Judging:
        last_sync = time.monotonic()

        def record(key: VerdictKey, verdict: Verdict) -> None:
            nonlocal last_sync
            due = time.monotonic() - last_sync > _SYNC_INTERVAL_S
            last_sync = time.monotonic() if due else last_sync
            event = Judged(problem=key.problem, answer_sha256=key.answer_sha256, judge=key.judge, verdict=verdict)
            self._events.append(event, sync=due)

        bench = Bench(self.state.verdicts, record, self._display.judging, self._log)
        try:
            with self._display.phase("judging"):
                scored, seconds = judge_answers(self._manifest.problems, read, judge, bench)
        finally:
            self._events.sync()
        return Judging(judge.name, judge.identity, scored, seconds)

    def _note(self, text: str) -> None:
        self._log.write("marathon", text)
        self._display.note(text)


def tokens_left(state: RunState, models: ModelAccess | None) -> int:
    """Return the tokens that a solver is told it has: what earlier attempts have left of a finite budget."""
    tokens = state.started.budget_tokens
    return tokens if models is None or tokens <= 0 else max(0, tokens - models.spent_before)


def _pool_left(state: RunState, remaining_s: float) -> float | None:
    """Return the time share of a built-in solver that earlier attempts have left."""
    if state.started.pool_seconds is None:
        return None
    left = state.started.pool_seconds - state.wall_seconds
    return min(max(left, _SMALLEST_RESUMED_POOL_S) if state.attempts else left, remaining_s)
