"""The daemons of a test cluster: each a child of this process, so none stays a zombie, with a log of its own."""

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

LONGEST_STOP_S = 15.0
TOLD_LINES = 15


class RigError(Exception):
    """The cluster cannot be started, or does not do what it was asked; the message has the ends of its logs."""


class Daemon:
    """A program that runs in the foreground as our child, in a folder of its own; it can be started again."""

    def __init__(
        self, name: str, command: Sequence[str | Path], environment: Mapping[str, str], logs: Path, folder: Path
    ) -> None:
        self.name = name
        self.log = logs / f"{name}.log"
        self._folder = folder
        self._command = [str(part) for part in command]
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """Its process while it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def start(self) -> None:
        """Start it unless it runs."""
        if self.pid is not None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def stop(self) -> None:
        """Have it end by itself, or kill it if it does not."""
        self.send(signal.SIGTERM)
        self.send(signal.SIGCONT)
        if self._process is None:
            return
        try:
            self._process.wait(LONGEST_STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it at once, as when its machine loses power."""
        self.send(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def tail(self) -> str:
        """Return the last lines of its log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines() if self.log.exists() else []
        state = "runs" if self.pid is not None else f"ended with {self._process.returncode if self._process else None}"
        return "\n".join([f"-- {self.name} ({state}), {self.log}:", *lines[-TOLD_LINES:]])


def wait_until(
    question: Callable[[], bool], what: str, timeout_s: float, *, needed: Sequence[Daemon], told: Sequence[Daemon] = ()
) -> None:
    """Ask, less and less often, until the answer is yes.

    Args:
        question: What is asked.
        what: What is waited for, for the message.
        timeout_s: How long at most.
        needed: Daemons without which it will never be; the wait ends when one of them does.
        told: Further daemons whose logs belong in the message.

    Raises:
        RigError: It did not come to be.
    """
    end, pause = time.monotonic() + timeout_s, 0.02
    while not question():
        ended = [daemon.name for daemon in needed if daemon.pid is None]
        if ended or time.monotonic() > end:
            why = f"{', '.join(ended)} ended before" if ended else f"{timeout_s:g} s went by without"
            logs = "\n".join(daemon.tail() for daemon in (*needed, *told))
            raise RigError(f"{why} {what}.\n{logs}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.5)


def end_steps(spool: Path, conf: Path, node: str) -> None:
    """Kill the jobs of a node whose daemon is dead, first those who would tell the controller of their end."""
    for step in list(psutil.process_iter()):
        with contextlib.suppress(psutil.Error, OSError):
            if step.name() == "slurmstepd" and step.cwd() == str(spool):  # as its daemon was, before it took its name
                step.kill()
                step.wait(LONGEST_STOP_S)
    for process in list(psutil.process_iter()):
        with contextlib.suppress(psutil.Error, OSError):
            variables = process.environ()
            if (variables.get("SLURM_CONF"), variables.get("SLURMD_NODENAME")) == (str(conf), node):
                process.kill()
