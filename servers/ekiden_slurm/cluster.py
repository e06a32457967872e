"""What a cluster is now: its partitions, its nodes, and the user's jobs in it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ekiden_slurm.commands import SlurmCommands
from ekiden_slurm.texts import SEPARATOR, JobRow, UnreadableAnswerError, read_records

_PARTITION_FIELDS = {
    "name": "%R", "star": "%P", "state": "%a", "limit": "%l", "nodes": "%D", "cpus": "%C", "gres": "%G",
}  # fmt: skip
_NODE_FIELDS = {
    "name": "NodeList", "state": "StateLong", "cpus": "CPUsState", "memory": "Memory", "allocated": "AllocMem",
    "gres": "Gres", "used": "GresUsed", "partition": "Partition", "reason": "Reason",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Gres:
    """Generic resources of one kind on a node.

    Attributes:
        name: What they are, such as `gpu`.
        type: Which kind of them, such as `lovelace_l40`; empty if Slurm makes no difference.
        total: How many there are.
        used: How many are taken.
    """

    name: str
    type: str
    total: int
    used: int


@dataclass(frozen=True, slots=True)
class Node:
    """One machine.

    Attributes:
        name: Its name.
        state: Slurm's word, such as `idle`, `mixed` or `drained*`; a star says that it does not answer.
        reason: Why it takes no work, if somebody said so.
        partitions: Those that it is in.
        cpus: Its processors.
        free_cpus: Those that a job could have now.
        memory_mb: Its memory.
        free_memory_mb: What of it no job has asked for.
        gres: Its generic resources.
    """

    name: str
    state: str
    reason: str
    partitions: tuple[str, ...]
    cpus: int
    free_cpus: int
    memory_mb: int
    free_memory_mb: int
    gres: tuple[Gres, ...]


@dataclass(frozen=True, slots=True)
class Partition:
    """Machines that jobs wait for together.

    Attributes:
        name: Its name.
        default: Whether jobs that name none get it.
        state: `up`, or why it takes no jobs.
        time_limit: The longest that a job may take, as Slurm writes it.
        nodes: How many machines it has.
        cpus: How many processors they have.
        free_cpus: Those that a job could have now.
        gres: The generic resources that its machines have, as Slurm writes them.
    """

    name: str
    default: bool
    state: str
    time_limit: str
    nodes: int
    cpus: int
    free_cpus: int
    gres: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Cluster:
    """What a cluster is now.

    Attributes:
        partitions: Its partitions.
        nodes: Its machines.
        jobs: The user's jobs that it has in memory: also those that ended lately, and those of nobody's jobs folder.
    """

    partitions: tuple[Partition, ...]
    nodes: tuple[Node, ...]
    jobs: tuple[JobRow, ...]


def look_at(commands: SlurmCommands) -> Cluster:
    """Ask what a cluster is now, by three questions.

    Raises:
        ExecutorUnavailableError: It cannot be asked, or its answer not be read.
    """
    return Cluster(partitions(commands), nodes(commands), tuple(commands.queue()))


def partitions(commands: SlurmCommands) -> tuple[Partition, ...]:
    """Ask for the partitions.

    Raises:
        ExecutorUnavailableError: They cannot be asked for.
    """
    layout = "".join(f"{field}{SEPARATOR}" for field in _PARTITION_FIELDS.values())
    return read_partitions(commands.ask("sinfo", ["-h", "-o", layout]))


def nodes(commands: SlurmCommands) -> tuple[Node, ...]:
    """Ask for the machines.

    Raises:
        ExecutorUnavailableError: They cannot be asked for.
    """
    layout = ",".join(f"{field}:{SEPARATOR}" for field in _NODE_FIELDS.values())
    return read_nodes(commands.ask("sinfo", ["-h", "-N", "-O", layout]))


def read_partitions(text: str) -> tuple[Partition, ...]:
    """Return the partitions that sinfo printed, the default first; it has a row for each kind of machines in one.

    Raises:
        UnreadableAnswerError: It is something else.
    """
    found: dict[str, Partition] = {}
    try:
        for row in read_records("sinfo", text, _PARTITION_FIELDS):
            name, count = row["name"], int(row["nodes"])
            free, all_cpus = _cpus(row["cpus"])
            gres = tuple(part.partition("(")[0] for part in _parts(row["gres"]))
            before = found.get(name)
            found[name] = Partition(
                name=name,
                default=row["star"].endswith("*"),
                state=row["state"],
                time_limit=row["limit"],
                nodes=count + (before.nodes if before else 0),
                cpus=all_cpus + (before.cpus if before else 0),
                free_cpus=free + (before.free_cpus if before else 0),
                gres=tuple(dict.fromkeys((*(before.gres if before else ()), *gres))),
            )
    except ValueError as error:
        raise UnreadableAnswerError("sinfo", text) from error
    return tuple(sorted(found.values(), key=lambda partition: (not partition.default, partition.name)))


def read_nodes(text: str) -> tuple[Node, ...]:
    """Return the machines that sinfo printed, which has a row for each partition that one is in.

    Raises:
        UnreadableAnswerError: It is something else.
    """
    found: dict[str, Node] = {}
    try:
        for row in read_records("sinfo", text, _NODE_FIELDS):
            before = found.get(row["name"])
            partition = row["partition"].removesuffix("*")
            free, cpus = _cpus(row["cpus"])
            memory = int(row["memory"])
            found[row["name"]] = Node(
                name=row["name"],
                state=row["state"],
                reason="" if row["reason"] in {"none", "(null)"} else row["reason"],
                partitions=tuple(sorted({*(before.partitions if before else ()), partition})),
                cpus=cpus,
                free_cpus=free,
                memory_mb=memory,
                free_memory_mb=max(0, memory - int(row["allocated"])),
                gres=tuple(_gres(row["gres"], row["used"])),
            )
    except ValueError as error:
        raise UnreadableAnswerError("sinfo", text) from error
    return tuple(found[name] for name in sorted(found))


def _cpus(text: str) -> tuple[int, int]:
    """Return the free and all processors of `allocated/idle/other/total`."""
    _, idle, _, total = text.split("/")
    return int(idle), int(total)


def _parts(text: str) -> list[str]:
    """Cut a list of resources at its commas, but for those in brackets, as in `gpu:a:2(IDX:0,3),gpu:b:1(S:0-1)`."""
    return [] if text.strip() in {"", "(null)", "N/A"} else re.findall(r"(?:[^,(]|\([^)]*\))+", text.strip())


def _counts(text: str) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for part in _parts(text):
        words = part.partition("(")[0].split(":")
        many = re.fullmatch(r"([0-9]+)([KMGT]?)", words[-1])
        number = int(many[1]) * 1024 ** " KMGT".index(many[2] or " ") if many else 1
        name, *kind = words[:-1] if many else words
        key = (name, ":".join(kind))
        counts[key] = counts.get(key, 0) + number
    return counts


def _gres(total: str, used: str) -> Iterable[Gres]:
    taken = _counts(used)
    for (name, kind), count in _counts(total).items():
        yield Gres(name, kind, count, taken.get((name, kind), 0))
