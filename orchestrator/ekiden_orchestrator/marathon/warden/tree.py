"""Ending a whole tree of processes without a namespace to end it for us."""

import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path


def children_by_parent() -> dict[int, list[int]]:
    """Return the living processes by parent, as /proc shows them; empty where there is no /proc."""
    table: dict[int, list[int]] = {}
    with contextlib.suppress(FileNotFoundError):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError, IndexError, ValueError):
                    # The name in parentheses may hold anything; what follows the last one is regular.
                    fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
                    table.setdefault(int(fields[1]), []).append(int(entry.name))
    return table


def descendants(root: int) -> set[int]:
    """Return every descendant of a process."""
    table = children_by_parent()
    found: set[int] = set()
    waiting = [root]
    while waiting:
        for child in table.get(waiting.pop(), []):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


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
        while fresh := descendants(os.getpid()) - stopped:
            _signal_all(fresh, signal.SIGSTOP)
            stopped |= fresh
        _signal_all(stopped, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


def _signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
