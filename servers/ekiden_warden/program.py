"""Starting the program and keeping it company until it ends."""

import contextlib
import math
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from ekiden_warden import kernel, tree
from ekiden_warden.order import Order

LINUX = sys.platform.startswith("linux")
_ERROR_FD = 3
_FD_LIMIT = 65536
_OOM_SCORE = 500
_COUNT_EVERY_S = 0.25
_LOOK_EVERY_S = 0.05
_ANY_NICENESS = 40  # as RLIMIT_NICE counts: 20 less the lowest niceness
_CHANGED_SIGNALS = (
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGCHLD,
)


class StartError(Exception):
    """The program could not be started."""


def start(order: Order, *, confined: bool) -> int:
    """Start the program in a session of its own and return its process id.

    Raises:
        StartError: The program cannot be run; the message says why.
    """
    error_reader, error_writer = os.pipe()
    niceness = os.getpriority(os.PRIO_PROCESS, 0)
    _go_first()  # before there is a program: one that multiplies at once would leave this process no time for it
    pid = os.fork()
    if pid == 0:
        _become_program(order, error_writer, niceness, confined=confined)
    os.close(error_writer)
    with os.fdopen(error_reader, "rb") as errors:
        message = errors.read().decode("utf-8", "replace")
    if message:
        os.waitpid(pid, 0)
        raise StartError(message)
    return pid


def may_go_first() -> None:
    """Allow this process and those it forks to call `_go_first`, in namespaces too; only root may allow that."""
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NICE, (_ANY_NICENESS, _ANY_NICENESS))


def _go_first() -> None:
    """Run before the processes that are watched, however many they are."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)


def be_ended_first() -> None:
    """Have the kernel choose this process and its children when memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(f"{_OOM_SCORE}", encoding="ascii")


def _become_program(order: Order, error_writer: int, niceness: int, *, confined: bool) -> NoReturn:
    try:
        os.setsid()
        os.setpriority(os.PRIO_PROCESS, 0, niceness)
        if LINUX:
            kernel.die_with_parent()
            kernel.forbid_new_privileges()
            if not confined:
                be_ended_first()
            _limit(resource.RLIMIT_NICE, 0)
        _limit(resource.RLIMIT_CORE, 0)
        _limit(resource.RLIMIT_FSIZE, order.file_bytes)
        if confined:
            if kernel.counts_processes_apart():
                _limit(resource.RLIMIT_NPROC, order.processes)
            kernel.drop_capabilities()
        for number in _CHANGED_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY) if order.stdin_fd is None else order.stdin_fd, 0)
        os.dup2(order.stdout_fd, 1)
        os.dup2(order.stderr_fd, 2)
        error_writer = os.dup2(error_writer, _ERROR_FD, inheritable=False)
        os.closerange(_ERROR_FD + 1, _FD_LIMIT)
        os.chdir(order.directory)
        os.execve(order.argv[0], order.argv, order.environment)  # noqa: S606
    except BaseException as error:  # noqa: BLE001 - the last stop of a forked child: report and leave
        with contextlib.suppress(OSError):
            os.write(error_writer, f"{error}".encode())
    os._exit(127)


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    bound = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (bound, bound))


def wake_on_child_exit() -> int:
    """Return a descriptor that becomes readable whenever a child ends."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    return reader


def keep(pid: int, order: Order, commands: int, started: Callable[[], None], *, confined: bool) -> int | None:
    """Wait for the program, passing on the request to end; return its exit status.

    Returns None when the program has to be killed with everything it started: the commands closed, asked for the
    kill, the deadline passed, or it has too many processes. Orphans that end are reaped on the way.
    """
    wake = wake_on_child_exit()
    started()
    deadline = time.monotonic() + (math.inf if order.deadline_s is None else order.deadline_s)
    counting = not (confined and kernel.counts_processes_apart())
    others = 1 if confined else tree.count_visible()
    next_look = next_count = time.monotonic() if counting else math.inf
    while True:
        status = tree.reap_until(pid)
        if status is not None:
            return os.waitstatus_to_exitcode(status)
        now = time.monotonic()
        if now >= next_look:
            # Processes that multiply leave no time to read about each of them: their mere number comes first.
            crowded = tree.count_visible() - others > order.processes
            if crowded and confined:
                return None
            if crowded or now >= next_count:
                if _count_threads(pid, stopped=crowded) > order.processes:
                    return None
                next_count = time.monotonic() + _COUNT_EVERY_S
            next_look = time.monotonic() + _LOOK_EVERY_S
        if now >= deadline:
            return None
        remaining = max(0, min(deadline, next_look) - now)
        readable, _, _ = select.select([wake, commands], [], [], None if math.isinf(remaining) else remaining)
        if wake in readable:
            with contextlib.suppress(BlockingIOError):
                os.read(wake, 512)
        if commands in readable:
            command = os.read(commands, 1)
            if command != b"T":
                return None
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGTERM)


def _count_threads(group: int, *, stopped: bool) -> int:
    """Count the threads of everything below this process, with the program's group stopped meanwhile if asked."""
    if not stopped:
        return tree.count_threads(os.getpid())
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGSTOP)
    try:
        return tree.count_threads(os.getpid())
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGCONT)


def reaped_cpu_s() -> float:
    """Return the processor seconds of all that this process has reaped, and of what those had reaped themselves."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
