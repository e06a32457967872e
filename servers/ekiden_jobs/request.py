"""What is to be run, and what it needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NewType

JobKey = NewType("JobKey", str)
"""What tells a job from all others of a jobs folder, for ever; whoever submits it picks it."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What a job gets. What is empty or None is left to the system.

    Attributes:
        cpus: Processors.
        memory_mb: Memory in mebibytes of the whole job; not with `memory_mb_per_cpu`.
        memory_mb_per_cpu: Memory in mebibytes for each processor.
        gpus: Graphics processors of any kind; not with `gres`.
        gres: Generic resources as Slurm writes them, such as `gpu:lovelace_l40:2`.
        nodes: Machines.
        time_limit_s: Seconds until it is ended; Slurm counts whole minutes, rounded up.
        partition: Slurm's partition.
        account: Who pays.
        qos: Slurm's quality of service.
        constraint: Features that nodes must have.
        reservation: A reservation of nodes.
        exclude_nodes: Nodes that it must not run on.
        directives: Further options of `sbatch`, such as `--mail-type=END`.
    """

    cpus: int = 1
    memory_mb: int | None = None
    memory_mb_per_cpu: int | None = None
    gpus: int = 0
    gres: str = ""
    nodes: int = 1
    time_limit_s: int | None = None
    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    reservation: str = ""
    exclude_nodes: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JobRequest:
    """A job, or an array of like tasks.

    Attributes:
        key: What it is known by: a letter or digit, then up to 79 letters, digits and signs of `._-`.
        command: The program and its arguments.
        folder: Where it runs; must be there.
        name: What people call it; the key if empty.
        environment: Variables for it; anybody may see them.
        secrets: Variables that nobody else may see: they travel in a file of the job's own that it removes, and stand
            in no script, log, command line or record of the system.
        resources: What it gets.
        warn_signal: The signal that warns it before its time is up, without `SIG`.
        warn_s: How many seconds before; None: no warning.
        requeues: How often it may be put back after it was preempted or its node was lost.
        tasks: Of an array, what each task's command ends with; a task finds its number in `EKIDEN_TASK`.
        tasks_at_once: The most tasks of an array that run together; None: any.
    """

    key: JobKey
    command: tuple[str, ...]
    folder: Path
    name: str = ""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    resources: Resources = field(default_factory=Resources)
    warn_signal: str = "USR1"
    warn_s: int | None = None
    requeues: int = 0
    tasks: tuple[tuple[str, ...], ...] = ()
    tasks_at_once: int | None = None


def task_key(key: JobKey, number: int) -> JobKey:
    """Return the key of one task of an array."""
    return JobKey(f"{key}_{number}")
