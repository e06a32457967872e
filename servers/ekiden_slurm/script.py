"""The script of a job: what it gets, what it finds in its environment, and the runner that it becomes."""

import math
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from ekiden_jobs import JobRequest, JobRequestError, Resources

_PLAIN = re.compile(r"[\w@%+=:,./\[\]-]+", re.ASCII)
_LONGEST_DIRECTIVE = 4000
_OURS = (
    "array", "chdir", "clusters", "comment", "error", "export", "export-file", "job-name", "no-requeue", "open-mode",
    "output", "parsable", "quiet", "requeue", "signal", "test-only", "wait", "wrap",
)  # fmt: skip
_OUR_LETTERS = "aDMeJoQW"
_READ_ONLY = frozenset({"BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"})


def job_script(
    request: JobRequest, *, name: str, runner: Sequence[str], folder: Path, tasks: range | None = None
) -> str:
    """Return the script to submit.

    Args:
        request: The job.
        name: What tells this submission from all others; its name and its comment.
        runner: The command that runs the job; what Slurm calls the job, how often it was put back and, of an array,
            the number of the task are added.
        folder: The job's folder, which must be there; of an array, with its folder `tasks`.
        tasks: Which tasks of an array are submitted together; None: it is no array.

    Raises:
        JobRequestError: Slurm, or a shell, cannot be told something of it.
    """
    lines = ["#!/bin/bash"]
    if request.name:
        lines.append(f"# {_printable(request.name)}")
    lines += [f"#SBATCH {directive}" for directive in _directives(request, name, folder, tasks)]
    # srun finds no program where PATH is set but not exported, as bash leaves it when nobody gave it one
    lines += ["", "export PATH"]
    for variable, value in sorted(request.environment.items()):
        if variable in _READ_ONLY:
            raise JobRequestError(f"The variable {variable!r} is bash's own and cannot be set; take another name.")
        lines.append(f"export {variable}={_shell_word(value)}")
    command = " ".join(_shell_word(part) for part in runner)
    native_id = "$SLURM_JOB_ID" if tasks is None else "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
    command += f' --id "{native_id}" --restarts "${{SLURM_RESTART_COUNT:-0}}"'
    if tasks is not None:
        number = f"$((SLURM_ARRAY_TASK_ID + {tasks.start}))" if tasks.start else "$SLURM_ARRAY_TASK_ID"
        command += f' --task "{number}"'
    lines += ["", f"exec {command}"]
    script = "\n".join(lines) + "\n"
    try:
        script.encode()
    except UnicodeEncodeError as error:
        raise JobRequestError(f"{error.object[error.start : error.end]!r} cannot be written as UTF-8.") from error
    return script


def slurm_log(folder: Path, task: int | None = None, tasks: range | None = None) -> Path:
    """Return where Slurm writes what it has to say of a job, such as that it was out of memory.

    Args:
        folder: The job's folder.
        task: The number of the task of an array.
        tasks: Those that it was submitted with.
    """
    if task is None or tasks is None:
        return folder / "slurm.log"
    return folder / "tasks" / f"slurm-{tasks.start}-{task - tasks.start}.log"


def _directives(request: JobRequest, name: str, folder: Path, tasks: range | None) -> Iterator[str]:
    """Yield the options; where two of one kind meet the last one wins."""
    for directive in request.resources.directives:
        _check_directive(directive)
        yield directive
    yield _option("job-name", name)
    yield _option("comment", name)
    yield from _needs(request.resources)
    if tasks is not None:
        at_once = f"%{request.tasks_at_once}" if request.tasks_at_once else ""
        yield _option("array", f"0-{len(tasks) - 1}{at_once}")
    if request.warn_s is not None:
        yield _option("signal", f"B:{request.warn_signal}@{request.warn_s}")
    yield "--requeue" if request.requeues else "--no-requeue"
    yield _option("chdir", str(folder))
    log = "slurm.log" if tasks is None else f"tasks/slurm-{tasks.start}-%a.log"
    yield _option("output", f"{_without_patterns(str(folder))}/{log}")
    yield "--open-mode=append"


def _needs(resources: Resources) -> Iterator[str]:
    for option, value in (
        ("account", resources.account),
        ("partition", resources.partition),
        ("qos", resources.qos),
        ("constraint", resources.constraint),
        ("reservation", resources.reservation),
        ("exclude", ",".join(resources.exclude_nodes)),
    ):
        if value:
            yield _option(option, value)
    yield _option("nodes", str(resources.nodes))
    yield "--ntasks=1" if resources.nodes == 1 else "--ntasks-per-node=1"
    yield _option("cpus-per-task", str(resources.cpus))
    if resources.memory_mb is not None:
        yield _option("mem", f"{math.ceil(resources.memory_mb / resources.nodes)}M")
    if resources.memory_mb_per_cpu is not None:
        yield _option("mem-per-cpu", f"{resources.memory_mb_per_cpu}M")
    if gres := resources.gres or (f"gpu:{resources.gpus}" if resources.gpus else ""):
        yield _option("gres", gres)
    if resources.time_limit_s is not None:
        yield _option("time", _time(resources.time_limit_s))


def _time(seconds: int) -> str:
    """Return a time limit as Slurm writes it; it counts whole minutes."""
    days, minutes = divmod(math.ceil(seconds / 60), 24 * 60)
    return (f"{days}-" if days else "") + f"{minutes // 60:02d}:{minutes % 60:02d}:00"


def _without_patterns(path: str) -> str:
    """Return a folder in which Slurm replaces nothing."""
    if "\\" in path:  # then it would replace nothing in the file's name either
        raise JobRequestError(f"Slurm cannot write into {path!r}, which holds a backslash: take another jobs folder.")
    return path.replace("%", "%%")


def _option(name: str, value: str) -> str:
    """Return an option as a line of the script may hold it: sbatch knows quotes and backslashes, but no line ends."""
    if not value.isprintable():
        raise JobRequestError(f"Slurm cannot be told {value!r} as --{name}: not all of it can be printed.")
    if not _PLAIN.fullmatch(value):
        value = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if len(value.encode()) > _LONGEST_DIRECTIVE:
        raise JobRequestError(f"Slurm cannot be told {value[:60]!r}... as --{name}: it is too long.")
    return f"--{name}={value}"


def _check_directive(directive: str) -> None:
    if not directive.startswith("-") or not directive.isprintable() or len(directive) > _LONGEST_DIRECTIVE:
        raise JobRequestError(f"The directive {directive!r} is no option of sbatch; one is '--mail-type=END'.")
    for word in directive.split():
        long = word[2:].partition("=")[0] if word.startswith("--") else ""
        # sbatch takes the beginning of an option's name for the option
        if (long and any(ours.startswith(long) for ours in _OURS)) or re.match(rf"-[{_OUR_LETTERS}]", word):
            raise JobRequestError(f"The directive {directive!r} will not do: {word!r} is for Ekiden to choose.")


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _shell_word(value: str) -> str:
    """Return a text as one word for bash; without line ends, which sbatch would take for those of a script of DOS."""
    if "\0" in value:
        raise JobRequestError(f"{value!r} holds a NUL, which no program can be given.")
    if value.isprintable():
        return shlex.quote(value)
    return "$'" + "".join(_escaped(character) for character in value) + "'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    return character if character.isprintable() or ord(character) > 127 else f"\\x{ord(character):02x}"
