"""Jobs in words, for agents and people alike."""

from collections.abc import Iterator
from datetime import UTC, datetime

from ekiden_jobs import JobStatus


def state_of_job(status: JobStatus) -> str:
    """Return one word: how a job ended, else how far it is."""
    return status.outcome or status.phase


def ended_well(status: JobStatus) -> bool:
    """Tell whether a job has ended as it should."""
    return status.phase == "ended" and status.outcome == "ok"


def in_a_line(status: JobStatus) -> str:
    """Return a job's state and what else there is to say of it."""
    more = more_of(status)
    return f"{state_of_job(status)}: {more}" if more else state_of_job(status)


def more_of(status: JobStatus, now: datetime | None = None, *, with_time: bool = True) -> str:
    """Return what there is to say of a job besides its state.

    Args:
        status: The job.
        now: The time, in place of the clock's.
        with_time: Whether to say how long it ran.
    """
    return "; ".join(_parts(status, now or datetime.now(UTC), with_time=with_time))


def duration(seconds: float) -> str:
    """Return a time span as people say it."""
    whole = int(seconds)
    if whole < 60:
        return f"{max(seconds, 0):.1f} s" if whole < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes:02d} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"


def ran_for(status: JobStatus, now: datetime) -> float | None:
    """Return how many seconds the last run took, so far if it goes on."""
    if status.started_at is None or status.phase not in {"running", "ended"}:
        return None
    return max(0.0, ((status.ended_at or now) - status.started_at).total_seconds())


def _parts(status: JobStatus, now: datetime, *, with_time: bool) -> Iterator[str]:
    if status.reason:
        yield status.reason.rstrip(".")
    if status.waits_for_ever:
        yield "it will not start by itself: cancel it, or ask whoever runs the cluster"
    if status.signal is not None and not status.reason:
        yield f"ended by signal {status.signal}"
    if with_time and (seconds := ran_for(status, now)) is not None:
        yield f"{'ran' if status.phase == 'ended' else 'running'} for {duration(seconds)}"
    if status.phase == "pending" and status.submitted_at is not None:
        yield f"waiting for {duration((now - status.submitted_at).total_seconds())}"
    if status.node:
        yield f"on {status.node}"
    if status.peak_memory_mb is not None:
        yield f"peak {status.peak_memory_mb} MB"
    if status.restarts:
        yield f"put back {status.restarts} times"
    if status.native_id:
        yield f"id {status.native_id}"
    if status.stale:
        yield "as last known, since the system cannot be asked now"
