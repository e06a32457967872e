"""A job as the options of a command say it."""

import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ekiden_jobs import JobKey, JobRequest, Resources
from ekiden_orchestrator.errors import CommandError
from ekiden_slurm.needs import read_memory, read_time, split_task
from ekiden_slurm.profiles import JobKind, exports_of, resources_of, secrets_of

if TYPE_CHECKING:
    from ekiden_config import Settings
    from ekiden_slurm.choice import Choice

_LONGEST_NAME = 48


@dataclass(frozen=True, slots=True)
class JobOptions:
    """What was said of a job; what is empty or None was not."""

    command: Sequence[str]
    key: str = ""
    name: str = ""
    folder: Path | None = None
    kind: JobKind | None = None
    cpus: int | None = None
    memory: str = ""
    gpus: int | None = None
    gres: str = ""
    nodes: int | None = None
    time: str = ""
    partition: str = ""
    account: str = ""
    sbatch: Sequence[str] = ()
    exclude: Sequence[str] = ()
    env: Sequence[str] = ()
    secret: Sequence[str] = ()
    warn_s: int | None = None
    warn_signal: str = "USR1"
    requeues: int = 0
    tasks: Path | None = None
    at_once: int | None = None

    def request(self, settings: "Settings", choice: "Choice") -> JobRequest:
        """Return the job.

        Raises:
            CommandError: A variable or the file of tasks cannot be read.
            JobRequestError: No job can be like that.
        """
        public, secret = self._variables(settings)
        return JobRequest(
            key=JobKey(self.key or new_key(self.command[0])),
            command=tuple(self.command),
            folder=(self.folder or Path()).expanduser().resolve(),
            name=self.name,
            environment=public,
            secrets=secret,
            resources=self._resources(settings, choice),
            warn_signal=self.warn_signal.upper().removeprefix("SIG"),
            warn_s=self.warn_s,
            requeues=self.requeues,
            tasks=() if self.tasks is None else read_tasks(self.tasks),
            tasks_at_once=self.at_once,
        )

    def _resources(self, settings: "Settings", choice: "Choice") -> Resources:
        base = Resources() if self.kind is None else resources_of(self.kind, settings.hpc, settings.slurm)
        if self.gpus is not None:
            base = replace(base, gres="", gpus=self.gpus)
        if self.gres:
            base = replace(base, gres=self.gres)
        if self.memory:
            base = replace(base, memory_mb=read_memory(self.memory), memory_mb_per_cpu=None)
        wanted = replace(
            base,
            cpus=self.cpus or base.cpus,
            nodes=self.nodes or base.nodes,
            time_limit_s=read_time(self.time) if self.time else base.time_limit_s,
            partition=self.partition or base.partition,
            account=self.account or base.account,
            exclude_nodes=tuple(self.exclude),
            directives=(*base.directives, *self.sbatch),
        )
        return wanted if self.kind is not None else choice.completed(wanted)

    def _variables(self, settings: "Settings") -> tuple[dict[str, str], dict[str, str]]:
        public: dict[str, str] = {}
        secret: dict[str, str] = {}
        if self.kind is not None:
            public = exports_of(self.kind, settings.hpc, settings.slurm)
            secret = secrets_of(settings.slurm)
        for variable in self.env:
            name, equals, value = variable.partition("=")
            public[name] = value if equals else _own_value(name, "--env", os.environ)
        for name in self.secret:
            if "=" in name:
                raise CommandError(
                    "--secret takes a variable's name alone: a value would stand in the list of processes."
                )
            secret[name] = _own_value(name, "--secret", os.environ)
        return public, secret


def new_key(program: str) -> JobKey:
    """Return a key that no other job has, made from a program's name and the time."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(program).name)[:_LONGEST_NAME].strip("._-") or "job"
    return JobKey(f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}")


def read_tasks(file: Path) -> tuple[tuple[str, ...], ...]:
    """Return the tasks of an array: a line of further arguments each, quoted as in a shell; empty lines are none.

    Raises:
        CommandError: The file cannot be read, or holds no task.
        JobRequestError: A line cannot be split.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"The tasks in {str(file)!r} cannot be read: {error}.") from error
    tasks = tuple(split_task(line) for line in lines if line.strip())
    if not tasks:
        raise CommandError(f"The file {str(file)!r} holds no task; write a line of arguments for each.")
    return tasks


def _own_value(name: str, option: str, environ: Mapping[str, str]) -> str:
    if name not in environ:
        raise CommandError(f"{option} {name!r}: there is no such variable here; set it first.")
    return environ[name]
