"""Every way in which a job can end or wait has one name; on a real cluster."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from ekiden_jobs import JobKey, JobStatus
from ekiden_jobs.folder import JobFolder
from ekiden_slurm.attempts import fold_attempts
from ekiden_slurm.executor import SlurmExecutor
from slurm_jobs import ENOUGH_S, HASTY, before, executor_on, job, ran
from slurm_rig import SlurmRig
from slurm_rig_daemons import wait_until

KEY = JobKey("a-job")
SLEEP = "sleep 60"


def runs(executor: SlurmExecutor, key: JobKey = KEY) -> JobStatus:
    """Wait until a job runs."""
    return until(executor, lambda status: status.phase == "running" and status.started_at is not None, key)


def until(executor: SlurmExecutor, question: Callable[[JobStatus], bool], key: JobKey = KEY) -> JobStatus:
    wait_until(lambda: question(executor.status([key])[key]), f"{key} being so", ENOUGH_S, needed=[])
    return executor.status([key])[key]


def kill_runner(root: Path, key: JobKey = KEY) -> None:
    """End a job's runner without a chance to write anything."""
    started = JobFolder(root, key).run().started()
    assert started is not None
    os.kill(started.pid, signal.SIGKILL)


@pytest.fixture
def executor(slurm: SlurmRig, tmp_path: Path) -> SlurmExecutor:
    return executor_on(tmp_path / "jobs", slurm.env)


@pytest.mark.slurm
def test_programs_end_with_their_own_codes_and_signals(executor: SlurmExecutor, tmp_path: Path) -> None:
    scripts = {"ok": "", "three": "exit 3", "high": "exit 137", "shot": "kill -9 $$", "eaten": "exec /no/such/program"}
    keys = [JobKey(name) for name in scripts]
    for key in keys:
        executor.submit(job(tmp_path, key, scripts[key]))
    found = executor.wait(keys, ENOUGH_S)
    assert {key: (status.outcome, status.exit_code, status.signal) for key, status in found.items()} == {
        "ok": ("ok", 0, None),
        "three": ("failed", 3, None),
        "high": ("failed", 137, None),
        "shot": ("failed", None, 9),
        "eaten": ("failed", 127, None),
    }
    for status in found.values():
        assert status.submitted_at
        assert status.started_at
        assert status.ended_at
        assert status.submitted_at <= status.started_at <= status.ended_at
        assert status.node in {"n1", "n2", "n3"}


@pytest.mark.slurm
def test_many_jobs_cost_one_question(executor: SlurmExecutor, tmp_path: Path) -> None:
    keys = [JobKey(f"many.{number}") for number in range(12)]
    for key in keys:
        executor.submit(job(tmp_path, key, SLEEP))
    assert "squeue" not in executor.commands.issued
    executor.status(keys)
    assert executor.commands.issued["squeue"] == 1
    executor.cancel(keys)
    assert executor.commands.issued["scancel"] == 1
    assert {status.outcome for status in executor.wait(keys, ENOUGH_S).values()} == {"cancelled"}
    asked = executor.commands.issued["squeue"]
    executor.status(keys)
    assert executor.commands.issued["squeue"] == asked  # what has ended is not asked for


@pytest.mark.slurm
def test_graphics_processors_are_given(executor: SlurmExecutor, tmp_path: Path) -> None:
    executor.submit(job(tmp_path, KEY, "echo $CUDA_VISIBLE_DEVICES", resources={"gres": "gpu:lovelace_l40:2"}))
    assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "ok"
    assert len(executor.logs(KEY, "out").text.split(",")) == 2


@pytest.mark.slurm
def test_a_job_over_its_memory_says_so(executor: SlurmExecutor, tmp_path: Path) -> None:
    eats = "exec python3 -c 'held = bytearray(400 << 20); held[::4096] = bytes(102400); input()' < /dev/zero"
    executor.submit(job(tmp_path, KEY, eats, resources={"memory_mb": 100}))
    status = executor.wait([KEY], ENOUGH_S)[KEY]
    assert (status.outcome, status.exit_code) == ("memory", None)
    assert "exceeded memory limit" in executor.logs(KEY, "err").text


@pytest.mark.slurm
def test_a_job_over_its_time_says_so_and_was_warned(slurm: SlurmRig, tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", slurm.env)
    warned = "trap 'echo warned > warned' USR1; trap 'exit 0' TERM; while :; do sleep 0.2; done"
    executor.submit(job(tmp_path, KEY, warned, warn_s=10, resources={"time_limit_s": 600}))
    slurm.time_out(runs(executor).native_id)
    status = executor.wait([KEY], ENOUGH_S)[KEY]
    assert (status.outcome, status.native_state) == ("time_limit", "TIMEOUT")
    assert (tmp_path / "warned").exists()


@pytest.mark.slurm
def test_a_runner_that_is_killed_leaves_its_end_to_slurm(slurm: SlurmRig, tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", slurm.env)
    executor.submit(job(tmp_path, KEY, SLEEP))
    runs(executor)
    kill_runner(tmp_path / "jobs")
    status = executor.wait([KEY], ENOUGH_S)[KEY]
    assert (status.outcome, status.signal, status.native_state) == ("failed", 9, "FAILED")


@pytest.mark.slurm
def test_cancelling_ends_what_waits_and_what_runs(slurm: SlurmRig, tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", slurm.env)
    held, running, over = JobKey("held"), JobKey("running"), JobKey("over")
    executor.submit(job(tmp_path, held, resources={"directives": ("--hold",)}, secrets={"TOKEN": "planted"}))
    executor.submit(job(tmp_path, running, SLEEP))
    executor.submit(job(tmp_path, over))
    runs(executor, running)
    executor.wait([over], ENOUGH_S)
    status = until(executor, lambda status: status.reason == "JobHeldUser", held)
    assert (status.phase, status.waits_for_ever) == ("pending", True)
    executor.cancel([held, running, over])
    found = executor.wait([held, running, over], ENOUGH_S)
    assert [found[key].outcome for key in (held, running, over)] == ["cancelled", "cancelled", "ok"]
    assert not (tmp_path / "jobs/held/secrets").exists()
    assert ran(tmp_path) == ["over", "running"]


@pytest.mark.slurm
def test_tasks_are_cancelled_one_by_one_and_together(slurm: SlurmRig, tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", slurm.env)
    executor.submit(job(tmp_path, KEY, SLEEP, tasks=((),) * 5, tasks_at_once=2))
    mine, theirs = JobKey(f"{KEY}_4"), JobKey(f"{KEY}_3")
    until(executor, lambda status: status.phase == "running")
    executor.cancel([mine])
    number = executor.status([KEY])[KEY].native_id
    slurm.command("scancel", f"{number}_3", check=True)  # by somebody else: it leaves no record
    found = executor.wait([mine, theirs], ENOUGH_S)
    assert [(found[key].phase, found[key].outcome) for key in (mine, theirs)] == [("ended", "cancelled")] * 2
    executor.cancel([KEY])
    assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "cancelled"
    assert len(ran(tmp_path)) == 2


@pytest.mark.slurm
def test_an_array_that_never_ran_is_cancelled_as_a_whole(slurm: SlurmRig, tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", slurm.env)
    executor.submit(job(tmp_path, KEY, tasks=((),) * 3, resources={"directives": ("--hold",)}))
    until(executor, lambda status: status.waits_for_ever)
    executor.cancel([KEY])
    assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "cancelled"
    assert ran(tmp_path) == []


@pytest.mark.slurm
def test_a_job_that_is_put_back_goes_on_in_the_same_log(slurm: SlurmRig, tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", slurm.env)
    script = 'echo "run $EKIDEN_RESTARTS $TOKEN"; [ "$EKIDEN_RESTARTS" = 1 ] || sleep 60'
    executor.submit(job(tmp_path, KEY, script, requeues=1, secrets={"TOKEN": "planted"}))
    number = runs(executor).native_id
    slurm.command("scontrol", "requeue", number, check=True)
    until(executor, lambda status: status.phase == "pending" and status.restarts == 1)
    slurm.skip_delay(number)
    status = executor.wait([KEY], ENOUGH_S)[KEY]
    assert (status.outcome, status.restarts, status.native_id) == ("ok", 1, number)
    assert executor.logs(KEY, "out").text == "run 0 planted\nrun 1 planted\n"
    assert not (tmp_path / "jobs" / KEY / "secrets").exists()


@pytest.mark.slurm
def test_a_job_that_may_not_run_again_does_not_when_somebody_puts_it_back(slurm: SlurmRig, tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", slurm.env)
    executor.submit(job(tmp_path, KEY, SLEEP))
    number = runs(executor).native_id
    slurm.command("scontrol", "update", f"jobid={number}", "requeue=1", check=True)
    slurm.command("scontrol", "requeue", number, check=True)
    until(executor, lambda status: status.phase == "pending" and status.restarts == 1)
    slurm.skip_delay(number)
    status = executor.wait([KEY], ENOUGH_S)[KEY]
    assert (status.outcome, status.restarts) == ("lost", 1)
    assert ran(tmp_path) == [KEY]


@pytest.mark.slurm
@pytest.mark.parametrize(("requeues", "outcome"), [(0, "preempted"), (1, "ok")])
def test_a_job_that_has_to_give_way_is_told_from_a_failure(tmp_path: Path, requeues: int, outcome: str) -> None:
    with SlurmRig(tmp_path / "rig", nodes=1) as rig:
        executor = executor_on(tmp_path / "jobs", rig.env)
        script = '[ "$EKIDEN_RESTARTS" = 1 ] || sleep 60'
        executor.submit(job(tmp_path, KEY, script, requeues=requeues, resources={"partition": "spare", "cpus": 8}))
        number = runs(executor).native_id
        other = JobKey("urgent")
        executor.submit(job(tmp_path, other, resources={"partition": "urgent", "cpus": 8}))
        assert executor.wait([other], ENOUGH_S)[other].outcome == "ok"
        if requeues:
            until(executor, lambda status: status.phase == "pending" and status.restarts == 1)
            rig.skip_delay(number)
        assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == outcome


@pytest.mark.slurm
def test_a_lost_node_is_told_from_a_failure(slurm: SlurmRig, tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", slurm.env)
    executor.submit(job(tmp_path, KEY, SLEEP, resources={"directives": ("--nodelist=n3",)}))
    runs(executor)
    slurm.fail_node("n3")
    try:
        status = executor.wait([KEY], ENOUGH_S)[KEY]
    finally:
        slurm.start_node("n3")
    assert (status.outcome, status.native_state, status.node) == ("node_failure", "NODE_FAIL", "n3")


@pytest.mark.slurm
def test_a_job_waits_for_a_drained_node(slurm: SlurmRig, tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", slurm.env)
    slurm.drain("n3", "a test")
    try:
        executor.submit(job(tmp_path, KEY, resources={"directives": ("--nodelist=n3",)}))
        status = until(executor, lambda status: "ReqNodeNotAvail" in status.reason)
        assert (status.phase, status.waits_for_ever) == ("pending", False)
        assert executor.wait([KEY], 0.1)[KEY].phase == "pending"  # the time is up, and that is no error
    finally:
        slurm.resume("n3")
    assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "ok"


@pytest.mark.slurm
def test_what_slurm_has_forgotten_is_told_by_the_job_itself(tmp_path: Path) -> None:
    with SlurmRig(tmp_path / "rig", nodes=1, settings={"MinJobAge": "2"}) as rig:
        executor = executor_on(tmp_path / "jobs", rig.env)
        told, untold = JobKey("told"), JobKey("untold")
        executor.submit(job(tmp_path, told, "exit 3"))
        executor.submit(job(tmp_path, untold, SLEEP))
        runs(executor, untold)
        kill_runner(tmp_path / "jobs", untold)
        forgotten = ("squeue", "-h", "-t", "all")
        wait_until(lambda: not rig.command(*forgotten).stdout, "Slurm forgetting its jobs", ENOUGH_S, needed=[])
        found = executor.wait([told, untold], ENOUGH_S)
        assert (found[told].outcome, found[told].exit_code) == ("failed", 3)
        assert (found[untold].outcome, found[untold].exit_code) == ("lost", None)
        assert executor.commands.issued["sacct"] == 1  # that there is no accounting was found out once


@pytest.mark.slurm
def test_what_the_queue_has_forgotten_is_told_by_accounting(tmp_path: Path) -> None:
    with SlurmRig(tmp_path / "rig", nodes=1, accounting="slurmdbd", settings={"MinJobAge": "2"}) as rig:
        executor = executor_on(tmp_path / "jobs", rig.env)
        array = JobKey("array")
        executor.submit(job(tmp_path, KEY, SLEEP))
        executor.submit(job(tmp_path, array, "kill -9 $PPID", tasks=((),) * 3))
        runs(executor)
        kill_runner(tmp_path / "jobs")
        forgotten = ("squeue", "-h", "-t", "all")
        wait_until(lambda: not rig.command(*forgotten).stdout, "Slurm forgetting its jobs", ENOUGH_S, needed=[])
        with rig.without_accounting():
            away = executor.status([KEY])[KEY]
            assert (away.phase, away.stale) == ("running", True)
        found = executor.wait([KEY, array], ENOUGH_S)
        assert [(one.outcome, one.signal) for one in found.values()] == [("failed", 9)] * 2


@pytest.mark.slurm
def test_a_job_that_the_controller_took_and_lost_is_submitted_again(tmp_path: Path) -> None:
    """It writes its state every few seconds; when it is killed before, it knows of nothing since."""
    with SlurmRig(tmp_path / "rig", nodes=1) as rig:
        executor = executor_on(tmp_path / "jobs", rig.env)
        later = {"directives": ("--begin=now+2",)}
        executor.submit(job(tmp_path, JobKey("before"), resources=later))  # it writes, and not again for seconds
        executor.submit(job(tmp_path, KEY, resources=later))
        rig.kill_controller()
        rig.start_controller()
        name = fold_attempts(JobFolder(tmp_path / "jobs", KEY).journal.events())[0].name
        assert not rig.command("squeue", "-h", "-t", "all", f"--name={name}", check=True).stdout
        assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "ok"
        assert executor.commands.issued["sbatch"] == 3
        executor.wait([JobKey("before")], ENOUGH_S)
        assert ran(tmp_path) == [KEY, "before"]


@pytest.mark.slurm
def test_a_word_that_nobody_knows_is_no_end(slurm: SlurmRig, tmp_path: Path) -> None:
    env = before(slurm.env, tmp_path / "bin", "squeue", "$REAL \"$@\" | sed -E 's/COMPLETED|RUNNING|PENDING/DREAMING/'")
    executor = executor_on(tmp_path / "jobs", env, patience=HASTY)
    executor.submit(job(tmp_path, KEY, "cat fifo"))
    os.mkfifo(tmp_path / "fifo")
    status = until(executor, lambda status: status.native_state == "DREAMING" and status.phase == "running")
    assert status.outcome is None
    (tmp_path / "fifo").write_text("", encoding="utf-8")
    assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "ok"
