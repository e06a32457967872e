"""What a job's end means, whether a job exists, and how often others may be asked: decisions alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from signal import Signals
from typing import Literal

from ekiden_policies.job_states import Outcome, Phase, meaning

Limit = Literal["", "time", "memory"]

_WINDOW_S = 60.0
_CUT_SHORT: frozenset[Outcome] = frozenset({"time_limit", "preempted", "cancelled", "node_failure"})
_TIME = "Its time was up."
_MEMORY = "It used more memory than it may."
_NO_OUTPUT = 53
"""Told as the signal of a job whose output Slurm could not write: it never began."""
_UNSEEN_FOLDER = (
    "It never began, for its machine cannot write to the job's folder: every node must see the folder of jobs under "
    "the same path."
)
_REASONS: Mapping[Outcome, str] = {
    "ok": "It succeeded.",
    "time_limit": _TIME,
    "memory": _MEMORY,
    "node_failure": "The machine that it ran on failed.",
    "preempted": "It had to give way to other work.",
    "cancelled": "It was cancelled.",
}


@dataclass(frozen=True, slots=True)
class EndRecord:
    """What a job wrote about the end of one of its runs.

    Attributes:
        native_id: What the system that ran it calls it.
        restarts: How often it had been put back before this run.
        exit_code: The program's exit code; None if a signal ended it.
        signal: The signal that ended the program; None if it exited.
        limit: The bound at which its runner ended it, if it did.
        heard: The signals that the runner got from outside, such as `SIGTERM`, in order.
    """

    native_id: str
    restarts: int
    exit_code: int | None
    signal: int | None
    limit: Limit = ""
    heard: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """What is seen of a job from outside.

    Attributes:
        state: The system's own word.
        reason: Why, in its own words.
        exit_code: The exit code it tells, if it does.
        signal: The signal it tells, if it does.
        restarts: How often the job was put back.
        never_ran: Whether the job was turned away after it had got a number.
    """

    state: str
    reason: str = ""
    exit_code: int | None = None
    signal: int | None = None
    restarts: int = 0
    never_ran: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A job that bears the name of an attempt to submit.

    Attributes:
        native_id: Its number.
        state: The system's own word.
        never_ran: Whether it was turned away after it had got a number.
    """

    native_id: str
    state: str = ""
    never_ran: bool = False


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What to do about an attempt of which nobody knows whether it became a job.

    Attributes:
        action: `adopt` the job; it was `rejected`; `wait` and search again; submit `again`, as the next attempt;
            `give_up`: too many attempts went nowhere.
        native_id: The job to adopt, or the one that was rejected.
        cancel: Jobs beside it that must not run.
    """

    action: Literal["adopt", "rejected", "wait", "again", "give_up"]
    native_id: str = ""
    cancel: tuple[str, ...] = ()


def decide_outcome(record: EndRecord | None, seen: Seen | None) -> tuple[Outcome, str] | None:
    """Tell how a job ended, and why in a sentence; None while, as far as anybody knows, it has not.

    A program that says it succeeded is believed, unless it was told to end and the system says that it was cut short.
    Otherwise the system's word for how it was ended counts, and then the program's own code.

    Args:
        record: What the job's last run that ended wrote; None if nothing is there (yet).
        seen: What the system says; None where it does not know the job or cannot be asked.
    """
    if record is not None and seen is not None and record.restarts < seen.restarts:
        # The end of an earlier run counts where the work was done by then: a controller that lost its latest state
        # puts jobs back that had ended.
        if _succeeded(record) and not record.heard:
            return "ok", "It succeeded, before it was put back."
        record = None
    word = None if seen is None else _told_by_system(seen)
    return word if record is None else _weigh(record, word)


def decide_forgotten(record: EndRecord | None) -> tuple[Outcome, str]:
    """Tell how a job ended that the system knows no more, and will not know again."""
    if (known := decide_outcome(record, None)) is not None:
        return known
    if record is None:
        return "lost", "Nobody knows it any more, and it left no record of its end."
    if any(name != "SIGTERM" for name in record.heard):
        return "time_limit", "It was warned and then told to end; why is known no more."
    return "cancelled", "It was told to end; why is known no more."


def decide_submission(
    found: Sequence[Found],
    *,
    claimed_by: str = "",
    absent_s: float,
    settled_after_s: float,
    attempt: int,
    attempts: int,
) -> Reconciliation:
    """Tell what to do about an attempt of which nobody knows whether it became a job.

    Args:
        found: The jobs of its name, from a search that was answered in full.
        claimed_by: The job that has begun to run under its key, if one has.
        absent_s: For how long searches that were answered in full have found nothing.
        settled_after_s: After how long of that a job can come no more: a system that was stuck accepts late.
        attempt: The number of the attempt, from 1.
        attempts: The most there may be.
    """
    by_id = {job.native_id: job for job in found}
    accepted = sorted((job for job in by_id.values() if not job.never_ran), key=lambda job: _number(job.native_id))
    if claimed_by or accepted:
        kept = claimed_by or accepted[0].native_id
        rest = (job for job in accepted if job.native_id != kept and meaning(job.state).phase != "ended")
        return Reconciliation("adopt", kept, tuple(job.native_id for job in rest))
    if by_id:
        return Reconciliation("rejected", min(by_id, key=_number))
    if absent_s <= settled_after_s:
        return Reconciliation("wait")
    return Reconciliation("again" if attempt < attempts else "give_up")


def summarize(tasks: Sequence[tuple[Phase, Outcome | None]]) -> tuple[Phase, Outcome | None]:
    """Tell where an array stands as a whole: it ends with its last task, well if all of them did.

    Args:
        tasks: How far each task is, and how it ended, in their order; at least one.
    """
    phases = {phase for phase, _ in tasks}
    if phases == {"ended"}:
        outcomes: list[Outcome | None] = [outcome for _, outcome in tasks if outcome != "ok"]
        return "ended", outcomes[0] if outcomes else "ok"
    if phases == {"unsubmitted"}:
        return "unsubmitted", None
    return ("pending" if phases <= {"unsubmitted", "pending"} else "running"), None


def next_pause(pause_s: float, *, changed: bool, shortest_s: float, longest_s: float) -> float:
    """Return how long to wait before asking again: half as long again each time, from the start after a change.

    Args:
        pause_s: The pause before the last question.
        changed: Whether that question told anything new.
        shortest_s: The pause after news.
        longest_s: The longest pause.
    """
    return shortest_s if changed else min(max(pause_s * 1.5, shortest_s), longest_s)


def rest_after(spent_s: float, share: float) -> float:
    """Return how long to rest after a look that took so long, so that looking takes that share of the time at most."""
    return spent_s * (1 - share) / share


def may_submit_at(times: Sequence[float], now: float, per_minute: int) -> float:
    """Return when the next job may be submitted, so that no minute sees more than so many.

    Args:
        times: When jobs were submitted, in seconds on the same clock as `now`, in any order.
        now: The time.
        per_minute: How many jobs a minute, at least one.
    """
    # A clock that was set back must not keep anybody waiting for longer than a minute.
    latest = sorted(min(time, now) for time in times)[-per_minute:]
    return now if len(latest) < per_minute else max(now, latest[0] + _WINDOW_S)


def _weigh(record: EndRecord, word: tuple[Outcome, str] | None) -> tuple[Outcome, str] | None:
    """Tell how a run ended by its record and what the system says of its end, if it says anything."""
    if record.limit:
        return ("time_limit", _TIME) if record.limit == "time" else ("memory", _MEMORY)
    told = "SIGTERM" in record.heard
    if told and word is None:
        return None  # Only the system knows why, and whether there will be another run.
    if _succeeded(record):
        return word if told and word is not None and word[0] in _CUT_SHORT else ("ok", _REASONS["ok"])
    if word is None or word[0] in {"ok", "failed"}:
        return "failed", _ended_by(record.exit_code, record.signal)
    return word


def _told_by_system(seen: Seen) -> tuple[Outcome, str] | None:
    outcome = meaning(seen.state).outcome
    if outcome is None:
        return None
    if outcome == "failed":
        if seen.never_ran:
            return "rejected", f"It was turned away: {seen.reason or 'no reason is told'}."
        if "memory" in seen.reason.lower():
            return "memory", _MEMORY
        if seen.signal == _NO_OUTPUT:
            return "failed", _UNSEEN_FOLDER
        return "failed", _ended_by(seen.exit_code, seen.signal)
    return outcome, _REASONS[outcome]


def _succeeded(record: EndRecord) -> bool:
    return record.exit_code == 0 and record.signal is None and not record.limit


def _ended_by(exit_code: int | None, signal: int | None) -> str:
    if signal:
        name = Signals(signal).name if signal in set(Signals) else f"signal {signal}"
        return f"{name} ended it."
    return "It failed." if exit_code is None else f"It exited with code {exit_code}."


def _number(native_id: str) -> tuple[int, str]:
    digits = native_id.partition("_")[0]
    return (int(digits) if digits.isascii() and digits.isdigit() else 0), native_id
