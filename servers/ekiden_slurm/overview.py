"""What jobs can run on, in a line for each thing."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from ekiden_slurm.choice import Choice

_GIB = 1024**3


@dataclass(frozen=True, slots=True)
class Overview:
    """What jobs can run on.

    Attributes:
        executor: Who runs them.
        reason: Why that one, in a sentence.
        parts: A line for each partition and node, or for this machine.
    """

    executor: str
    reason: str
    parts: Sequence[str]


def look_around(choice: Choice) -> Overview:
    """Look at what there is now.

    Raises:
        ExecutorUnavailableError: The cluster cannot be asked.
    """
    return Overview(choice.executor.name, choice.reason, [_machine(choice.settings.slots)])


def _machine(slots: int) -> str:
    """Say what this machine has."""
    import psutil

    processors = slots or os.cpu_count() or 1
    memory = psutil.virtual_memory()
    return (
        f"this machine: {processors} processors for jobs, {memory.total / _GIB:.0f} GiB of memory, "
        f"{memory.available / _GIB:.0f} GiB of it free"
    )
