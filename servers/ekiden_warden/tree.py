"""Counting, reaping and ending a whole tree of processes without a namespace to do it for us."""

import contextlib
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

_PARENT_FIELD = 1  # counted from the state, the first field after the name
_THREADS_FIELD = 17
_RESIDENT_FIELD = 21  # in pages


class _Entry(NamedTuple):
    pid: int
    parent: int
    threads: int
    resident_pages: int


def _entries() -> Iterator[_Entry]:
    """Yield the living processes as /proc shows them; none where there is no /proc."""
    with contextlib.suppress(FileNotFoundError):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError, IndexError, ValueError):
                    # The name in parentheses may hold anything; what follows the last one is regular.
                    fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
                    numbers = (int(fields[field]) for field in (_PARENT_FIELD, _THREADS_FIELD, _RESIDENT_FIELD))
                    yield _Entry(int(entry.name), *numbers)


def _descendants(root: int) -> dict[int, _Entry]:
    """Return every descendant of a process by its number."""
    by_parent: dict[int, list[_Entry]] = {}
    for entry in _entries():
        by_parent.setdefault(entry.parent, []).append(entry)
    found: dict[int, _Entry] = {}
    waiting = [root]
    while waiting:
        for child in by_parent.get(waiting.pop(), []):
            if child.pid not in found:
                found[child.pid] = child
                waiting.append(child.pid)
    return found


def count_threads(root: int) -> int:
    """Return how many threads the descendants of a process have together; a plain process has one."""
    return sum(entry.threads for entry in _descendants(root).values())


def count_resident_bytes(root: int) -> int:
    """Return the memory of the descendants of a process; what several of them share counts for each."""
    pages = sum(entry.resident_pages for entry in _descendants(root).values())
    return pages * os.sysconf("SC_PAGE_SIZE")


def count_proportional_bytes(root: int) -> int:
    """Return the memory of the descendants of a process, with what is shared divided among those who share it.

    That takes longer. A process that cannot be asked counts with all that it shares.
    """
    page = os.sysconf("SC_PAGE_SIZE")
    return sum(_proportional_bytes(entry.pid, entry.resident_pages * page) for entry in _descendants(root).values())


def _proportional_bytes(pid: int, otherwise: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines()
    except OSError:
        return otherwise
    sizes = (int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Pss:"))
    return next(sizes, otherwise)


def count_visible() -> int:
    """Return how many processes /proc shows, in a namespace those of the namespace; 0 where there is no /proc."""
    try:
        return sum(name.isdigit() for name in os.listdir("/proc"))  # noqa: PTH208 - names alone, as fast as they come
    except FileNotFoundError:
        return 0


def end_all(group: int) -> None:
    """Kill every descendant of this process and wait until none is left.

    Descendants are stopped before they are killed, so that none can start another one unseen; orphans come to this
    process where it adopts them. `group` is killed as a process group first, which is all that can be done
    elsewhere.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    while True:
        stopped: set[int] = set()
        while fresh := _descendants(os.getpid()).keys() - stopped:
            _signal_all(fresh, signal.SIGSTOP)
            stopped |= fresh
        _signal_all(stopped, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


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


def _signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
