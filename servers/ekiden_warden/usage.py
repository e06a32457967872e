"""What a warden's program uses, seen from outside: processor time and memory of its whole tree."""

import contextlib
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class Usage:
    """What a tree of processes has used.

    Attributes:
        cpu_s: Processor seconds since its start, of ended processes too.
        rss_bytes: Resident memory now; what several processes share counts for each of them.
    """

    cpu_s: float
    rss_bytes: int


class Meter:
    """Adds up the processes under a keeper, the one that reaps the program and its orphans."""

    def __init__(self, warden: int, *, depth: int) -> None:
        """Look under the process that lies `depth` levels below the warden."""
        self._warden = warden
        self._depth = depth
        self._keeper: psutil.Process | None = None
        self._members: dict[psutil.Process, float] = {}
        self._ended_s = 0.0
        self._cpu_s = 0.0

    def read(self) -> Usage:
        """Return what the tree uses; its processor time never falls."""
        reaped_s = 0.0
        found: set[psutil.Process] = set()
        with contextlib.suppress(psutil.Error):
            keeper = self._keeper or self._find_keeper()
            before = keeper.cpu_times()
            found = set(keeper.children(recursive=True))
            reaped_s = before.children_user + before.children_system
        found |= {member for member in self._members.keys() - found if member.is_running()}  # they have left the tree
        return self._add_up(found, reaped_s)

    def end_seen(self) -> None:
        """Kill every process that was there at the last reading and still is."""
        for member in self._members:
            with contextlib.suppress(psutil.Error):
                member.kill()

    def _find_keeper(self) -> psutil.Process:
        keeper = psutil.Process(self._warden)
        for _ in range(self._depth):
            children = keeper.children()
            if not children:
                raise psutil.NoSuchProcess(keeper.pid)
            keeper = children[0]
        self._keeper = keeper
        return keeper

    def _add_up(self, found: set[psutil.Process], reaped_s: float) -> Usage:
        members: dict[psutil.Process, float] = {}
        rss_bytes = 0
        for process in found:
            with contextlib.suppress(psutil.Error), process.oneshot():
                times = process.cpu_times()
                members[process] = times.user + times.system
                reaped_s += times.children_user + times.children_system
                rss_bytes += process.memory_info().rss
        # Parents that ignore the end of their children lose their time, which the first sum counts; what lived too
        # shortly to be seen here is missing in the second.
        self._ended_s += sum(used for process, used in self._members.items() if process not in members)
        self._members = members
        living_s = sum(members.values())
        self._cpu_s = max(self._cpu_s, living_s + reaped_s, living_s + self._ended_s)
        return Usage(self._cpu_s, rss_bytes)
