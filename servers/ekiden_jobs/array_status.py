"""Where an array stands as a whole."""

from collections.abc import Sequence

from ekiden_jobs.request import JobKey
from ekiden_jobs.status import JobStatus
from ekiden_policies.jobs import summarize


def status_of_array(key: JobKey, tasks: Sequence[JobStatus]) -> JobStatus:
    """Return where an array stands, from where each of its tasks does.

    Args:
        key: The array.
        tasks: Its tasks in order, at least one.
    """
    phase, outcome = summarize([(task.phase, task.outcome) for task in tasks])
    ended = [task for task in tasks if task.phase == "ended"]
    telling = next((task for task in tasks if task.outcome == outcome), None) if outcome else None
    if telling is not None:
        good = sum(task.outcome == "ok" for task in tasks)
        reason = f"{good} of {len(tasks)} tasks succeeded."
        if outcome != "ok":
            reason += f" Task {telling.key!r}: {telling.reason}"
    else:
        running = sum(task.phase == "running" for task in tasks)
        reason = f"{len(ended)} of {len(tasks)} tasks have ended, {running} run."
    return JobStatus(
        key=key,
        phase=phase,
        outcome=outcome,
        exit_code=None if telling is None else telling.exit_code,
        signal=None if telling is None else telling.signal,
        native_id=_common([task.native_id.partition("_")[0] for task in tasks]),
        native_state=_common([task.native_state for task in tasks]),
        reason=reason,
        node=_common([task.node for task in tasks]),
        submitted_at=min((task.submitted_at for task in tasks if task.submitted_at), default=None),
        started_at=min((task.started_at for task in tasks if task.started_at), default=None),
        ended_at=max((task.ended_at for task in ended if task.ended_at), default=None) if outcome else None,
        restarts=max(task.restarts for task in tasks),
        peak_memory_mb=max((task.peak_memory_mb for task in tasks if task.peak_memory_mb is not None), default=None),
        stale=any(task.stale for task in tasks),
        waits_for_ever=any(task.waits_for_ever for task in tasks),
    )


def _common(words: Sequence[str]) -> str:
    """Return what all have in common; empty if they differ."""
    return words[0] if len(set(words)) == 1 else ""
