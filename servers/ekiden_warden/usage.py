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
        self._living: dict[tuple[int, float], float] = {}
        self._ended_s = 0.0
        self._cpu_s = 0.0

    def read(self) -> Usage:
        """Return what the tree uses; its processor time never falls."""
        with contextlib.suppress(psutil.Error):
            return self._read(self._keeper or self._find_keeper())
        return Usage(self._cpu_s, 0)

    def raise_cpu_s(self, cpu_s: float) -> None:
        """Take in a processor time known from elsewhere."""
        self._cpu_s = max(self._cpu_s, cpu_s)

    def end_seen(self) -> None:
        """Kill every process that was there at the last reading and still is."""
        for pid, created in self._living:
            with contextlib.suppress(psutil.Error):
                process = psutil.Process(pid)
                if process.create_time() == created:
                    process.kill()

    def _find_keeper(self) -> psutil.Process:
        keeper = psutil.Process(self._warden)
        for _ in range(self._depth):
            children = keeper.children()
            if not children:
                raise psutil.NoSuchProcess(keeper.pid)
            keeper = children[0]
        self._keeper = keeper
        return keeper

    def _read(self, keeper: psutil.Process) -> Usage:
        before = keeper.cpu_times()
        with_reaped_s = before.children_user + before.children_system
        living: dict[tuple[int, float], float] = {}
        rss_bytes = 0
        for process in keeper.children(recursive=True):
            with contextlib.suppress(psutil.Error), process.oneshot():
                times = process.cpu_times()
                own_s = times.user + times.system
                living[process.pid, process.create_time()] = own_s
                with_reaped_s += own_s + times.children_user + times.children_system
                rss_bytes += process.memory_info().rss
        # Parents that ignore the end of their children hide their time from the first sum; what lived too shortly to
        # be seen is missing in the second.
        self._ended_s += sum(used for process, used in self._living.items() if process not in living)
        self._living = living
        self.raise_cpu_s(max(with_reaped_s, self._ended_s + sum(living.values())))
        return Usage(self._cpu_s, rss_bytes)
