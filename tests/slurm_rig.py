"""A real Slurm cluster for tests: several nodes with GPUs, all on this host and in one folder.

    with SlurmRig(tmp_path / "rig", accounting="slurmdbd") as rig:
        rig.command("sbatch", "--parsable", "--wrap", "hostname", check=True)
        rig.drain("n2", "a test")
        ...

Nothing of it is installed as a service, and two clusters do not meet. It runs as whoever runs the tests. There are
three partitions: `main`, `urgent`, and `spare`, whose jobs go back into the queue when another needs their place.
By hand: `python -m slurm_rig FOLDER --accounting slurmdbd` in the folder `tests`.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from ekiden_warden import end_strays
from slurm_rig_daemons import Daemon, RigError, end_steps, wait_until
from slurm_rig_files import ACCOUNT, CLUSTER, Accounting, layout, write_files

__all__ = ["ACCOUNT", "Accounting", "RigError", "SlurmRig", "missing_programs"]

PACKAGES: Mapping[str, str] = {
    "munged": "munge",
    "slurmctld": "slurm-wlm",
    "slurmd": "slurm-wlm",
    "sbatch": "slurm-wlm",
    "slurmdbd": "slurmdbd",
    "mariadbd": "mariadb-server",
}
_FOR_ACCOUNTING = ("slurmdbd", "mariadbd")
_OF_SLURM = ("SLURM_", "SBATCH_", "SQUEUE_", "SACCT_", "SCANCEL_", "SINFO_", "SALLOC_", "SRUN_", "PMI")
_LONGEST_PATH = 80  # a socket's path may have 107 bytes
START_S = 60.0
CLIENT_S = 60.0


def missing_programs(accounting: Accounting = "none") -> str:
    """Say which programs are not here that such a cluster needs, and how to get them; nothing if all are."""
    needed = [name for name in PACKAGES if accounting == "slurmdbd" or name not in _FOR_ACCOUNTING]
    missing = [name for name in needed if _program(name) is None]
    packages = " ".join(sorted({PACKAGES[name] for name in missing}))
    return f"not here: {', '.join(missing)} (Debian: apt-get install {packages})" if missing else ""


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")


class SlurmRig:
    """A cluster; a context manager.

    Attributes:
        root: Its folder.
        nodes: The names of its nodes, each of 8 CPUs, 16,000 MB and 4 GPUs of the type `lovelace_l40`.
        conf: Its `slurm.conf`.
        env: A whole environment for clients, with nothing of another cluster or job in it.
        finished_jobs: The file with a line a finished job, where accounting is `filetxt`.
    """

    def __init__(
        self,
        root: Path,
        nodes: int = 3,
        accounting: Accounting = "none",
        *,
        requeue_delay_s: int = 10,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Describe a cluster.

        Args:
            root: A folder that is not there yet.
            nodes: How many nodes it has.
            accounting: Where it keeps finished jobs: nowhere, in a text file, or in a database.
            requeue_delay_s: How long a job that was put back waits; Slurm's own default is 120.
            settings: Lines of slurm.conf by their name, over ours, as in `{"MinJobAge": "5"}`.
        """
        if len(str(root.absolute())) > _LONGEST_PATH:
            raise RigError(f"The path {str(root)!r} is too long for a socket in it: choose one under {_LONGEST_PATH}.")
        self._place = layout(root.absolute(), nodes)
        self._requeue_delay_s = requeue_delay_s
        self._settings = dict(settings or {})
        self._stack = ExitStack()
        self.accounting: Accounting = accounting
        self.root = self._place.root
        self.nodes = self._place.nodes
        self.conf = self._place.conf
        self.finished_jobs = self._place.finished_jobs
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_SLURM)}
        self.env = kept | {"SLURM_CONF": str(self.conf)}
        self._munged = self._daemon(
            "munged", "--foreground", "--force", f"--socket={self._place.munge_socket}",
            f"--key-file={self._place.munge_key}", f"--pid-file={self.root}/run/munged.pid",
            f"--log-file={self._place.logs}/munged-own.log", f"--seed-file={self.root}/state/munged.seed",
        )  # fmt: skip
        self._dbd = self._daemon("slurmdbd", "-D")
        self._controller = self._daemon("slurmctld", "-D", "-f", self.conf)
        self._slurmds = {
            node: self._daemon("slurmd", "-D", "-f", self.conf, "-N", node, name=node) for node in self.nodes
        }

    def _daemon(self, program: str, *arguments: str | Path, name: str | None = None) -> Daemon:
        name = name or program
        command = [_program(program) or program, *arguments]
        return Daemon(name, command, self.env, self._place.logs, self._place.spool(name))

    def __enter__(self) -> Self:
        """Start it, and wait until every node is idle.

        Raises:
            RigError: It did not come up; nothing of it runs.
        """
        if missing := missing_programs(self.accounting):
            raise RigError(missing)
        self.root.mkdir(parents=True)
        with ExitStack() as stack:
            write_files(self._place, self.accounting, self._requeue_delay_s, self._settings)
            stack.callback(end_strays, "SLURM_CONF", str(self.conf))
            self._start(self._munged, stack)
            munge = ("munge", "-n", "-S", str(self._place.munge_socket))
            self._wait(lambda: self._succeeds(*munge), "munged answering", self._munged)
            if self.accounting == "slurmdbd":
                self._start_accounting(stack)
            stack.callback(self._controller.stop)
            self.start_controller()
            for slurmd in self._slurmds.values():
                self._start(slurmd, stack)
            self._wait(self._all_idle, "all nodes being idle", *self._slurmds.values())
            stack.callback(self._end_jobs)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End its jobs, and stop it from the last to the first."""
        self._stack.close()

    def _start(self, daemon: Daemon, stack: ExitStack) -> None:
        stack.callback(daemon.stop)
        daemon.start()

    def _start_accounting(self, stack: ExitStack) -> None:
        place = self._place
        database = ("--no-defaults", f"--datadir={place.database}", f"--user={place.user}")
        install = subprocess.run(
            ["mariadb-install-db", *database, "--skip-test-db", "--auth-root-authentication-method=normal"],
            env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=START_S, check=False,
        )  # fmt: skip
        if install.returncode:
            raise RigError(f"mariadb-install-db ended with {install.returncode}:\n{install.stdout}{install.stderr}")
        mariadb = self._daemon(
            "mariadbd", *database, "--bind-address=127.0.0.1", f"--port={place.database_port}", "--skip-grant-tables",
            f"--socket={self.root}/run/mariadb.sock", f"--pid-file={self.root}/run/mariadb.pid", "--skip-name-resolve",
            "--innodb-buffer-pool-size=32M", "--innodb-flush-log-at-trx-commit=0", "--innodb-lock-wait-timeout=900",
        )  # fmt: skip
        self._start(mariadb, stack)
        ask = ("mariadb-admin", "--no-defaults", f"--socket={self.root}/run/mariadb.sock", "ping")
        self._wait(lambda: self._succeeds(*ask), "MariaDB answering", mariadb)
        self._start(self._dbd, stack)
        self._wait(lambda: self._succeeds("sacctmgr", "-n", "show", "cluster"), "slurmdbd answering", self._dbd)
        self.command("sacctmgr", "-i", "add", "cluster", CLUSTER, check=True)
        self.command("sacctmgr", "-i", "add", "account", ACCOUNT, f"cluster={CLUSTER}", check=True)
        self.command("sacctmgr", "-i", "add", "user", place.user, f"account={ACCOUNT}", check=True)

    def _wait(self, question: Callable[[], bool], what: str, *needed: Daemon) -> None:
        told = [self._munged, self._controller]
        wait_until(question, what, START_S, needed=needed, told=[one for one in told if one not in needed])

    def _succeeds(self, *command: str) -> bool:
        return self.command(*command).returncode == 0

    def _all_idle(self) -> bool:
        seen = self.command("sinfo", "-h", "-N", "-p", "main", "-o", "%N %T").stdout.split("\n")[:-1]
        return sorted(seen) == [f"{node} idle" for node in sorted(self.nodes)]

    def _end_jobs(self) -> None:
        """End all jobs while there is somebody to end them, so that they leave no process behind."""
        self.thaw_controller()
        if self._controller.pid is None or not self.command("squeue", "-h").stdout.strip():
            return
        self.command("scancel", "-s", "KILL", "-b", f"--user={self._place.user}")
        self.command("scancel", f"--user={self._place.user}")

    def command(
        self, *command: str | Path, check: bool = False, given: str | None = None, timeout_s: float = CLIENT_S
    ) -> subprocess.CompletedProcess[str]:
        """Run a client of the cluster, such as `sbatch`, to its end.

        Args:
            command: The program and its arguments.
            check: Whether its failure is an error.
            given: What it reads.
            timeout_s: How long at most.

        Raises:
            RigError: It failed, and `check` is set.
        """
        arguments = [str(part) for part in command]
        done = subprocess.run(
            arguments, env=self.env, input=given or "", capture_output=True, text=True, timeout=timeout_s, check=False
        )
        if check and done.returncode:
            raise RigError(
                f"{arguments!r} ended with {done.returncode}: {done.stderr.strip()}\n{self._controller.tail()}"
            )
        return done

    def start_controller(self, *, with_nodes: bool = True) -> None:
        """Start the controller, and wait until it answers.

        Args:
            with_nodes: Whether to wait, some four seconds, until it has found the nodes too whose daemons run.
        """
        self._controller.start()
        self._wait(lambda: self._succeeds("scontrol", "ping"), "the controller answering", self._controller)
        there = [node for node, slurmd in self._slurmds.items() if slurmd.pid is not None]
        if with_nodes:
            self._wait(lambda: all(map(self._answers, there)), f"{', '.join(there)} answering", self._controller)

    def stop_controller(self) -> None:
        """Have the controller save its state and end; jobs go on."""
        self._controller.stop()

    def restart_controller(self, *, with_nodes: bool = True) -> None:
        """Stop the controller, which saves its state, and start it again as `start_controller` does."""
        self.stop_controller()
        self.start_controller(with_nodes=with_nodes)

    def kill_controller(self) -> None:
        """End the controller at once; jobs go on, as far as it had written them down.

        It writes some five seconds after each change. A younger job is forgotten and ended when the controller is
        back, and its id is given to another one. `restart_controller` writes everything.
        """
        self._controller.kill()

    def freeze_controller(self) -> None:
        """Have the controller accept connections and answer nothing, until `thaw_controller`."""
        self._controller.send(signal.SIGSTOP)

    def thaw_controller(self) -> None:
        """Let a frozen controller go on; it then does what it was asked meanwhile."""
        self._controller.send(signal.SIGCONT)

    @contextmanager
    def without_accounting(self) -> Generator[None]:
        """Have slurmdbd be away for a while; what happens meanwhile is told to it later."""
        self._dbd.stop()
        try:
            yield
        finally:
            self._dbd.start()
            self._wait(lambda: self._succeeds("sacctmgr", "-n", "show", "cluster"), "slurmdbd answering", self._dbd)

    def time_out(self, job: str) -> None:
        """Take a running job's time away: it ends by its limit within half a minute, Slurm's step of looking.

        Limits are whole minutes otherwise, so a job of the shortest one lives for up to a minute and a half.
        """
        self.command("scontrol", "update", f"jobid={job}", "timelimit=0", check=True)

    def skip_delay(self, job: str) -> None:
        """Let a job that was put back into the queue start as soon as it can.

        A node refuses for good what starts in the second in which it ended the run before.
        """
        self.command("scontrol", "update", f"jobid={job}", "starttime=now+2", check=True)

    def drain(self, node: str, reason: str) -> None:
        """Give a node no more work; what runs there goes on."""
        self._update(node, "state=drain", f"reason={reason}")

    def resume(self, node: str) -> None:
        """Give a drained or failed node work again."""
        self._update(node, "state=resume")

    def _update(self, node: str, *changes: str) -> None:
        self.command("scontrol", "update", f"nodename={node}", *changes, check=True)

    def stop_node(self, node: str) -> None:
        """Have a node's daemon end; its jobs go on, and a daemon that is started in time finds them."""
        self._slurmds[node].stop()

    def start_node(self, node: str) -> None:
        """Start a node's daemon, and wait until the controller counts on the node."""
        slurmd = self._slurmds[node]
        slurmd.start()
        self._wait(lambda: self._answers(node), f"{node} answering", slurmd)

    def _answers(self, node: str) -> bool:
        """Whether the controller has work for this node; a star after its state says that it does not answer."""
        state = self.command("sinfo", "-h", "-n", node, "-p", "main", "-o", "%T").stdout.strip()
        return state.isalpha() and state not in {"down", "unknown", "failing"}

    def fail_node(self, node: str) -> None:
        """Have a node lose power: its daemon and its jobs end at once, and the controller is told.

        Untold, the controller would find out by itself after `SlurmdTimeout`. `start_node` brings the node back.
        """
        self._slurmds[node].kill()
        end_steps(self._place.spool(node), self.conf, node)
        self._update(node, "state=down", "reason=lost its power")


def main() -> None:
    """Start a cluster, and keep it until the end of the input."""
    parser = argparse.ArgumentParser(description="Start a Slurm cluster of emulated nodes; it ends with the input.")
    parser.add_argument("folder", type=Path, help="not there yet")
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--accounting", choices=("none", "filetxt", "slurmdbd"), default="none")
    given = parser.parse_args()
    with SlurmRig(given.folder, given.nodes, given.accounting) as rig:
        print(f"export SLURM_CONF={rig.conf}", flush=True)
        with suppress(KeyboardInterrupt):
            sys.stdin.read()


if __name__ == "__main__":
    main()
