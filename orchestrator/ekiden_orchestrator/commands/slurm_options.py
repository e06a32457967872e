"""The options that say what job it is: given once, taken by every command that makes a job of them."""

from collections.abc import Callable
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from ekiden_orchestrator.job_options import JobOptions

_LEFT_TO = "left to the system"

_Command = Annotated[
    list[str], typer.Argument(metavar="COMMAND...", help="The program and its arguments.", show_default=False)
]
_Key = Annotated[
    str, typer.Option(metavar="KEY", help="What the job is known by, for ever.", show_default="program and time")
]
_Name = Annotated[str, typer.Option(help="What people call it.")]
_Folder = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where it runs.", show_default="the working directory")
]
_Kind = Annotated[
    Literal["auto", "stage1_orchestrator", "stage2_orchestrator", "agent"] | None,
    typer.Option(help="Give it what the settings hpc.KIND say, and the variables of such a job."),
]
_Cpus = Annotated[int | None, typer.Option(min=1, metavar="N", help="Processors.", show_default="1")]
_Memory = Annotated[
    str, typer.Option(metavar="SIZE", help="Memory in all, as 3850 (MiB) or 8G.", show_default="slurm.mem_per_cpu")
]
_Gpus = Annotated[int | None, typer.Option(min=0, metavar="N", help="Graphics processors of any kind.")]
_Gres = Annotated[str, typer.Option(metavar="TEXT", help="Generic resources, as gpu:lovelace_l40:2.")]
_Nodes = Annotated[int | None, typer.Option(min=1, metavar="N", help="Machines.", show_default="1")]
_Time = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="Time limit: minutes, or as 1:30:00. Slurm rounds up to minutes.",
        show_default=_LEFT_TO,
    ),
]
_Partition = Annotated[str, typer.Option(help="Slurm's partition.", show_default="the settings'")]
_Account = Annotated[str, typer.Option(help="Slurm's account.", show_default="the settings'")]
_Sbatch = Annotated[
    list[str] | None, typer.Option(metavar="OPTION", help="A further option of sbatch, as --sbatch=--qos=long.")
]
_Exclude = Annotated[list[str] | None, typer.Option(metavar="NODE", help="A node that it must not run on.")]
_Env = Annotated[
    list[str] | None, typer.Option(metavar="NAME[=VALUE]", help="A public variable; without a value, yours.")
]
_Secret = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="A variable of yours that nobody else may see.")
]
_Warn = Annotated[
    int | None, typer.Option("--warn", min=1, metavar="S", help="Seconds before the time limit to warn the program.")
]
_WarnSignal = Annotated[str, typer.Option(metavar="SIGNAL", help="The signal that warns it.")]
_Requeues = Annotated[
    int, typer.Option(min=0, metavar="N", help="How often it may be put back when it is preempted or its node lost.")
]
_Tasks = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Make it an array: a task for each line, which ends the task's command."),
]
_AtOnce = Annotated[int | None, typer.Option(min=1, metavar="N", help="The most tasks at once.", show_default="any")]


def _job(
    command: _Command,
    *,
    key: _Key = "",
    name: _Name = "",
    folder: _Folder = None,
    kind: _Kind = None,
    cpus: _Cpus = None,
    memory: _Memory = "",
    gpus: _Gpus = None,
    gres: _Gres = "",
    nodes: _Nodes = None,
    time: _Time = "",
    partition: _Partition = "",
    account: _Account = "",
    sbatch: _Sbatch = None,
    exclude: _Exclude = None,
    env: _Env = None,
    secret: _Secret = None,
    warn: _Warn = None,
    warn_signal: _WarnSignal = "USR1",
    requeues: _Requeues = 0,
    tasks: _Tasks = None,
    at_once: _AtOnce = None,
) -> "JobOptions":
    from ekiden_orchestrator.job_options import JobOptions

    return JobOptions(
        command, key=key, name=name, folder=folder, kind=kind, cpus=cpus, memory=memory, gpus=gpus, gres=gres,
        nodes=nodes, time=time, partition=partition, account=account, sbatch=sbatch or (), exclude=exclude or (),
        env=env or (), secret=secret or (), warn_s=warn, warn_signal=warn_signal, requeues=requeues, tasks=tasks,
        at_once=at_once,
    )  # fmt: skip


def takes_job(run: Callable[..., None]) -> Callable[..., None]:
    """Make a command that takes the options of a job before its own; `run` gets the job as its first argument.

    typer reads a command's options from its signature, so this one is put together from both.
    """
    of_job = signature(_job).parameters
    every = [*of_job.values(), *list(signature(run).parameters.values())[1:]]

    @wraps(run)
    def command(**given: Any) -> None:
        options = {name: given.pop(name) for name in of_job}
        run(_job(**options), **given)

    command.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
    command.__dict__["__signature__"] = Signature(every)
    return command
