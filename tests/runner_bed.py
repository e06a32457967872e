"""What tests of the runner share."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ekiden_jobs import JobKey, JobRequest
from ekiden_jobs.folder import JobFolder, RunFolder, runner_command
from ekiden_jobs.records import EndedRun, StartedRun

TIMEOUT_S = 30


class Job:
    """A job made by a test, and the runners it starts for it."""

    def __init__(self, place: Path, command: Sequence[str], **wishes: Any) -> None:
        self.work = place / "work"
        self.work.mkdir()
        request = JobRequest(JobKey("job"), tuple(command), self.work)
        self.folder = JobFolder.create(place / "jobs", replace(request, **wishes))
        self._meeting = place / "meeting"
        os.mkfifo(self._meeting)
        self._environment = {"MEET": str(self._meeting), "PATH": os.environ["PATH"]}

    def start(
        self, native_id: str = "1", *options: str, environment: Mapping[str, str] | None = None, deaf: bool = False
    ) -> subprocess.Popen[str]:
        """Start a runner; a deaf one hears no signal until it listens by itself."""
        told = ["--id", native_id] if native_id else []
        blocked = {signal.SIGTERM} if deaf else set[signal.Signals]()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        try:
            return subprocess.Popen(
                [*runner_command(self.folder), *told, *options],
                env={**self._environment, **(environment or {})},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def run(self, native_id: str = "1", *options: str, environment: Mapping[str, str] | None = None) -> int:
        """Run a runner to its end and return its exit code."""
        return finish(self.start(native_id, *options, environment=environment))[0]

    def hear(self) -> str:
        """Return what the program writes to the file named in $MEET, when it does."""
        with self._meeting.open() as meeting:
            return meeting.read().strip()

    def out(self, task: int | None = None) -> str:
        """Return what the program wrote."""
        return self.folder.run(task).tail("out").text

    def err(self) -> str:
        """Return what the program complained about."""
        return self.folder.run().tail("err").text


def finish(runner: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a runner; return its exit code and its complaints."""
    _, complaints = runner.communicate(timeout=TIMEOUT_S)
    return runner.returncode, complaints


def ended(run: RunFolder) -> EndedRun:
    """Return the record of a run that has ended."""
    record = run.ended()
    assert record is not None
    return record


def started(run: RunFolder) -> StartedRun:
    """Return the record of a run that has begun."""
    record = run.started()
    assert record is not None
    return record


def watch_end(pid: int) -> int:
    """Return what `wait_end` needs to know."""
    return os.pidfd_open(pid)


def wait_end(watched: int) -> bool:
    """Wait until a process has ended; tell whether it has."""
    readable, _, _ = select.select([watched], [], [], TIMEOUT_S)
    os.close(watched)
    return bool(readable)


def python(text: str) -> tuple[str, ...]:
    """Return the command that runs a Python program."""
    return (sys.executable, "-I", "-S", "-c", text)


def shell(text: str) -> tuple[str, ...]:
    """Return the command that runs a shell's program."""
    return ("/bin/sh", "-c", text)


def files_with(word: str, root: Path) -> list[str]:
    """Return the files below a folder that hold a word."""
    found = (path for path in root.rglob("*") if path.is_file() and word.encode() in path.read_bytes())
    return sorted(str(path.relative_to(root)) for path in found)


def claim_of(run: RunFolder) -> dict[str, object]:
    """Return what a claim says."""
    return json.loads(run.claim.read_text())
