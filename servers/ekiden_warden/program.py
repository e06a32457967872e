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
    pid = os.fork()
    if pid == 0:
        _become_program(order, error_writer, confined=confined)
    os.close(error_writer)
    with os.fdopen(error_reader, "rb") as errors:
        message = errors.read().decode("utf-8", "replace")
    if message:
        os.waitpid(pid, 0)
        raise StartError(message)
    return pid


def be_ended_first() -> None:
    """Have the kernel choose this process and its children when memory runs out."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(f"{_OOM_SCORE}", encoding="ascii")


def _become_program(order: Order, error_writer: int, *, confined: bool) -> NoReturn:
    try:
        os.setsid()
        if LINUX:
            kernel.die_with_parent()
            kernel.forbid_new_privileges()
            if not confined:
                be_ended_first()
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
    count_every_s = math.inf if confined and kernel.counts_processes_apart() else _COUNT_EVERY_S
    next_count = time.monotonic() + count_every_s
    while True:
        status = reap_until(pid)
        if status is not None:
            return os.waitstatus_to_exitcode(status)
        now = time.monotonic()
        if now >= next_count:
            if tree.count_threads(os.getpid()) > order.processes:
                return None
            next_count = time.monotonic() + count_every_s
        if now >= deadline:
            return None
        remaining = min(deadline, next_count) - now
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


def reap_until(pid: int) -> int | None:
    """Reap every child that has ended; return the status of `pid` if it was among them."""
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if ended == 0:
            return None
        if ended == pid:
            return status


def reaped_cpu_s() -> float:
    """Return the processor seconds of all that this process has reaped, and of what those had reaped themselves."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
