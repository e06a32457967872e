"""What is known of a job."""

from dataclasses import dataclass
from datetime import datetime

from ekiden_jobs.request import JobKey
from ekiden_policies.jobs import Outcome, Phase


@dataclass(frozen=True, slots=True)
class JobStatus:
    """Where a job stands.

    Attributes:
        key: The job, or one task of an array.
        phase: How far it is. An array has ended when all its tasks have.
        outcome: How it ended; None before. Of an array: `ok` if all tasks are, else the first outcome that is not.
        exit_code: Its program's exit code, where that is known.
        signal: The signal that ended its program.
        native_id: What the system that runs it calls it: Slurm's number, or a process; empty before it is submitted.
        native_state: That system's own word for its state.
        reason: Why it waits or how it ended, in a sentence.
        node: Where it runs or ran.
        submitted_at: When it was submitted.
        started_at: When its last run began.
        ended_at: When it ended.
        restarts: How often it was put back.
        peak_memory_mb: The most memory it was seen to use.
        stale: Whether the system could not be asked, so that this is what was last known.
        waits_for_ever: Whether it waits for what will not come by itself.
    """

    key: JobKey
    phase: Phase
    outcome: Outcome | None = None
    exit_code: int | None = None
    signal: int | None = None
    native_id: str = ""
    native_state: str = ""
    reason: str = ""
    node: str = ""
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    restarts: int = 0
    peak_memory_mb: int | None = None
    stale: bool = False
    waits_for_ever: bool = False
