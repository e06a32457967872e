"""When a running solver is told to end, and when it is made to."""

from dataclasses import dataclass
from typing import Literal

TripReason = Literal["wall", "tokens", "output"]
Action = Literal["wait", "terminate", "kill"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a solver may use.

    Attributes:
        wall_s: Seconds from its start.
        tokens: Settled tokens; the watchdog sleeps when this is 0 or less, since then no call is let through anyway,
            there is no cap, or the solver may go on without models.
        output_bytes: Size of the answers file.
        grace_s: Seconds between the request to end and the kill.
    """

    wall_s: float
    tokens: int
    output_bytes: int
    grace_s: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What a solver has used so far, in the units of `Limits`."""

    elapsed_s: float
    tokens: int
    output_bytes: int


@dataclass(frozen=True, slots=True)
class Watch:
    """What the watchdog has done so far.

    Attributes:
        reason: Which limit was hit first.
        terminated_at_s: Elapsed seconds when the solver was told to end.
        killed: Whether the kill was ordered.
    """

    reason: TripReason | None = None
    terminated_at_s: float | None = None
    killed: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now, and what to remember."""

    action: Action
    watch: Watch


def tripped(limits: Limits, reading: Reading) -> TripReason | None:
    """Name the first limit that is hit, in the order wall, tokens, output."""
    if reading.elapsed_s >= limits.wall_s:
        return "wall"
    if limits.tokens > 0 and reading.tokens >= limits.tokens:
        return "tokens"
    if reading.output_bytes > limits.output_bytes:
        return "output"
    return None


def decide(limits: Limits, reading: Reading, watch: Watch) -> Decision:
    """Decide the next step for a solver that is still running."""
    if watch.terminated_at_s is None:
        reason = tripped(limits, reading)
        if reason is None:
            return Decision("wait", watch)
        return Decision("terminate", Watch(reason, reading.elapsed_s))
    if not watch.killed and reading.elapsed_s >= watch.terminated_at_s + limits.grace_s:
        return Decision("kill", Watch(watch.reason, watch.terminated_at_s, killed=True))
    return Decision("wait", watch)


def next_deadline_s(limits: Limits, watch: Watch) -> float:
    """Return the elapsed seconds at which the clock alone will change the decision."""
    if watch.terminated_at_s is None:
        return limits.wall_s
    return watch.terminated_at_s + limits.grace_s
