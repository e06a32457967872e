"""Slurm's commands: run in an environment of nobody else's settings, bounded in time, counted, and understood."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Literal

from ekiden_config import SlurmSettings
from ekiden_jobs import ExecutorUnavailableError, SubmissionError
from ekiden_slurm.refusals import meaning_of
from ekiden_slurm.texts import (
    ACCOUNTING_FORMAT,
    QUEUE_FORMAT,
    SEPARATOR,
    TIME_FORMAT,
    JobRow,
    read_accounting,
    read_job_id,
    read_queue,
    read_settings,
)

Program = Literal["sbatch", "squeue", "sacct", "scontrol", "sinfo", "scancel"]
PROGRAMS: tuple[Program, ...] = ("sbatch", "squeue", "sacct", "scontrol", "sinfo", "scancel")

KEPT = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "SLURM_CONF", "SLURM_CONF_SERVER", "TZ", "USER")
"""The variables that the commands get of ours, and that jobs get with them: no secrets, and none that steer them."""
_MOST_NAMES = 200
"""The most jobs that are named in one question; of more, all of the user's are asked for."""
_CLOCKS_DIFFER = timedelta(minutes=10)
"""By how much the clock of this machine may be ahead of the cluster's."""
_NO_SUCH_JOB = "invalid job id specified"
_NO_ACCOUNTING = "accounting storage is disabled"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command printed.

    Attributes:
        exit_code: Its exit code, negative for a signal; None when it did not end in time.
        stdout: Its output.
        stderr: Its errors.
    """

    exit_code: int | None
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job that was taken.

    Attributes:
        job_id: Its number.
        warnings: What sbatch said besides.
    """

    job_id: str
    warnings: str


@dataclass(frozen=True, slots=True)
class Unclear:
    """A submission of which nobody knows whether a job came of it.

    Attributes:
        text: What sbatch said, or what happened to it.
    """

    text: str


class SlurmCommands:
    """Slurm as its commands tell it; for threads."""

    def __init__(self, settings: SlurmSettings, environ: Mapping[str, str] | None = None) -> None:
        """Take the settings, and the environment in place of the process's own."""
        self._settings = settings
        given = os.environ if environ is None else environ
        self._path = given.get("PATH", os.defpath)
        # hosts of MCP servers hand on an empty SLURM_CONF where there is none; it would be looked for as a file
        kept = {name: value for name, value in given.items() if value and (name in KEPT or name.startswith("LC_"))}
        self._environment = {"PATH": os.defpath, **kept}
        self._counts: Counter[Program] = Counter()
        self._lock = Lock()  # guards the counts
        self._accounting: bool | None = None

    @property
    def issued(self) -> Mapping[Program, int]:
        """How often each command was run."""
        with self._lock:
            return dict(self._counts)

    @property
    def environment(self) -> Mapping[str, str]:
        """What `sbatch` runs with; a job starts from it too."""
        return dict(self._environment)

    def where(self, program: Program) -> str | None:
        """Return where a command is; None if it is not here."""
        configured: str = getattr(self._settings.programs, program)
        found = shutil.which(Path(configured or program).expanduser(), path=self._path)
        return found and str(Path(found).absolute())

    def submit(self, script: str, options: Sequence[str] = ()) -> Submitted | Unclear:
        """Submit a script once.

        Args:
            script: The whole script, from `#!` on.
            options: Options for sbatch, stronger than the script's own.

        Returns:
            Its number, or that nobody knows whether there is a job now: look for it before another try.

        Raises:
            SubmissionError: Slurm turned it away for good; the message holds its words.
            ExecutorUnavailableError: Surely no job came of it, and a later try may succeed.
        """
        command = ["--parsable", "--export=ALL", *options]
        answer = self._run("sbatch", command, self._settings.submit_timeout_s, given=script)
        said = answer.stderr.strip()
        if answer.exit_code is None:
            return Unclear(f"sbatch did not end within {self._settings.submit_timeout_s:g} seconds. {said}".strip())
        if answer.exit_code == 0:
            job_id = read_job_id(answer.stdout)
            return Submitted(job_id, said) if job_id else Unclear(f"sbatch printed no number: {answer.stdout!r} {said}")
        match meaning_of(answer.exit_code, answer.stderr):
            case "final":
                raise SubmissionError(f"Slurm turned the job away: {_plain(said, 'sbatch')}")
            case "later":
                raise ExecutorUnavailableError(f"Slurm takes no more jobs now: {_plain(said, 'sbatch')}")
            case "unclear":
                return Unclear(_plain(said, "sbatch") or f"sbatch ended with {answer.exit_code} and said nothing.")

    def queue(self, *, ids: Sequence[str] = (), names: Sequence[str] = ()) -> list[JobRow]:
        """Return the user's jobs that the controller has in memory, by one question: also those that ended lately.

        Args:
            ids: Numbers of jobs or arrays; none: any.
            names: Names of jobs; none: any.

        Raises:
            ExecutorUnavailableError: The controller cannot be asked, or its answer not be read.
        """
        options = ["-h", "-r", "-t", "all", "--me", "-O", QUEUE_FORMAT, *_selection(ids, names)]
        answer = self._ask("squeue", options, allowed=_NO_SUCH_JOB)
        return _selected(read_queue(answer), ids, names)

    def accounting(self, *, since: datetime, ids: Sequence[str] = (), names: Sequence[str] = ()) -> list[JobRow] | None:
        """Return what accounting knows of the user's jobs, by one question; None where the site keeps no accounting.

        What is missing may be recorded later. That there is no accounting is found out once.

        Args:
            since: When the oldest of them was submitted, or before.
            ids: Numbers of jobs or arrays; none: any.
            names: Names of jobs; none: any.

        Raises:
            ExecutorUnavailableError: Accounting cannot be asked, or its answer not be read.
        """
        if self._accounting is False or self.where("sacct") is None:
            return None
        start = (since.astimezone(UTC) - _CLOCKS_DIFFER).strftime("%Y-%m-%dT%H:%M:%S")
        options = ["-D", "-X", "-n", "-p", f"--delimiter={SEPARATOR}", "-S", start, "-E", "now+1days"]
        options += ["-o", ACCOUNTING_FORMAT, *_selection(ids, names)]
        answer = self._run("sacct", options, self._settings.query_timeout_s, TZ="UTC")
        if _NO_ACCOUNTING in answer.stderr.lower():
            self._accounting = False
            return None
        rows = read_accounting(self._output("sacct", answer))
        self._accounting = True
        return _selected(rows, ids, names)

    def cancel(self, ids: Sequence[str]) -> None:
        """End jobs, arrays, or tasks as `7_3`; those that are over or unknown are passed over.

        Raises:
            ExecutorUnavailableError: The controller cannot be asked, or does not let us.
        """
        if ids:
            self._ask("scancel", list(ids), allowed=_NO_SUCH_JOB)

    def answers(self) -> bool:
        """Tell whether a controller answers."""
        try:
            return self._run("scontrol", ["ping"], self._settings.query_timeout_s).exit_code == 0
        except ExecutorUnavailableError:
            return False

    def configuration(self) -> dict[str, str]:
        """Return the cluster's settings, such as `MinJobAge`.

        Raises:
            ExecutorUnavailableError: The controller cannot be asked.
        """
        return read_settings(self._ask("scontrol", ["show", "config"]))

    def version(self, program: Program) -> str:
        """Return a command's version, as `22.05.8`.

        Raises:
            ExecutorUnavailableError: It is not here, or does not run.
        """
        return self._ask(program, ["--version"]).strip().rpartition(" ")[2]

    def ask(self, program: Literal["sinfo", "scontrol"], options: Sequence[str]) -> str:
        """Return what a command prints that changes nothing.

        Raises:
            ExecutorUnavailableError: It cannot be asked.
        """
        return self._ask(program, options)

    def _ask(self, program: Program, options: Sequence[str], *, allowed: str = "") -> str:
        answer = self._run(program, options, self._settings.query_timeout_s)
        if allowed and answer.exit_code and allowed in answer.stderr.lower():
            return answer.stdout
        return self._output(program, answer)

    def _output(self, program: Program, answer: Answer) -> str:
        if answer.exit_code is None:
            limit = self._settings.query_timeout_s
            raise ExecutorUnavailableError(f"{program} did not answer within {limit:g} seconds; try again later.")
        if answer.exit_code:
            said = _plain(answer.stderr.strip(), program) or f"it ended with {answer.exit_code} and said nothing"
            raise ExecutorUnavailableError(f"{program} failed: {said}")
        return answer.stdout

    def _run(
        self, program: Program, options: Sequence[str], timeout_s: float, *, given: str = "", **variables: str
    ) -> Answer:
        """Run a command to its end or for as long as it may; Ctrl-C at a terminal does not reach it.

        It runs in the root folder, since sbatch refuses to work where ours is gone.
        """
        if (path := self.where(program)) is None:
            raise ExecutorUnavailableError(
                f"There is no {program!r} here: install Slurm's commands, or say in slurm.programs where they are."
            )
        if program != "sbatch":  # it would reach the job
            variables["SLURM_TIME_FORMAT"] = TIME_FORMAT
        with self._lock:
            self._counts[program] += 1
        try:
            process = subprocess.Popen(
                [path, *options], env=self._environment | variables, cwd="/", stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace",
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise ExecutorUnavailableError(f"{path!r} cannot be run: {error.strerror}.") from error
        with process:
            try:
                stdout, stderr = process.communicate(given, timeout_s)
            except subprocess.TimeoutExpired:
                return Answer(None, "", _end(process))
            except BaseException:
                _end(process)
                raise
        return Answer(process.returncode, stdout, stderr)


def _selection(ids: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the options that ask for some jobs alone, where they are not too many to be named."""
    asked = {"jobs": ids, "name": names}
    return [f"--{option}={','.join(values)}" for option, values in asked.items() if 0 < len(values) <= _MOST_NAMES]


def _selected(rows: Sequence[JobRow], ids: Sequence[str], names: Sequence[str]) -> list[JobRow]:
    wanted, called = set(ids), set(names)
    return [
        row
        for row in rows
        if (not ids or row.job_id in wanted or row.array_id in wanted) and (not names or row.name in called)
    ]


def _end(process: subprocess.Popen[str]) -> str:
    """End a command and all that it started; return what it said to its standard error."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):  # a grandchild in another group may hold the pipe
        return process.communicate(timeout=5)[1]
    return ""


def _plain(text: str, program: str) -> str:
    """Leave out what a command puts before its words."""
    return "; ".join(line.removeprefix(f"{program}: ").removeprefix("error: ") for line in text.splitlines())
