"""One attempt: a solver process from its start to the moment when nothing of it is left."""

import contextlib
import fcntl
import os
import selectors
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ekiden_config import MarathonSettings
from ekiden_files import write_whole
from ekiden_orchestrator.marathon.answers import AnswersFile, AnswersTail
from ekiden_orchestrator.marathon.environment import stray_mark
from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.marathon.events import AttemptEnded, EndReason, SolverStarted
from ekiden_orchestrator.marathon.folder import AttemptFolder
from ekiden_orchestrator.marathon.plan import Plan, order_for
from ekiden_orchestrator.marathon.run_log import RunLog
from ekiden_orchestrator.marathon.streams import LineRing
from ekiden_policies.watchdog import Limits, Reading, Watch, decide, next_deadline_s
from ekiden_warden import WardenProcess, end_strays

_READ_BYTES = 65536


@dataclass(frozen=True, slots=True)
class Glance:
    """How an attempt stands, for display."""

    state: str
    elapsed_s: float
    answers: Counter[str]
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Observer:
    """Who is told what while an attempt runs."""

    started: Callable[[SolverStarted], None]
    heartbeat: Callable[[float], None]
    glance: Callable[[Glance], None]
    log: RunLog


@dataclass(slots=True)
class _Progress:
    """What is known about the running solver."""

    isolation: str = ""
    read_only: bool = False
    refused: dict[str, str] = field(default_factory=dict[str, str])
    started_at: float | None = None
    exit_code: int | None = None
    wall_s: float | None = None
    gone: bool = False
    failure: str | None = None
    watch: Watch = field(default_factory=Watch)
    next_heartbeat_s: float = 0.0

    def elapsed_s(self) -> float:
        if self.started_at is None:
            return 0.0
        return time.monotonic() - self.started_at if self.wall_s is None else self.wall_s


class SolverStartError(MarathonError):
    """The solver's program could not be started at all."""


def run_attempt(plan: Plan, settings: MarathonSettings, observer: Observer) -> AttemptEnded:
    """Run the solver until it ends or is ended; nothing of it is left afterwards, whatever happens.

    A KeyboardInterrupt ends the solver as well, and is told by the reason `interrupted` of the result.

    Raises:
        SolverStartError: Python could not be started for the solver.
    """
    with contextlib.ExitStack() as stack:
        answers = AnswersFile.create(plan.folder.answers)
        stack.callback(answers.close)
        guard = _guard(plan.folder)
        out_reader, out_writer = os.pipe()
        error_reader, error_writer = os.pipe()
        for descriptor in (out_reader, error_reader):
            stack.callback(os.close, descriptor)
            os.set_blocking(descriptor, False)
        log_fd = os.open(plan.run.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            order = order_for(plan, settings, stdout_fd=out_writer, stderr_fd=error_writer)
            warden = WardenProcess(order, guard_fd=guard, log_fd=log_fd)
        finally:
            for descriptor in (guard, out_writer, error_writer, log_fd):
                os.close(descriptor)
        stack.callback(warden.close)
        attempt = _Attempt(
            plan, settings, observer, warden=warden, answers=answers, stdout=out_reader, stderr=error_reader
        )
        interrupted = attempt.watch_over()
        if attempt.keeper_was_lost or attempt.isolation == "group":
            end_strays(*stray_mark(plan.folder))
        return attempt.result(interrupted=interrupted)


def wait_until_gone(folder: AttemptFolder) -> None:
    """Wait until nothing lives of an attempt whose runner was killed; its warden is about to see to that."""
    with contextlib.suppress(FileNotFoundError), folder.guard.open("rb") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
    end_strays(*stray_mark(folder))


def _guard(folder: AttemptFolder) -> int:
    descriptor = os.open(folder.guard, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


class _Attempt:
    """The loop around one solver: reports, output, clock and answers file, in one thread."""

    def __init__(
        self,
        plan: Plan,
        settings: MarathonSettings,
        observer: Observer,
        *,
        warden: WardenProcess,
        answers: AnswersFile,
        stdout: int,
        stderr: int,
    ) -> None:
        self._plan = plan
        self._settings = settings
        self._observer = observer
        self._warden = warden
        self._answers = answers
        self._ring = LineRing()
        self._streams: dict[int, LineRing | None] = {stdout: None, stderr: self._ring}
        self._tail = AnswersTail()
        self._progress = _Progress()
        self._limits = Limits(plan.wall_s, plan.token_limit, plan.output_bytes, settings.grace_s)

    def watch_over(self) -> bool:
        """Serve the solver until all of it is gone; tell whether the user interrupted."""
        interrupted = False
        with selectors.DefaultSelector() as selector:
            for descriptor in (self._warden.reports_fd, *self._streams):
                selector.register(descriptor, selectors.EVENT_READ)
            while not self._progress.gone:
                try:
                    self._serve(selector)
                except KeyboardInterrupt:
                    if interrupted:
                        raise
                    interrupted = True
                    self._warden.kill()
        for descriptor in self._streams:
            self._drain(descriptor)
        self._observer.log.write("marathon:stderr", *self._ring.finish())
        return interrupted

    @property
    def isolation(self) -> str:
        """The kind of isolation in force."""
        return self._progress.isolation

    @property
    def keeper_was_lost(self) -> bool:
        """Whether the warden went without saying how the solver ended."""
        return self._progress.exit_code is None and self._progress.failure is None

    def result(self, *, interrupted: bool) -> AttemptEnded:
        """Seal the answers and say how it went."""
        progress = self._progress
        if progress.failure is not None:
            raise SolverStartError(f"The solver could not be started: {progress.failure}.")
        sealed = self._answers.seal(self._plan.output_bytes)
        write_whole(self._plan.folder.sealed, sealed.data, sync=True)
        ended_by_itself = progress.exit_code is not None and not interrupted
        notes = sealed.notes
        if self.keeper_was_lost:
            notes = (*notes, "The warden, the process that keeps the solver, was killed; the solver ended with it.")
        reason: EndReason = progress.watch.reason or ("exited" if ended_by_itself else "lost")
        return AttemptEnded(
            attempt=self._plan.number,
            reason="interrupted" if interrupted and progress.watch.reason is None else reason,
            exit_code=progress.exit_code,
            wall_seconds=round(progress.elapsed_s(), 3),
            sigterm_fired=progress.watch.terminated_at_s is not None,
            sigkill_fired=progress.watch.killed or interrupted,
            stderr_tail=self._ring.tail(),
            answer_bytes=len(sealed.data),
            notes=notes,
        )

    def _serve(self, selector: selectors.BaseSelector) -> None:
        for key, _ in selector.select(self._patience_s()):
            if key.fd == self._warden.reports_fd:
                self._hear()
            elif not self._read_stream(key.fd):
                selector.unregister(key.fd)
        self._look()

    def _patience_s(self) -> float:
        progress = self._progress
        if progress.started_at is None or progress.wall_s is not None:
            return self._settings.poll_s
        until = next_deadline_s(self._limits, progress.watch) - progress.elapsed_s()
        return self._settings.poll_s if progress.watch.killed else min(self._settings.poll_s, max(until, 0.0))

    def _hear(self) -> None:
        reports = self._warden.hear()
        if reports is None:
            self._progress.wall_s = self._progress.elapsed_s()
            self._progress.gone = True
            return
        for report in reports:
            self._take(report)

    def _take(self, report: dict[str, object]) -> None:
        progress = self._progress
        match report:
            case {"refused": str(kind), "why": str(why)}:
                progress.refused[kind] = why
            case {"isolation": str(kind), "read_only": bool(read_only)}:
                progress.isolation, progress.read_only = kind, read_only
            case {"started": True}:
                progress.started_at = time.monotonic()
                event = SolverStarted(
                    attempt=self._plan.number,
                    isolation=progress.isolation,
                    read_only=progress.read_only,
                    refused=progress.refused,
                )
                self._observer.started(event)
            case {"exited": int(code)}:
                progress.wall_s = progress.elapsed_s()
                progress.exit_code = code
            case {"failed": str(why)}:
                progress.failure = why
            case {"gone": True}:
                progress.gone = True
            case _:
                self._observer.log.write("marathon", f"unknown report of the warden: {report!r}")

    def _look(self) -> None:
        """Let the watchdog decide, and tell the observer."""
        progress = self._progress
        elapsed_s = progress.elapsed_s()
        tokens = None if self._plan.models is None else self._plan.models.settled_tokens()
        self._tail.read_more(self._answers)
        if progress.started_at is not None and progress.wall_s is None:
            reading = Reading(elapsed_s, tokens or 0, self._answers.size())
            decision = decide(self._limits, reading, progress.watch)
            progress.watch = decision.watch
            if decision.action == "terminate":
                self._observer.log.write("marathon", f"limit {decision.watch.reason!r} reached: SIGTERM")
                self._warden.ask_to_end()
            elif decision.action == "kill":
                self._observer.log.write("marathon", "grace over: SIGKILL to everything")
                self._warden.kill()
            if elapsed_s >= progress.next_heartbeat_s:
                self._observer.heartbeat(round(elapsed_s, 3))
                progress.next_heartbeat_s = elapsed_s + self._settings.heartbeat_s
        self._observer.glance(Glance(self._state(), elapsed_s, self._tail.counts(), tokens))

    def _state(self) -> str:
        progress = self._progress
        if progress.started_at is None:
            return "starting"
        if progress.wall_s is not None:
            return "ended"
        return "running" if progress.watch.reason is None else f"ending ({progress.watch.reason})"

    def _read_stream(self, descriptor: int) -> bool:
        """Take one chunk of a stream; tell whether more may come."""
        try:
            data = os.read(descriptor, _READ_BYTES)
        except BlockingIOError:
            return True
        ring = self._streams[descriptor]
        if ring is not None:
            self._observer.log.write("marathon:stderr", *ring.feed(data))
        return bool(data)

    def _drain(self, descriptor: int) -> None:
        """Take what is left in a pipe; nobody writes any more, so its capacity bounds it."""
        for _ in _pipe_chunks():
            try:
                data = os.read(descriptor, _READ_BYTES)
            except BlockingIOError:
                return
            ring = self._streams[descriptor]
            if ring is not None:
                self._observer.log.write("marathon:stderr", *ring.feed(data))
            if not data:
                return


def _pipe_chunks() -> Iterator[int]:
    """Count the reads that empty a pipe of the largest usual size."""
    return iter(range(64))
