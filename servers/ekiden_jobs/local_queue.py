"""Which local jobs are next and which run. The standard library alone: the processes that use it start often.

The folder `.local` of a jobs folder holds a file for each job that waits and for each run that was begun. Both are only
pointers: whether a job runs is told by its claim, whether it has ended by what its runner wrote.
"""

import contextlib
import fcntl
import json
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from ekiden_files.whole import write_new, write_whole
from ekiden_jobs.claim import bar_run
from ekiden_jobs.records import CLAIM_FILE, ENDED_FILE
from ekiden_warden.identity import ProcessIdentity, lives, this_process

MAX_TRIES = 3
"""How often a run is begun whose process dies before it can claim its job."""

_READY = b"r"
_GO = b"g"


class Unit(NamedTuple):
    """What runs as one: a job, or one task of an array."""

    key: str
    task: int | None

    def folder(self, root: Path) -> Path:
        """Return where its runs leave what they write."""
        return root / self.key if self.task is None else root / self.key / "tasks" / str(self.task)


class Due(NamedTuple):
    """A job of which something waits.

    Attributes:
        key: The job.
        at_ns: When it was submitted, in nanoseconds since 1970.
        cpus: The processors that it, or one of its tasks, takes.
        at_once: The most of its tasks that run together; None: any.
        tasks: The tasks that wait, the next first; of a job that is no array, None.
        tries: How often runs of it were begun in vain.
    """

    key: str
    at_ns: int
    cpus: int
    at_once: int | None
    tasks: tuple[int | None, ...]
    tries: int = 0

    @property
    def file_name(self) -> str:
        """The name of its file; names sort as jobs were submitted."""
        return f"{self.at_ns:020d}.{self.key}"


class Begun(NamedTuple):
    """A run that was begun.

    Attributes:
        due: Its job as it was when the run was begun; its tasks are this one alone.
        process: The process that runs it.
    """

    due: Due
    process: ProcessIdentity

    @property
    def unit(self) -> Unit:
        """What runs."""
        return Unit(self.due.key, self.due.tasks[0])


class LocalQueue:
    """The queue of a jobs folder. Any number of processes may use it; the file `lock` guards every change but `add`.

    Attributes:
        root: The jobs folder.
        log: The file of what the processes complain about that run jobs.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folder = root / ".local"
        self._due = self._folder / "due"
        self._begun = self._folder / "begun"
        self.log = self._folder / "log"

    def add(self, due: Due) -> None:
        """Add a job; one that is there already stays as it is, and what has run or runs is not run again."""
        self._due.mkdir(parents=True, exist_ok=True)
        self._begun.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            write_new(self._due / due.file_name, _due_text(due), sync=True)

    def due(self) -> list[Due]:
        """Return what waits, the oldest first."""
        found = (_read_due(self._due / name) for name in sorted(_names(self._due)))
        return [due for due in found if due is not None]

    def begun(self) -> dict[Unit, Begun]:
        """Return the runs that were begun and not yet seen to be over."""
        found = (_read_begun(self._begun / name) for name in _names(self._begun))
        return {begun.unit: begun for begun in found if begun is not None}

    def begun_run(self, unit: Unit) -> Begun | None:
        """Return the run of a job or task that was begun; None if there is none, or it is known to be over."""
        return _read_begun(self._file(unit))

    def is_over(self, begun: Begun) -> bool:
        """Tell whether a run has left its record or its process is gone."""
        if (begun.unit.folder(self.root) / ENDED_FILE).exists():
            return True
        # The process that begins the next runs is started by the last act of one that is over.
        return begun.process.pid == os.getppid() or not lives(begun.process)

    def used(self, slots: int) -> int:
        """Return how many processors the runs take that are not over."""
        return sum(min(begun.due.cpus, slots) for begun in self.begun().values() if not self.is_over(begun))

    def could_start(self, slots: int) -> bool:
        """Tell, without a lock, whether `start_due` may have something to do."""
        begun = self.begun()
        running = [unit for unit, run in begun.items() if not self.is_over(run)]
        for due in self.due():
            if due.at_once is None or sum(unit.key == due.key for unit in running) < due.at_once:
                return self.used(slots) + min(due.cpus, slots) <= slots
        return any(self._is_stillborn(run) for run in begun.values())

    def holds(self, key: str) -> bool:
        """Tell whether something of a job waits or was begun and not yet seen to be over."""
        waits = any(name.partition(".")[2] == key for name in _names(self._due))
        return waits or any(unit.key == key for unit in self.begun())

    def start_due(self, slots: int, become: Callable[[Unit], NoReturn]) -> None:
        """Begin the runs that are due and for which there is room, in the order in which they were submitted.

        Only a process with a single thread may call this: it forks.

        Args:
            slots: How many processors all runs may take together.
            become: Runs a job; called in a process of its own that has left this one's session.
        """
        if not self._due.is_dir():
            return
        with self._locked() as lock:
            running = self._clear_away()
            for due in self.due():
                if not self._begin_tasks(due, running, slots, lock, become):
                    return  # what came later does not overtake it

    def _begin_tasks(
        self, due: Due, running: dict[Unit, Begun], slots: int, lock: int, become: Callable[[Unit], NoReturn]
    ) -> bool:
        """Begin what is due of one job; tell whether others may be begun as well."""
        cpus = min(due.cpus, slots)
        while due.tasks:
            unit = Unit(due.key, due.tasks[0])
            rest = due._replace(tasks=due.tasks[1:])
            if unit in running or self._is_claimed(unit):
                self._save(rest)
            elif due.at_once is not None and sum(other.key == due.key for other in running) >= due.at_once:
                return True
            elif sum(min(begun.due.cpus, slots) for begun in running.values()) + cpus > slots:
                return False
            else:
                begun = self._begin(due._replace(tasks=due.tasks[:1]), rest, lock, become)
                if begun is None:
                    return False
                running[unit] = begun
            due = rest
        return True

    @contextmanager
    def _locked(self) -> Generator[int]:
        lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield lock
            fcntl.flock(lock, fcntl.LOCK_UN)
        finally:
            os.close(lock)

    def _clear_away(self) -> dict[Unit, Begun]:
        """Forget the runs that are over, put those back that never came to claim their job, return the others."""
        running: dict[Unit, Begun] = {}
        for unit, begun in self.begun().items():
            if not self.is_over(begun):
                running[unit] = begun
                continue
            if self._is_stillborn(begun):
                self._put_back(begun)
            self._file(unit).unlink(missing_ok=True)
        return running

    def _is_stillborn(self, begun: Begun) -> bool:
        return self.is_over(begun) and not self._is_claimed(begun.unit)

    def _put_back(self, begun: Begun) -> None:
        waiting = _read_due(self._due / begun.due.file_name)
        rest = () if waiting is None else waiting.tasks
        if begun.unit.task in rest:
            return  # who began it was killed before the run was told to go
        due = begun.due._replace(tries=begun.due.tries + 1)
        if due.tries < MAX_TRIES:
            self._save(due._replace(tasks=due.tasks + rest))
            return
        with contextlib.suppress(FileNotFoundError):
            bar_run(begun.unit.folder(self.root))

    def _begin(self, due: Due, rest: Due, lock: int, become: Callable[[Unit], NoReturn]) -> Begun | None:
        """Begin a run in a process of its own; None if that died before it was told to go.

        Whichever of the two processes dies at whatever point, the run has its file before it may claim its job.
        """
        unit = Unit(due.key, due.tasks[0])
        ready_reader, ready_writer = os.pipe()
        go_reader, go_writer = os.pipe()
        if os.fork() == 0:
            os.close(ready_reader)
            os.close(go_writer)
            os.close(lock)
            os.setsid()
            write_whole(self._file(unit), _begun_text(Begun(due, this_process())))
            os.write(ready_writer, _READY)
            if os.read(go_reader, 1) != _GO:
                os._exit(1)
            become(unit)
        os.close(ready_writer)
        os.close(go_reader)
        try:
            begun = _read_begun(self._file(unit)) if os.read(ready_reader, 1) == _READY else None
            if begun is not None:
                self._save(rest)
                with contextlib.suppress(BrokenPipeError):
                    os.write(go_writer, _GO)
            return begun
        finally:
            os.close(ready_reader)
            os.close(go_writer)

    def _is_claimed(self, unit: Unit) -> bool:
        return (unit.folder(self.root) / CLAIM_FILE).exists()

    def _file(self, unit: Unit) -> Path:
        return self._begun / (unit.key if unit.task is None else f"{unit.key}@{unit.task}")

    def _save(self, due: Due) -> None:
        path = self._due / due.file_name
        if due.tasks:
            write_whole(path, _due_text(due))
        else:
            path.unlink(missing_ok=True)


def _due_text(due: Due) -> str:
    return json.dumps(due._asdict())


def _begun_text(begun: Begun) -> str:
    return json.dumps({"due": begun.due._asdict(), "process": begun.process})


def _read_due(path: Path) -> Due | None:
    """Return what waits; None if it was begun in this moment."""
    fields = _read(path)
    return None if fields is None else _due_of(fields)


def _read_begun(path: Path) -> Begun | None:
    fields = _read(path)
    return None if fields is None else Begun(_due_of(fields["due"]), ProcessIdentity(*fields["process"]))


def _read(path: Path) -> dict[str, Any] | None:
    """Return what a pointer holds; one that a crash of the machine left empty goes: the job's own folder knows more."""
    try:
        fields = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        path.unlink(missing_ok=True)
        return None
    return fields


def _due_of(fields: dict[str, Any]) -> Due:
    fields["tasks"] = tuple(fields["tasks"])
    return Due(**fields)


def _names(folder: Path) -> list[str]:
    try:
        # Files that are being written have names that begin with a dot.
        return [name for name in os.listdir(folder) if not name.startswith(".")]  # noqa: PTH208 - names alone
    except FileNotFoundError:
        return []
