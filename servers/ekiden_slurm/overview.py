"""What jobs can run on, in a line for each thing."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ekiden_slurm.choice import Choice
from ekiden_slurm.cluster import Node, Partition, nodes, partitions
from ekiden_slurm.commands import SlurmCommands

_GIB = 1024**3
_MIB_IN_GIB = 1024


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
    if choice.executor.name == "local":
        return Overview("local", choice.reason, [_machine(choice.settings.slots)])
    commands = SlurmCommands(choice.settings)
    parts = [*map(_partition, partitions(commands)), *_nodes(nodes(commands))]
    return Overview("slurm", choice.reason, parts)


def _machine(slots: int) -> str:
    """Say what this machine has."""
    import psutil

    processors = slots or os.cpu_count() or 1
    memory = psutil.virtual_memory()
    return (
        f"this machine: {processors} processors for jobs, {memory.total / _GIB:.0f} GiB of memory, "
        f"{memory.available / _GIB:.0f} GiB of it free"
    )


def _partition(partition: Partition) -> str:
    limit = "no time limit" if partition.time_limit == "infinite" else f"at most {partition.time_limit}"
    things = [
        f"{partition.nodes} nodes",
        f"{partition.free_cpus} of {partition.cpus} processors free",
        *([f"each with {', '.join(partition.gres)}"] if partition.gres else []),
        limit,
        *(["the default"] if partition.default else []),
    ]
    return f"partition {partition.name}: {partition.state}, {', '.join(things)}"


def _nodes(found: Sequence[Node]) -> Iterator[str]:
    """Tell nodes that are alike in one line: a cluster has hundreds."""
    alike: dict[str, list[str]] = {}
    for node in found:
        alike.setdefault(_state_of_node(node), []).append(node.name)
    for told, names in alike.items():
        called = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        yield f"{'node' if len(names) == 1 else f'{len(names)} nodes'} {called}: {told}"


def _state_of_node(node: Node) -> str:
    gres = [f"{g.total - g.used} of {g.total} {':'.join(filter(None, (g.name, g.type)))} free" for g in node.gres]
    things = [
        node.state + (f" ({node.reason})" if node.reason else ""),
        f"{node.free_cpus} of {node.cpus} processors free",
        f"{node.free_memory_mb / _MIB_IN_GIB:.0f} of {node.memory_mb / _MIB_IN_GIB:.0f} GiB free",
        *gres,
    ]
    return ", ".join(things)
