"""The kinds of jobs that make up a run on a cluster: what each gets, and what it finds in its environment."""

import math
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Literal

from ekiden_config import HpcJobSettings, HpcSettings, SlurmSettings
from ekiden_jobs import Resources

JobKind = Literal["auto", "stage1_orchestrator", "stage2_orchestrator", "agent"]
_KIB = {"K": 1, "M": 1024, "": 1024, "G": 1024**2, "T": 1024**3}
_THREADS = ("VERIFY_BLUEPRINT_LEAN_THREADS", "LEAN_LSP_THREADS", "DAG_TRACKER_LEAN_THREADS")
_OUR_VARIABLES = ("EKIDEN_*", "LEANMARATHON_*")
_ON_GPUS = ("gpu", "mps", "shard")
"""The generic resources that graphics processors are given by."""
_LIKE_SECRETS = ("*TOKEN*", "*KEY*", "*SECRET*", "*PASSWORD*")


def resources_of(kind: JobKind, hpc: HpcSettings, slurm: SlurmSettings) -> Resources:
    """Return what a kind of job gets."""
    job = _job(kind, hpc)
    on_gpus = job.resource == "gpu"
    wanted = Resources(cpus=job.cpus, time_limit_s=60 * minutes_of(job.time), gres=slurm.gpu_gres if on_gpus else "")
    return with_site_defaults(wanted, slurm)


def with_site_defaults(wanted: Resources, slurm: SlurmSettings) -> Resources:
    """Return resources with the settings' partition, account and memory where none is named, and their directives."""
    names = {gres.partition(":")[0] for gres in wanted.gres.split(",")}
    on_gpus = bool(wanted.gpus) or not names.isdisjoint(_ON_GPUS)
    says_nothing = wanted.memory_mb is None and wanted.memory_mb_per_cpu is None
    return replace(
        wanted,
        partition=wanted.partition or (slurm.gpu_partition if on_gpus else slurm.cpu_partition),
        account=wanted.account or (slurm.gpu_account if on_gpus else slurm.cpu_account),
        memory_mb_per_cpu=mebibytes_of(slurm.mem_per_cpu) if says_nothing else wanted.memory_mb_per_cpu,
        directives=(*slurm.directives, *wanted.directives),
    )


def exports_of(
    kind: JobKind, hpc: HpcSettings, slurm: SlurmSettings, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the public variables of a kind of job: how many threads and how much memory it has, our own, the PATH.

    Variables of ours whose names look like a secret's, or that the settings call secret, are left out.
    """
    own = {
        name: value
        for name, value in environ.items()
        if _is_like(name, _OUR_VARIABLES) and not _is_like(name, (*_LIKE_SECRETS, *slurm.secrets))
    }
    agent, job = hpc.agent, _job(kind, hpc)
    numbers = {"AGENT_CPUS": str(agent.cpus), "AGENT_TIME": agent.time, "AGENT_RESOURCE_MODE": agent.resource}
    if kind != "agent":
        numbers |= {"ORCH_CPUS": str(job.cpus), "ORCH_TIME": job.time, "ORCH_RESOURCE_MODE": job.resource}
    # those of the job itself: more threads than it has processors would only wait for each other
    numbers |= dict.fromkeys(_THREADS, str(job.cpus))
    if (memory := mebibytes_of(slurm.mem_per_cpu)) is not None:
        numbers["LEANMARATHON_SLURM_MEM_PER_CPU"] = str(memory)
        numbers["LEANMARATHON_TOTAL_MEM_MB"] = str(memory * job.cpus)
    path = {"PATH": environ["PATH"]} if environ.get("PATH") else {}
    return path | own | numbers


def secrets_of(slurm: SlurmSettings, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables that the settings call secret and that are set."""
    return {name: value for name, value in environ.items() if value and _is_like(name, slurm.secrets)}


def minutes_of(time: str) -> int:
    """Return the minutes of a time limit as Slurm writes it, rounded up, at least one.

    Without days it is `minutes`, `minutes:seconds` or `hours:minutes:seconds`; with them `days-hours`,
    `days-hours:minutes` or `days-hours:minutes:seconds`.
    """
    days, dash, rest = time.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if dash or len(parts) == 3:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
    else:
        hours, (minutes, seconds) = 0, (*parts, 0)[:2]
    return max(1, (int(days or 0) * 24 + hours) * 60 + minutes + math.ceil(seconds / 60))


def mebibytes_of(memory: str) -> int | None:
    """Return an amount of memory in mebibytes, rounded up, of which a bare number is too; None of nothing."""
    if not (found := re.fullmatch(r"([0-9]+)([KMGT]?)", memory)):
        return None
    return -(-int(found[1]) * _KIB[found[2]] // 1024)


def _job(kind: JobKind, hpc: HpcSettings) -> HpcJobSettings:
    return {
        "auto": hpc.auto,
        "stage1_orchestrator": hpc.stage1_orchestrator,
        "stage2_orchestrator": hpc.stage2_orchestrator,
        "agent": hpc.agent,
    }[kind]


def _is_like(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
