"""What Slurm's words for a job's state and for its waiting mean."""

from typing import Literal, NamedTuple

Phase = Literal["unsubmitted", "pending", "running", "ended"]
"""How far a job is: an intent on disk, waiting, at work, over."""
Outcome = Literal["ok", "failed", "time_limit", "memory", "node_failure", "preempted", "cancelled", "rejected", "lost"]
"""How a job ended. `rejected`: it never became one; `lost`: nobody knows anything of it any more."""


class Meaning(NamedTuple):
    """What a word for a state says.

    Attributes:
        phase: How far the job is; None where the word does not tell.
        outcome: How it ended, as far as the word alone tells; None before.
    """

    phase: Phase | None
    outcome: Outcome | None = None


_PENDING = Meaning("pending")
_RUNNING = Meaning("running")
UNKNOWN = Meaning(None)
"""What a word says that is not in the table: nothing, and least of all that the job has ended."""

STATES: dict[str, Meaning] = {
    "PENDING": _PENDING,
    "POWER_UP_NODE": _PENDING,
    "EXPEDITING": _PENDING,
    # Put back: the same job waits for its next run.
    "REQUEUED": _PENDING,
    "REQUEUE_FED": _PENDING,
    "REQUEUE_HOLD": _PENDING,
    "RESV_DEL_HOLD": _PENDING,
    "SPECIAL_EXIT": _PENDING,
    "CONFIGURING": _RUNNING,
    "RUNNING": _RUNNING,
    "RESIZING": _RUNNING,
    "SIGNALING": _RUNNING,
    "STAGE_OUT": _RUNNING,
    "STOPPED": _RUNNING,
    "SUSPENDED": _RUNNING,
    # Also seen of a job that is about to be put back.
    "COMPLETING": _RUNNING,
    "COMPLETED": Meaning("ended", "ok"),
    "FAILED": Meaning("ended", "failed"),
    "TIMEOUT": Meaning("ended", "time_limit"),
    "DEADLINE": Meaning("ended", "time_limit"),
    "OUT_OF_MEMORY": Meaning("ended", "memory"),
    "NODE_FAIL": Meaning("ended", "node_failure"),
    "BOOT_FAIL": Meaning("ended", "node_failure"),
    "PREEMPTED": Meaning("ended", "preempted"),
    "CANCELLED": Meaning("ended", "cancelled"),
    # The job runs on another cluster of a federation, which this one does not follow.
    "REVOKED": UNKNOWN,
}
"""Every word that Slurm has for a job's state."""

_HELD_STATES = frozenset({"REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"})
_LASTING_REASONS = frozenset(
    {
        "AccountNotAllowed",
        "BadConstraints",
        "DependencyNeverSatisfied",
        "InvalidAccount",
        "InvalidQOS",
        "JobHeldAdmin",
        "JobHeldUser",
        "PartitionConfig",
        "PartitionDown",
        "PartitionInactive",
        "PartitionNodeLimit",
        "PartitionTimeLimit",
        "QOSNotAllowed",
        "ReservationDeleted",
    }
)
_LASTING_PARTS = ("heldstate", "PerJob")


def state_word(state: str) -> str:
    """Return the word itself of a state as Slurm prints it: `CANCELLED` for `CANCELLED by 0` and `CANCELLED+`."""
    words = state.split(maxsplit=1)
    return words[0].rstrip("+*").upper() if words else ""


def meaning(state: str) -> Meaning:
    """Return what a state as Slurm prints it says; of unknown words `UNKNOWN`."""
    return STATES.get(state_word(state), UNKNOWN)


def waits_for_ever(state: str, reason: str) -> bool:
    """Tell whether a job waits for what will not come by itself, such as a release or a larger limit."""
    if meaning(state).phase != "pending":
        return False
    # Slurm writes reasons in one word or, after a requeue, in several; details follow a comma.
    first = reason.partition(",")[0].strip("()").replace(" ", "").replace("_", "")
    return (
        state_word(state) in _HELD_STATES or first in _LASTING_REASONS or any(part in first for part in _LASTING_PARTS)
    )
