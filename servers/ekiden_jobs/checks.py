"""Which requests can be jobs."""

import re
from collections.abc import Iterator

from ekiden_jobs.errors import JobRequestError
from ekiden_jobs.request import JobRequest, Resources

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
RESERVED = frozenset({"EKIDEN_JOB", "EKIDEN_TASK", "EKIDEN_RESTARTS"})
"""The variables that the runner sets."""

WARNINGS = frozenset({"ALRM", "HUP", "INT", "QUIT", "USR1", "USR2"})
"""The signals that a runner passes on and that do not mean that the job is to end."""


def check_request(request: JobRequest) -> None:
    """Check that a job can be like that.

    Raises:
        JobRequestError: It cannot.
    """
    for trouble in _troubles(request):
        raise JobRequestError(trouble)


def _troubles(request: JobRequest) -> Iterator[str]:
    if not _KEY.fullmatch(request.key):
        yield (
            f"The key {request.key!r} is none: it must be a letter or digit and up to 79 letters, digits and signs of "
            "'._-'."
        )
    if not request.command or not request.command[0]:
        yield "The command is empty; give a program and its arguments."
    texts = [request.name, *request.command, *request.environment.values(), *request.secrets.values()]
    if any("\0" in text for text in [*texts, *(word for task in request.tasks for word in task)]):
        yield "A name, a command or a variable holds a NUL, which no program can be given."
    if any(not character.isprintable() for character in request.name):
        yield f"The name {request.name!r} holds a line end or a control character."
    if not request.folder.is_absolute():
        yield f"The folder {str(request.folder)!r} is not absolute."
    elif not request.folder.is_dir():
        yield f"The folder {str(request.folder)!r} is not there; make it first."
    yield from _variable_troubles(request)
    yield from _resource_troubles(request.resources)
    yield from _limit_troubles(request)


def _variable_troubles(request: JobRequest) -> Iterator[str]:
    for name in [*request.environment, *request.secrets]:
        if not _VARIABLE.fullmatch(name):
            yield f"{name!r} is no name of a variable."
        if name in RESERVED:
            yield f"The variable {name!r} is set by the runner; take another name."
    if both := sorted(request.environment.keys() & request.secrets.keys()):
        yield f"The variable {both[0]!r} is given both for all to see and as a secret."


def _resource_troubles(resources: Resources) -> Iterator[str]:
    counts = {
        "cpus": resources.cpus,
        "nodes": resources.nodes,
        "memory_mb": resources.memory_mb,
        "memory_mb_per_cpu": resources.memory_mb_per_cpu,
        "time_limit_s": resources.time_limit_s,
    }
    for name, count in counts.items():
        if count is not None and count < 1:
            yield f"{name} is {count!r}; it must be at least 1."
    if resources.gpus < 0:
        yield f"gpus is {resources.gpus!r}; it must not be negative."
    if resources.memory_mb is not None and resources.memory_mb_per_cpu is not None:
        yield "Give memory_mb or memory_mb_per_cpu, not both."
    if resources.gpus and resources.gres:
        yield "Give gpus or gres, not both."


def _limit_troubles(request: JobRequest) -> Iterator[str]:
    if request.warn_signal not in WARNINGS:
        yield f"{request.warn_signal!r} is no signal that can warn a program; these are: {', '.join(sorted(WARNINGS))}."
    limit_s = request.resources.time_limit_s
    if request.warn_s is not None and request.warn_s < 1:
        yield f"warn_s is {request.warn_s!r}; it must be at least 1."
    if request.warn_s is not None and limit_s is not None and request.warn_s >= limit_s:
        yield f"The warning comes {request.warn_s} s before the time is up, but there are only {limit_s} s."
    if request.requeues < 0:
        yield f"requeues is {request.requeues!r}; it must not be negative."
    if request.tasks_at_once is not None and request.tasks_at_once < 1:
        yield f"tasks_at_once is {request.tasks_at_once!r}; it must be at least 1."
