"""Two hundred jobs at once, on a real cluster, and few questions to it."""

from pathlib import Path

import pytest

from ekiden_jobs import JobKey, task_key
from slurm_jobs import executor_on, job, ran
from slurm_rig import SlurmRig

COUNT = 200
KEY = JobKey("many")


@pytest.mark.slurm
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_200_jobs_go_through_an_array(slurm: SlurmRig, tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", slurm.env, poll_first_s=2.0, poll_longest_s=10.0)
    executor.submit(job(tmp_path, KEY, "exit $((EKIDEN_TASK % 2))", tasks=((),) * COUNT))
    status = executor.wait([KEY], 240)[KEY]
    assert (status.phase, status.outcome) == ("ended", "failed")
    tasks = executor.status([task_key(KEY, number) for number in range(COUNT)])
    assert [status.exit_code for status in tasks.values()] == [0, 1] * (COUNT // 2)
    assert len(ran(tmp_path)) == len(set(ran(tmp_path))) == COUNT
    assert executor.commands.issued["sbatch"] == 1
    assert sum(executor.commands.issued.values()) < COUNT / 4


@pytest.mark.slurm
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_200_jobs_go_through_single_submissions(slurm: SlurmRig, tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", slurm.env, poll_first_s=2.0, poll_longest_s=10.0)
    keys = [JobKey(f"{KEY}.{number}") for number in range(COUNT)]
    for number, key in enumerate(keys):
        executor.submit(job(tmp_path, key, f"exit {number % 2}"))
    found = executor.wait(keys, 240)
    assert [found[key].exit_code for key in keys] == [0, 1] * (COUNT // 2)
    assert ran(tmp_path) == sorted(keys)
    assert executor.commands.issued["sbatch"] == COUNT
    assert sum(executor.commands.issued.values()) < COUNT * 5 / 4
