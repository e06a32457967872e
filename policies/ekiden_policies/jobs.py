"""What a job's end means, whether a job exists, and how often others may be asked: decisions alone."""

from dataclasses import dataclass
from typing import Literal

Phase = Literal["unsubmitted", "pending", "running", "ended"]
"""How far a job is: an intent on disk, waiting, at work, over."""
Outcome = Literal["ok", "failed", "time_limit", "memory", "node_failure", "preempted", "cancelled", "rejected", "lost"]
"""How a job ended. `rejected`: it never became one; `lost`: nobody knows anything of it any more."""
Limit = Literal["", "time", "memory"]


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
