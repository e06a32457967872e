"""Which process is meant, and whether it still lives, although numbers of processes are given again."""

import os
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")


class ProcessIdentity(NamedTuple):
    """A process, told from every other that has had or will have its number.

    Attributes:
        pid: Its number.
        started: When it was started, as the system counts that.
        boot: Which start of the machine that was under; empty where a system does not say.
    """

    pid: int
    started: str
    boot: str


def this_process() -> ProcessIdentity:
    """Return the process that asks."""
    pid = os.getpid()
    return ProcessIdentity(pid, _started(pid) or "", _boot())


def lives(process: ProcessIdentity) -> bool:
    """Tell whether a process still runs; one that has ended and waits for its parent does not."""
    return process.boot == _boot() and process.started == _started(process.pid)


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _started(pid: int) -> str | None:
    if not (_PROC / "self/stat").exists():
        return _started_without_proc(pid)
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The second field, the program's name in parentheses, may hold blanks and parentheses of its own.
    fields = stat[stat.rindex(b")") + 1 :].split()
    return None if fields[0] in {b"Z", b"X"} else fields[19].decode()


def _started_without_proc(pid: int) -> str | None:
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.1f}"
    except psutil.Error:
        return None
