"""Jobs beside submitit's: `python tests/benchmarks/slurm_beside_submitit.py [--jobs N]`; needs Slurm installed.

Both submit the same work to one real cluster and follow it to its end: first as one array, then one job at a time, in
turns. Told are the wall time until the last job is known to have ended, that of the submissions alone, and how many of
Slurm's commands were issued, as a wrapper in front of each counts them.

The work is a program that ends at once. submitit submits functions: it starts a Python for each job, and so does ours,
whose runner is one. Both look as often as they do by default; ours may submit as often as it likes here.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import submitit

from ekiden_config import default_settings
from ekiden_jobs import JobKey, JobRequest, Resources
from ekiden_slurm.executor import SlurmExecutor

PROGRAMS = ("sbatch", "squeue", "sacct", "scontrol", "sinfo", "scancel")
WORK = ("true",)
MEMORY_MB = 100


@dataclass(frozen=True)
class Taken:
    """What a side took for one case."""

    submitting_s: float
    all_s: float
    commands: Counter[str]


class Counted:
    """Slurm's commands behind wrappers that write down each call; first on the PATH."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._log = folder / "calls"
        for program in PROGRAMS:
            wrapper = folder / program
            wrapper.write_text(f'#!/bin/sh\necho {program} >> "{self._log}"\nexec "{shutil.which(program)}" "$@"\n')
            wrapper.chmod(0o755)

    def forget(self) -> None:
        """Begin to count anew."""
        self._log.write_text("", encoding="utf-8")

    def read(self) -> Counter[str]:
        """Return how often each was called."""
        return Counter(self._log.read_text(encoding="utf-8").split())


def timed(counted: Counted, submit: Callable[[], Callable[[], None]]) -> Taken:
    """Run a case: `submit` returns what waits for the jobs."""
    counted.forget()
    began = time.perf_counter()
    wait = submit()
    submitted = time.perf_counter()
    wait()
    return Taken(submitted - began, time.perf_counter() - began, counted.read())


class Ours:
    """Ekiden's executor."""

    name = "ekiden"

    def __init__(self, folder: Path) -> None:
        settings = default_settings().slurm.model_copy(update={"submissions_per_minute": 6000})
        self._executor = SlurmExecutor(folder / "jobs", settings)
        self._folder = folder

    def array(self, jobs: int) -> Callable[[], None]:
        """Submit one array."""
        request = JobRequest(JobKey("array"), WORK, self._folder, resources=_resources(), tasks=((),) * jobs)
        self._executor.submit(request)
        return lambda: self._wait([request.key])

    def singles(self, jobs: int) -> Callable[[], None]:
        """Submit one job after the other."""
        keys = [JobKey(f"single-{number}") for number in range(jobs)]
        for key in keys:
            self._executor.submit(JobRequest(key, WORK, self._folder, resources=_resources()))
        return lambda: self._wait(keys)

    def _wait(self, keys: Sequence[JobKey]) -> None:
        ended = self._executor.wait(keys)
        assert {status.outcome for status in ended.values()} == {"ok"}


class Submitit:
    """submitit's executor."""

    name = "submitit"

    def __init__(self, folder: Path) -> None:
        self._executor = submitit.AutoExecutor(folder / "jobs", cluster="slurm")
        self._executor.update_parameters(timeout_min=10, cpus_per_task=1, slurm_mem=f"{MEMORY_MB}M")

    def array(self, jobs: int) -> Callable[[], None]:
        """Submit one array."""
        submitted = self._executor.map_array(subprocess.check_call, [WORK] * jobs)
        return lambda: _collect(submitted)

    def singles(self, jobs: int) -> Callable[[], None]:
        """Submit one job after the other."""
        submitted = [self._executor.submit(subprocess.check_call, WORK) for _ in range(jobs)]
        return lambda: _collect(submitted)


def _resources() -> Resources:
    return Resources(cpus=1, memory_mb=MEMORY_MB, time_limit_s=600)


def _collect(jobs: "Sequence[submitit.Job[int]]") -> None:
    assert {job.result() for job in jobs} == {0}


@contextmanager
def cluster(folder: Path) -> Generator[Counted]:
    """Run a cluster with accounting, whose commands this process calls through wrappers."""
    sys.path.append(str(Path(__file__).parents[1]))
    from slurm_rig import SlurmRig

    with SlurmRig(folder / "rig", accounting="slurmdbd") as rig:
        counted = Counted(folder / "bin")
        os.environ["SLURM_CONF"] = str(rig.conf)
        os.environ["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        rig.command("srun", "--immediate=60", "true", check=True)  # the first job of a cluster waits for its scheduler
        yield counted


def main() -> None:
    """Compare the two."""
    parser = argparse.ArgumentParser(description="Jobs beside submitit's.")
    parser.add_argument("--jobs", type=int, default=200)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slurm-") as name, cluster(Path(name)) as counted:
        sides = [Submitit(Path(name) / "submitit"), Ours(Path(name))]
        for case in ("array", "singles"):
            taken: list[Taken] = []
            for side in sides:
                one = timed(counted, lambda side=side, case=case: getattr(side, case)(given.jobs))
                taken.append(one)
                calls = ", ".join(f"{program} {number}" for program, number in sorted(one.commands.items()))
                print(
                    f"{case:8} {given.jobs} jobs  {side.name:9} submitted {one.submitting_s:6.1f} s, all ended "
                    f"{one.all_s:6.1f} s, {one.commands.total():4} commands ({calls})",
                    flush=True,
                )
            theirs, ours = taken
            print(
                f"{case:8} ours / theirs: submitted {ours.submitting_s / theirs.submitting_s:.2f}, "
                f"all {ours.all_s / theirs.all_s:.2f}, "
                f"commands {ours.commands.total() / theirs.commands.total():.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
