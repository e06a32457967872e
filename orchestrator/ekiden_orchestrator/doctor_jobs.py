"""Looking at who runs jobs here, and at whether what the settings ask of a cluster is there."""

import os
import pwd
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from ekiden_config import SlurmSettings
from ekiden_jobs import ExecutorUnavailableError
from ekiden_orchestrator.doctor_findings import Finding, State, Wanted, finding_of
from ekiden_slurm.choice import which_executor
from ekiden_slurm.cluster import Node, nodes, partitions
from ekiden_slurm.commands import PROGRAMS, Program, SlurmCommands

_NEEDED: tuple[Program, ...] = tuple(program for program in PROGRAMS if program != "sacct")
_SHARED = (
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "fuse",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "nfs",
    "ocfs2",
    "panfs",
    "pvfs",
)
_GET_SLURM = "the cluster's administrator; Debian: slurm-client. slurm.programs says where commands off the PATH are"


_Look = tuple[str | None, Wanted, State]
"""A version, what to say, and the state."""


def examine_jobs(settings: SlurmSettings) -> list[Finding]:
    """Look for Slurm's commands, its controller, what the settings name on it, its accounting, and the jobs folder."""
    commands = SlurmCommands(settings)
    name, reason = which_executor(settings)
    found: list[Finding] = []
    if settings.executor != "local":
        found.append(_commands(commands, settings, reason if name == "local" else ""))
    if found and found[0].state == "ok":
        answers = commands.answers()
        found.append(_controller(commands, answers=answers))
        if answers:
            found += [*_sites(commands, settings), _accounting(commands)]
    return [*found, _jobs_folder(settings, name)]


def _commands(commands: SlurmCommands, settings: SlurmSettings, absent: str) -> Finding:
    item = Wanted(
        name="slurm",
        purpose="runs jobs on a cluster; without it they run on this machine",
        how_to_get=_GET_SLURM,
        required=settings.executor == "slurm",
    )
    lacking = [program for program in _NEEDED if commands.where(program) is None]
    if lacking == list(_NEEDED):
        return finding_of("jobs", item, None, state="missing")
    if lacking:
        told = f"{', '.join(lacking)} cannot be found, though others of Slurm's commands are here: {_GET_SLURM}"
        return finding_of("jobs", item.model_copy(update={"how_to_get": told}), None, state="broken")
    if absent:
        return finding_of("jobs", item.model_copy(update={"how_to_get": absent}), None, state="missing")

    def look() -> _Look:
        return commands.version("sbatch"), item, "ok"

    return _asked(item, look)


def _controller(commands: SlurmCommands, *, answers: bool) -> Finding:
    item = Wanted(
        name="slurm controller",
        purpose="takes jobs",
        how_to_get="no controller answers: see `scontrol ping`, and the variable SLURM_CONF",
    )
    if not answers:
        return finding_of("jobs", item, None, state="broken")

    def look() -> _Look:
        cluster = commands.configuration().get("ClusterName", "")
        up = [
            node
            for node in nodes(commands)
            if node.state.isalpha() and node.state not in {"down", "drained", "unknown"}
        ]
        told = f"takes jobs of the cluster {cluster!r}: {len(up)} nodes, {sum(node.cpus for node in up)} processors"
        return None, item.model_copy(update={"purpose": told}), "ok"

    return _asked(item, look)


def _sites(commands: SlurmCommands, settings: SlurmSettings) -> Iterator[Finding]:
    """Look for what jobs without and with graphics processors ask of the cluster."""
    wishes = (
        ("cpu", settings.cpu_partition, settings.cpu_account, ""),
        ("gpu", settings.gpu_partition, settings.gpu_account, settings.gpu_gres),
    )
    for kind, partition, account, gres in wishes:
        what = {"partition": partition or "the default", "account": account or "the default", "gres": gres}
        named = ", ".join(f"{name} {value}" for name, value in what.items() if value)
        item = Wanted(
            name=f"slurm {kind} jobs", purpose=f"run with {named}", how_to_get=f"set slurm.{kind}_* to what is there"
        )

        def look(
            item: Wanted = item, partition: str = partition, account: str = account, gres: str = gres, kind: str = kind
        ) -> _Look:
            lacks = list(_lacks(commands, kind, partition, account, gres))
            if not lacks:
                return None, item, "ok"
            return None, item.model_copy(update={"how_to_get": "; ".join(lacks)}), "missing"

        yield _asked(item, look)


def _lacks(commands: SlurmCommands, kind: str, partition: str, account: str, gres: str) -> Iterator[str]:
    known = partitions(commands)
    names = [one.name for one in known]
    chosen = partition or next((one.name for one in known if one.default), "")
    if partition and partition not in names:
        yield f"slurm.{kind}_partition is {partition!r}; there is {', '.join(names)}"
    elif not chosen:
        yield f"the cluster has no default partition; set slurm.{kind}_partition to one of {', '.join(names)}"
    elif gres:
        there = [node for node in nodes(commands) if chosen in node.partitions]
        if not any(_has(node, gres) for node in there):
            kinds = {
                f"{g.name}:{g.type}:{g.total}" if g.type else f"{g.name}:{g.total}" for node in there for g in node.gres
            }
            yield f"slurm.{kind}_gres is {gres!r}; nodes of {chosen!r} have {', '.join(sorted(kinds)) or 'none'}"
    if account and (accounts := _accounts(commands)) and account not in accounts:
        yield f"slurm.{kind}_account is {account!r}; yours are {', '.join(sorted(accounts))}"


def _has(node: Node, gres: str) -> bool:
    """Tell whether a node has what is written as `gpu`, `gpu:2`, `gpu:lovelace_l40` or `gpu:lovelace_l40:2`."""
    name, *rest = gres.split(":")
    count = int(rest.pop()) if rest and rest[-1].isdecimal() else 1
    alike = [one for one in node.gres if one.name == name and (not rest or one.type == rest[0])]
    return sum(one.total for one in alike) >= count


def _accounts(commands: SlurmCommands) -> set[str]:
    """Return the accounts that this user may use; empty where the cluster keeps none."""
    user = pwd.getpwuid(os.getuid()).pw_name
    told = commands.ask("scontrol", ["-o", "show", "assoc_mgr", "flags=assoc", f"users={user}"])
    return set(re.findall(rf"\bAccount=(\S+) UserName={re.escape(user)}\(", told))


def _accounting(commands: SlurmCommands) -> Finding:
    item = Wanted(
        name="slurm accounting",
        purpose="tells how jobs ended that the controller has forgotten",
        how_to_get="nothing is lost without it: jobs write records of their own",
    )

    def look() -> _Look:
        kept = commands.configuration().get("AccountingStorageType", "").rpartition("/")[2]
        return None, item, "missing" if kept in {"none", ""} or commands.where("sacct") is None else "ok"

    return _asked(item, look)


def _jobs_folder(settings: SlurmSettings, executor: str) -> Finding:
    folder = Path(settings.jobs_dir).expanduser().absolute()
    there = next(place for place in (folder, *folder.parents) if place.exists())
    kind = _file_system(there)
    shared = any(kind.startswith(name) for name in _SHARED)
    told = f"holds jobs: {folder}"
    if executor == "slurm" and not shared:
        told += f", on a local disk ({kind or 'unknown'}): every node must see it under this path"
    item = Wanted(
        name="jobs folder", purpose=told, how_to_get="it cannot be written; set slurm.jobs_dir to another one"
    )
    return finding_of(
        "jobs", item, None, state="ok" if there.is_dir() and os.access(there, os.W_OK | os.X_OK) else "broken"
    )


def _file_system(folder: Path) -> str:
    """Return the kind of file system that a folder is on."""
    import psutil

    mounts = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    resolved = folder.resolve()
    return next((mounts[place] for place in (resolved, *resolved.parents) if place in mounts), "")


def _asked(item: Wanted, look: Callable[[], _Look]) -> Finding:
    """Look, and tell it as a finding when the cluster does not answer."""
    try:
        version, told, state = look()
    except ExecutorUnavailableError as error:
        return finding_of("jobs", item.model_copy(update={"how_to_get": str(error)}), None, state="broken")
    return finding_of("jobs", told, version, state=state)
