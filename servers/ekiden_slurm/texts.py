"""What Slurm's commands print: every text is read here, and nothing is run."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from ekiden_jobs import ExecutorUnavailableError
from ekiden_policies.jobs import Seen

SEPARATOR = "\x1f"
"""Ends each field of a row: names and comments may hold anything else, line ends included."""
TIME_FORMAT = "%s"
"""What `SLURM_TIME_FORMAT` must be, so that times are seconds since 1970 and no time zone matters."""

_QUEUE_FIELDS = {
    "job_id": "JobID", "array_id": "ArrayJobID", "task": "ArrayTaskID", "state": "State", "reason": "Reason",
    "exit": "exit_code", "restarts": "RestartCnt", "submitted": "SubmitTime", "started": "StartTime",
    "ended": "EndTime", "node": "NodeList", "partition": "Partition", "name": "Name", "comment": "Comment",
}  # fmt: skip
QUEUE_FORMAT = ",".join(f"{field}:{SEPARATOR}" for field in _QUEUE_FIELDS.values())
"""What `squeue -O` must be told."""
_ACCOUNTING_FIELDS = {
    "job_id": "JobIDRaw", "array_task": "JobID", "state": "State", "reason": "Reason", "exit": "ExitCode",
    "submitted": "Submit", "started": "Start", "ended": "End", "node": "NodeList", "partition": "Partition",
    "name": "JobName", "comment": "Comment",
}  # fmt: skip
ACCOUNTING_FORMAT = ",".join(_ACCOUNTING_FIELDS.values())
"""What `sacct -o` must be told."""
_NOTHING = frozenset({"", "N/A", "n/a", "(null)", "None", "NONE", "None assigned", "Unknown"})


class UnreadableAnswerError(ExecutorUnavailableError):
    """A command of Slurm printed what cannot be understood."""

    def __init__(self, program: str, text: str) -> None:
        """Quote the text."""
        super().__init__(f"{program} printed what cannot be read: {text[:200]!r}. Try again, or run it by hand.")


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job, or a task of an array, as Slurm tells it.

    Attributes:
        job_id: Its own number. A waiting task has its array's, and the last task keeps that.
        array_id: The number of its array; its own if it is in none.
        tasks: Its number in the array; several for tasks that wait together; none of a job that is in no array.
        name: Its name.
        comment: Its comment.
        state: Slurm's word, as `RUNNING` or `CANCELLED by 0`.
        reason: Why it waits or how it ended.
        exit_code: The exit code it tells, 0 before the end. Accounting's is wrong above 127.
        signal: The signal that ended it.
        restarts: How often it was put back.
        submitted_at: When it was submitted; after it was put back, when that was.
        started_at: When it began; of a waiting job, when Slurm thinks it will.
        ended_at: When it ended; of a running job, when its time will be up.
        node: Where it runs or ran; empty before.
        partition: Its partition.
    """

    job_id: str
    array_id: str
    tasks: tuple[int, ...]
    name: str
    comment: str
    state: str
    reason: str
    exit_code: int | None
    signal: int | None
    restarts: int
    submitted_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    node: str
    partition: str

    @property
    def never_ran(self) -> bool:
        """Whether it was turned away after it had got a number."""
        at_once = self.started_at is not None and self.started_at == self.ended_at
        return self.reason == "BadConstraints" or (self.state == "FAILED" and not self.node and at_once)

    def seen(self) -> Seen:
        """Return it as what decisions take."""
        return Seen(self.state, self.reason, self.exit_code, self.signal, self.restarts, self.never_ran)


def read_job_id(stdout: str) -> str | None:
    """Return the number that `sbatch --parsable` printed, as `7` or `7;cluster`; None if there is none."""
    found: list[str] = re.findall(r"^([0-9]+)(?:;\S*)?[ \t]*$", stdout, re.MULTILINE)
    return found[-1] if found else None


def read_queue(text: str) -> list[JobRow]:
    """Return the jobs that `squeue -h -r -O QUEUE_FORMAT` printed.

    Raises:
        UnreadableAnswerError: It is something else.
    """
    rows = read_records("squeue", text, _QUEUE_FIELDS)
    try:
        return [_row(row) for row in rows]
    except ValueError as error:
        raise UnreadableAnswerError("squeue", text) from error


def read_accounting(text: str) -> list[JobRow]:
    """Return the jobs that `sacct -D -X -n -p -o ACCOUNTING_FORMAT` printed: of each its last run.

    Raises:
        UnreadableAnswerError: It is something else.
    """
    rows = read_records("sacct", text, _ACCOUNTING_FIELDS)
    last: dict[tuple[str, str], JobRow] = {}
    try:
        for row in rows:
            array_id, _, task = row["array_task"].partition("_")
            # an earlier job of the same number was another one, known by its name and comment
            key = (row["array_task"], row["comment"] or row["name"])
            restarts = last[key].restarts + 1 if key in last else 0
            last[key] = _row(row | {"array_id": array_id, "task": task, "restarts": str(restarts)})
    except ValueError as error:
        raise UnreadableAnswerError("sacct", text) from error
    return list(last.values())


def read_records(program: str, text: str, names: Collection[str]) -> list[dict[str, str]]:
    """Cut what a command printed into rows of fields, each of which ends with the separator.

    Raises:
        UnreadableAnswerError: It is not rows of so many fields.
    """
    pieces = text.split(SEPARATOR)
    rest = pieces.pop()
    if len(pieces) % len(names) or rest.strip():
        raise UnreadableAnswerError(program, text)
    return [
        dict(zip(names, [pieces[at].removeprefix("\n"), *pieces[at + 1 : at + len(names)]], strict=True))
        for at in range(0, len(pieces), len(names))
    ]


def _row(fields: Mapping[str, str]) -> JobRow:
    job_id, array_id, state = fields["job_id"], fields["array_id"], fields["state"].strip()
    if not job_id.isdecimal() or not array_id.isdecimal() or not re.match(r"[A-Z_]+\b", state):
        raise ValueError(fields)
    exit_code, signal = read_exit(fields["exit"])
    return JobRow(
        job_id=job_id,
        array_id=array_id,
        tasks=read_tasks(fields["task"]),
        name=fields["name"],
        comment=_text(fields["comment"]),
        state=state,
        reason=_text(fields["reason"]),
        exit_code=exit_code,
        signal=signal,
        restarts=int(fields["restarts"]),
        submitted_at=read_time(fields["submitted"]),
        started_at=read_time(fields["started"]),
        ended_at=read_time(fields["ended"]),
        node=_text(fields["node"]),
        partition=_text(fields["partition"]),
    )


def read_exit(text: str) -> tuple[int | None, int | None]:
    """Return the exit code and the signal of `3:0`, or of the status of a wait as `768`.

    Raises:
        ValueError: It is neither.
    """
    if _text(text) == "":
        return None, None
    first, colon, second = text.partition(":")
    code, signal = (int(first), int(second)) if colon else (int(first) >> 8, int(first) & 127)
    return (None, signal) if signal else (code, None)


def read_tasks(text: str) -> tuple[int, ...]:
    """Return the numbers of tasks of `3`, or of those that wait together as `[2-5,9-13:2%2]`; none of `N/A`.

    Raises:
        ValueError: It is something else.
    """
    numbers: list[int] = []
    for part in _text(text.strip("[]").partition("%")[0]).split(","):
        if not part:
            continue
        ends, _, step = part.partition(":")
        first, _, last = ends.partition("-")
        numbers += range(int(first), int(last or first) + 1, int(step or 1))
    return tuple(numbers)


def read_time(text: str) -> datetime | None:
    """Return a time of `TIME_FORMAT`; None where there is none."""
    return datetime.fromtimestamp(int(text), UTC) if text.isdecimal() and int(text) else None


def read_settings(text: str) -> dict[str, str]:
    """Return the settings that `scontrol show config` printed, by name."""
    found: list[tuple[str, str]] = re.findall(r"^([\w\[\]]+)\s+= ?(.*?)\s*$", text, re.MULTILINE)
    return dict(found)


def _text(text: str) -> str:
    return "" if text.strip() in _NOTHING else text.strip()
