"""A fault drill: whatever dies, fails or lies, no job is lost and none runs twice; on a real cluster."""

import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from ekiden_jobs import ExecutorUnavailableError, JobKey, JobRequestError, Statuses
from ekiden_jobs.folder import JobFolder
from ekiden_jobs.local import LocalExecutor
from ekiden_slurm.tracking import Patience
from slurm_jobs import ENOUGH_S, HASTY, before, executor_on, job, ran
from slurm_rig import SlurmRig
from slurm_rig_daemons import wait_until

KEY = JobKey("a-job")
DRILLS = 30
SUBMITTER = """
import os, sys
from pathlib import Path
from slurm_jobs import executor_on, job

folder, key = sys.argv[1:]
executor_on(Path(folder) / "jobs", os.environ).submit(job(Path(folder), key, secrets={"TOKEN": "planted"}))
print("done", flush=True)
"""
SLOW_SBATCH = 'echo $$ > began; sleep 0.1; said=$($REAL "$@"); sleep 0.1; echo "$said"'


def outcomes(statuses: Statuses) -> set[str | None]:
    return {status.outcome for status in statuses.values()}


@pytest.mark.slurm
@pytest.mark.timeout(240)
def test_a_submitter_killed_at_any_moment_loses_nothing_and_doubles_nothing(slurm: SlurmRig, tmp_path: Path) -> None:
    """It dies at a random moment around sbatch, at times with sbatch; another one submits the same again."""
    chance = random.Random(6)
    keys = [JobKey(f"drill.{number}") for number in range(DRILLS)]
    environment = {
        **before(slurm.env, tmp_path / "bin", "sbatch", SLOW_SBATCH),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    os.mkfifo(tmp_path / "bin/began")
    killed = 0
    for number, key in enumerate(keys):
        with subprocess.Popen(
            [sys.executable, "-c", SUBMITTER, tmp_path, key], env=environment, text=True, stdout=subprocess.PIPE
        ) as submitter:
            sbatch = int((tmp_path / "bin/began").read_text(encoding="ascii"))
            try:
                submitter.wait(chance.uniform(0, 0.3))
            except subprocess.TimeoutExpired:
                submitter.kill()
                if number % 3 == 0:
                    with suppress(ProcessLookupError):
                        os.killpg(sbatch, signal.SIGKILL)
            assert submitter.stdout
            killed += submitter.stdout.read() == ""
    executor = executor_on(tmp_path / "jobs", slurm.env)
    for key in keys:
        executor.submit(job(tmp_path, key, secrets={"TOKEN": "planted"}))
    assert outcomes(executor.wait(keys, 120)) == {"ok"}
    assert ran(tmp_path) == sorted(keys)
    assert not list((tmp_path / "jobs").glob("*/secrets"))
    events = [[event.type for event in JobFolder(tmp_path / "jobs", key).journal.events()] for key in keys]
    assert killed > DRILLS / 3  # the drill is one
    assert sum("submitted" not in one for one in events) > 2  # Slurm had taken some, and nobody knew
    assert sum(one.count("intended") > 1 for one in events) > 0  # others it had not


@pytest.mark.slurm
def test_the_controller_may_be_restarted_during_work(tmp_path: Path) -> None:
    with SlurmRig(tmp_path / "rig", nodes=1) as rig:
        executor = executor_on(tmp_path / "jobs", rig.env)
        keys = [JobKey(f"work.{number}") for number in range(6)]
        for key in keys:
            executor.submit(job(tmp_path, key, "while [ ! -e go ]; do sleep 0.1; done; exit 3"))
        wait_until(lambda: len(ran(tmp_path)) == 6, "all of them running", ENOUGH_S, needed=[])
        executor.status(keys)
        rig.stop_controller()
        away = executor_on(tmp_path / "jobs", rig.env, query_timeout_s=0.5).status(keys)
        assert {(status.phase, status.stale, status.native_state) for status in away.values()} == {
            ("running", True, "RUNNING")
        }
        with pytest.raises(ExecutorUnavailableError):
            executor_on(tmp_path / "jobs", rig.env, query_timeout_s=0.5).cancel(keys[:1])
        (tmp_path / "go").touch()
        ended = executor_on(tmp_path / "jobs", rig.env, query_timeout_s=0.5).wait(keys, ENOUGH_S)
        # What could not be cancelled ended by itself.
        assert {(status.outcome, status.exit_code) for status in ended.values()} == {("failed", 3)}
        rig.start_controller()
        late = JobKey("late")
        executor.submit(job(tmp_path, late))
        assert executor.wait([late], ENOUGH_S)[late].outcome == "ok"
        assert ran(tmp_path) == sorted([*keys, late])


LIES = {
    "fails": "exit 1",
    "fails_at_times": '[ $((RANDOM % 2)) = 0 ] && exit 1; exec $REAL "$@"',
    "says_nothing": "exit 0",
    "says_nothing_at_times": '[ $((RANDOM % 2)) = 0 ] && exit 0; exec $REAL "$@"',
    "says_nonsense": "echo 'slurm_load_jobs: who knows'",
    "hangs_at_times": '[ $((RANDOM % 3)) = 0 ] && exec sleep 60; exec $REAL "$@"',
    "is_old": '[ -s old ] || { $REAL "$@" > new; grep -q RUNNING new && cp new old; cat new; exit; }; cat old',
}


@pytest.mark.slurm
@pytest.mark.parametrize("lie", LIES)
def test_a_queue_that_fails_or_lies_changes_no_end(slurm: SlurmRig, tmp_path: Path, lie: str) -> None:
    env = before(slurm.env, tmp_path / "bin", "squeue", LIES[lie])
    executor = executor_on(tmp_path / "jobs", env, query_timeout_s=1.0)
    scripts = {"well": "sleep 2", "badly": "sleep 2; exit 3", "array": "sleep 2; exit $EKIDEN_TASK"}
    for key, script in scripts.items():
        executor.submit(job(tmp_path, key, script, tasks=((), ()) if key == "array" else ()))
    found = executor.wait([JobKey(key) for key in scripts], ENOUGH_S)
    assert [(status.outcome, status.exit_code) for status in found.values()] == [
        ("ok", 0),
        ("failed", 3),
        ("failed", 1),
    ]
    assert ran(tmp_path) == ["array 0", "array 1", "badly", "well"]
    assert executor.commands.issued["sbatch"] == 3


@pytest.mark.slurm
def test_a_job_that_was_given_up_and_ends_all_the_same_is_told_right(slurm: SlurmRig, tmp_path: Path) -> None:
    """Both the queue and the second source deny it for long."""
    env = before(slurm.env, tmp_path / "bin", "squeue", '[ -e lie ] && exit 0; exec $REAL "$@"')
    denies = '[ -e lie ] && { echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }; exec $REAL "$@"'
    env = before(env, tmp_path / "bin", "scontrol", denies)
    executor = executor_on(tmp_path / "jobs", env)
    executor.submit(job(tmp_path, KEY, "while [ ! -e go ]; do sleep 0.1; done"))
    wait_until(lambda: bool(ran(tmp_path)), "it running", ENOUGH_S, needed=[])
    (tmp_path / "bin/lie").touch()
    assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "lost"
    (tmp_path / "go").touch()
    assert executor_on(tmp_path / "jobs", env).submit(job(tmp_path, KEY, "while [ ! -e go ]; do sleep 0.1; done"))
    wait_until(lambda: executor.status([KEY])[KEY].outcome == "ok", "the truth", ENOUGH_S, needed=[])
    assert executor.commands.issued["sbatch"] == 1


@pytest.mark.slurm
@pytest.mark.parametrize(
    "lie", ["exit 1", "exit 0", "echo nonsense", '[ $((RANDOM % 2)) = 0 ] && exit 0; exec $REAL "$@"']
)
def test_accounting_that_fails_or_lies_changes_no_end(slurm_accounting: SlurmRig, tmp_path: Path, lie: str) -> None:
    env = before(slurm_accounting.env, tmp_path / "bin", "sacct", lie)
    env = before(env, tmp_path / "bin", "squeue", '[ $((RANDOM % 2)) = 0 ] && exit 0; exec $REAL "$@"')
    executor = executor_on(tmp_path / "jobs", env, patience=Patience(settle_s=1, lost_after_s=2))
    keys = {JobKey("well"): "sleep 1", JobKey("badly"): "sleep 1; exit 3", JobKey("shot"): "sleep 1; kill -9 $$"}
    for key, script in keys.items():
        executor.submit(job(tmp_path, key, script))
    found = executor.wait(list(keys), ENOUGH_S)
    assert [status.outcome for status in found.values()] == ["ok", "failed", "failed"]
    assert ran(tmp_path) == ["badly", "shot", "well"]


@pytest.mark.slurm
def test_what_two_watch_is_written_once(slurm: SlurmRig, tmp_path: Path) -> None:
    first, second = (executor_on(tmp_path / "jobs", slurm.env, patience=HASTY) for _ in range(2))
    keys = [JobKey(f"watched.{number}") for number in range(5)]
    for key in keys:
        first.submit(job(tmp_path, key))

    def look(_: Statuses) -> None:
        second.status(keys)

    assert outcomes(first.wait(keys, ENOUGH_S, tick=look)) == {"ok"}
    for key in keys:
        journal = (tmp_path / "jobs" / key / "journal.jsonl").read_text(encoding="utf-8")
        assert journal.count('"ended"') == 1


def test_a_jobs_folder_tells_of_jobs_that_another_executor_runs(tmp_path: Path) -> None:
    local = LocalExecutor(tmp_path / "jobs")
    local.submit(job(tmp_path, KEY))
    assert local.wait([KEY], ENOUGH_S)[KEY].outcome == "ok"
    other = executor_on(tmp_path / "jobs", {"PATH": str(tmp_path)})
    assert other.known() == [KEY]
    with pytest.raises(JobRequestError, match="was submitted to local"):
        other.submit(job(tmp_path, KEY))


@pytest.mark.slurm
def test_a_jobs_folder_that_the_node_does_not_see_is_told(slurm: SlurmRig, tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", slurm.env)
    key = JobKey("unseen")
    number = executor.submit(job(tmp_path, key, resources={"directives": ("--hold",)})).native_id
    (tmp_path / "jobs").rename(tmp_path / "elsewhere")
    slurm.command("scontrol", "release", number, check=True)
    state = ("squeue", "-h", "-t", "all", "-j", number, "-o", "%T")
    wait_until(lambda: slurm.command(*state).stdout.strip() == "FAILED", "the job's failing", ENOUGH_S, needed=[])
    (tmp_path / "elsewhere").rename(tmp_path / "jobs")
    status = executor.wait([key], ENOUGH_S)[key]
    assert status.outcome == "failed"
    assert "every node must see the folder of jobs under the same path" in status.reason
    assert (status.exit_code, status.signal) == (None, None)
    assert ran(tmp_path) == []
