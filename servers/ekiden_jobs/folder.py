"""The folder of a job: all that is known of it, whoever asks."""

import json
import re
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from ekiden_files import write_new, write_whole
from ekiden_jobs.checks import check_request
from ekiden_jobs.errors import ExecutorUnavailableError, JobRequestError, JobsError, UnknownJobError
from ekiden_jobs.executor import LogTail, StreamName
from ekiden_jobs.journal import Journal
from ekiden_jobs.records import (
    CLAIM_FILE,
    ENDED_FILE,
    REQUEST_FILE,
    SECRETS_FILE,
    STARTED_FILE,
    EndedRun,
    StartedRun,
    read_ended,
    read_started,
)
from ekiden_jobs.request import JobKey, JobRequest, task_key
from ekiden_policies.jobs import EndRecord

_REQUEST = TypeAdapter(JobRequest)
_FINDABLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,89}", re.ASCII)
_TASK_KEY = re.compile(r"(.+)_(0|[1-9][0-9]*)")
_LOCK_TIMEOUT_S = 60


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where the runs of a job, or of one task of an array, leave what they write.

    Attributes:
        path: The folder.
    """

    path: Path

    @property
    def claim(self) -> Path:
        """Says who runs it."""
        return self.path / CLAIM_FILE

    @property
    def secrets(self) -> Path:
        """Holds its secrets until a runner has taken them."""
        return self.path / SECRETS_FILE

    def drop_secrets(self) -> None:
        """Remove its secrets, also what somebody who was killed had begun to write of them."""
        self.secrets.unlink(missing_ok=True)
        self.drop_unfinished_secrets()

    def drop_unfinished_secrets(self) -> None:
        """Remove what somebody who was killed had begun to write of its secrets; not while somebody writes them."""
        for path in self.path.glob(f".{SECRETS_FILE}.*"):
            path.unlink(missing_ok=True)

    def log(self, stream: StreamName) -> Path:
        """Return the file of what it writes."""
        return self.path / f"{stream}.log"

    def started(self) -> StartedRun | None:
        """Return what its last run wrote when it began."""
        return read_started(self.path / STARTED_FILE)

    def ended(self) -> EndedRun | None:
        """Return what its last run wrote when it ended; None while that runs, and if it never could."""
        return read_ended(self.path / ENDED_FILE)

    def end_record(self) -> EndRecord | None:
        """Return of its last run's end what decisions need."""
        ended = self.ended()
        if ended is None:
            return None
        return EndRecord(
            native_id=ended.native_id,
            restarts=ended.restarts,
            exit_code=ended.exit_code,
            signal=ended.signal,
            limit=ended.limit,
            heard=ended.heard,
        )

    def tail(self, stream: StreamName, *, last_lines: int | None = None, last_bytes: int = 65_536) -> LogTail:
        """Return the end of what it wrote."""
        return tail_of(self.log(stream), last_lines=last_lines, last_bytes=last_bytes)


@dataclass(frozen=True, slots=True)
class JobFolder:
    """The folder of one job.

    Attributes:
        root: The jobs folder.
        key: The job.
    """

    root: Path
    key: JobKey

    @classmethod
    def create(cls, root: Path, request: JobRequest) -> Self:
        """Make the folder of a job, or find it made for the same request.

        Secrets are put down as long as no run has taken them, and kept nowhere to compare; only their names are.

        Raises:
            JobRequestError: No job can be like that, or another job has its key.
            JobsError: The jobs folder cannot be written.
            ExecutorUnavailableError: Somebody else has been at this job for long.
        """
        check_request(request)
        folder = cls(root.resolve(), request.key)
        folder._check_namesakes(request)
        try:
            folder.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise JobsError(
                f"The job {request.key!r} cannot have a folder in {str(root)!r}: {error.strerror}; take another jobs "
                "folder (slurm.jobs_dir)."
            ) from error
        with folder.locked():
            if not folder.request_file.exists():
                for run in _runs(folder.path, request):
                    run.path.mkdir(parents=True, exist_ok=True)
                write_new(folder.request_file, _as_text(request), mode=0o600, sync=True)
            elif folder._read_request() != (replace(request, secrets={}), sorted(request.secrets)):
                raise JobRequestError(
                    f"The key {request.key!r} belongs to another job of {str(root)!r}; a job that differs in anything "
                    "needs a key of its own."
                )
            if not folder.journal.standing().ended:
                folder._put_secrets(request)
        return folder

    @property
    def path(self) -> Path:
        """The folder itself."""
        return self.root / self.key

    @property
    def request_file(self) -> Path:
        """What is to be run, without its secrets."""
        return self.path / REQUEST_FILE

    @property
    def script(self) -> Path:
        """The script that was submitted."""
        return self.path / "script.sh"

    @property
    def journal(self) -> Journal:
        """What was meant, done and seen."""
        return Journal(self.path / "journal.jsonl")

    @contextmanager
    def locked(self, timeout_s: float = _LOCK_TIMEOUT_S) -> Generator[None]:
        """Keep all others from submitting this job or writing its journal.

        Raises:
            ExecutorUnavailableError: Somebody else has it for longer than the timeout.
            JobsError: The folder cannot be written.
        """
        lock = FileLock(self.path / "lock", timeout=timeout_s)
        try:
            lock.acquire()
        except Timeout as error:
            raise ExecutorUnavailableError(f"Another process is busy with job {self.key!r}; try again soon.") from error
        except OSError as error:
            raise JobsError(f"The folder {str(self.path)!r} cannot be written: {error.strerror}.") from error
        try:
            yield
        finally:
            lock.release()

    def request(self) -> JobRequest:
        """Return what is to be run, without its secrets.

        Raises:
            UnknownJobError: There is no such job.
            JobsError: Its request cannot be read.
        """
        return self._read_request()[0]

    def _read_request(self) -> tuple[JobRequest, list[str]]:
        """Return what is to be run and the names of its secrets."""
        try:
            fields = json.loads(self.request_file.read_bytes())
            names = fields.pop("secret_names")
            return _REQUEST.validate_python(fields), names
        except FileNotFoundError as error:
            raise UnknownJobError(f"There is no job {self.key!r} in {str(self.root)!r}.") from error
        except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
            raise JobsError(f"The request {str(self.request_file)!r} cannot be read: {error}") from error

    def run(self, task: int | None = None) -> RunFolder:
        """Return where the job leaves what it writes, or one task if it is an array."""
        return RunFolder(self.path if task is None else self.path / "tasks" / str(task))

    def runs(self) -> list[RunFolder]:
        """Return where the job, or each of its tasks, leaves what it writes.

        Raises:
            UnknownJobError: There is no such job.
        """
        return list(_runs(self.path, self.request()))

    def drop_secrets(self) -> None:
        """Remove the secrets that no run has taken; to be called when the job is over."""
        for run in self.runs():
            run.drop_secrets()

    def _put_secrets(self, request: JobRequest) -> None:
        if request.secrets:
            text = json.dumps(dict(request.secrets))
            for run in _runs(self.path, request):
                if not run.claim.exists():
                    write_whole(run.secrets, text, mode=0o600)  # the old ones stay until the new are whole
                    run.drop_unfinished_secrets()

    def _check_namesakes(self, request: JobRequest) -> None:
        found = _TASK_KEY.fullmatch(request.key)
        if found and JobFolder(self.root, JobKey(found[1])).has_task(int(found[2])):
            raise JobRequestError(f"The key {request.key!r} belongs to a task of the array {found[1]!r}.")
        for number in range(len(request.tasks)):
            key = task_key(request.key, number)
            if JobFolder(self.root, key).request_file.exists():
                raise JobRequestError(f"A task of the array would have the key {key!r}, which belongs to a job.")

    def has_task(self, number: int) -> bool:
        """Tell whether this is an array with a task of that number."""
        return self.request_file.exists() and number < len(self.request().tasks)


def tail_of(path: Path, *, last_lines: int | None = None, last_bytes: int = 65_536) -> LogTail:
    """Return the end of a log, which is empty if it is not there."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - last_bytes))
            data = file.read(last_bytes)
    except FileNotFoundError:
        return LogTail("", 0, truncated=False)
    if last_lines is not None:
        data = b"".join(data.splitlines(keepends=True)[-last_lines:]) if last_lines else b""
    return LogTail(data.decode("utf-8", "replace"), size, truncated=len(data) < size)


def find_job(root: Path, key: JobKey) -> tuple[JobFolder, int | None]:
    """Return the folder of a job, and the number of the task if the key is a task's.

    Raises:
        UnknownJobError: There is no such job.
    """
    folder = JobFolder(root.resolve(), key)
    if _FINDABLE.fullmatch(key):
        if folder.request_file.exists():
            return folder, None
        if found := _TASK_KEY.fullmatch(key):
            array = JobFolder(folder.root, JobKey(found[1]))
            if array.has_task(int(found[2])):
                return array, int(found[2])
    raise UnknownJobError(f"There is no job {key!r} in {str(root)!r}.")


def known_jobs(root: Path) -> list[JobKey]:
    """Return the keys of all jobs of a jobs folder, the oldest first."""
    made: list[tuple[int, str]] = []
    for file in root.glob(f"*/{REQUEST_FILE}"):
        with suppress(FileNotFoundError):  # somebody removed it in this moment
            made.append((file.stat().st_mtime_ns, file.parent.name))
    return [JobKey(key) for _, key in sorted(made)]


def sound_jobs(root: Path, keys: Iterable[JobKey]) -> tuple[list[JobKey], list[str]]:
    """Return those jobs whose folders can be read, and what is wrong with each of the others."""
    sound: list[JobKey] = []
    troubles: list[str] = []
    for key in keys:
        try:
            folder, _ = find_job(root, key)
            folder.request()
            folder.journal.events()
        except JobsError as error:
            troubles.append(str(error))
        else:
            sound.append(key)
    return sound, troubles


def runner_command(folder: JobFolder) -> tuple[str, ...]:
    """Return the command that runs a job, without the runner's own options.

    It names the runner's file and asks for the standard library alone, so that it starts quickly and works wherever
    this interpreter and this installation can be read.
    """
    return (sys.executable, "-I", "-S", str(Path(__file__).with_name("run_job.py")), str(folder.path))


def _as_text(request: JobRequest) -> str:
    fields = _REQUEST.dump_python(request, mode="json", exclude={"secrets"})
    return json.dumps({**fields, "secret_names": sorted(request.secrets)}, indent=1, ensure_ascii=False) + "\n"


def _runs(path: Path, request: JobRequest) -> Iterator[RunFolder]:
    if not request.tasks:
        yield RunFolder(path)
    for number in range(len(request.tasks)):
        yield RunFolder(path / "tasks" / str(number))
