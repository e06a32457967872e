"""A job is submitted once, whatever happens to whoever submits it; on a real cluster."""

import threading
from pathlib import Path

import pytest

from ekiden_jobs import ExecutorUnavailableError, JobKey, JobRequestError, SubmissionError
from ekiden_jobs.folder import JobFolder
from ekiden_jobs.journal import Submitted
from ekiden_slurm.attempts import fold_attempts, next_attempt
from ekiden_slurm.pace import Pace
from slurm_jobs import ENOUGH_S, before, executor_on, job, ran
from slurm_rig import SlurmRig
from slurm_rig_daemons import wait_until

KEY = JobKey("once")


@pytest.mark.slurm
def test_a_key_is_one_job_however_often_it_is_submitted(slurm: SlurmRig, tmp_path: Path) -> None:
    executors = [executor_on(tmp_path / "jobs", slurm.env) for _ in range(4)]
    threads = [threading.Thread(target=one.submit, args=(job(tmp_path, KEY),)) for one in executors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert executors[0].wait([KEY], ENOUGH_S)[KEY].outcome == "ok"
    assert executors[1].submit(job(tmp_path, KEY)).outcome == "ok"
    assert sum(one.commands.issued.get("sbatch", 0) for one in executors) == 1
    assert ran(tmp_path) == [KEY]
    with pytest.raises(JobRequestError, match="'once' belongs to another job"):
        executors[0].submit(job(tmp_path, KEY, "exit 3"))


@pytest.mark.slurm
def test_a_job_whose_sbatch_never_reached_slurm_is_submitted_again(slurm: SlurmRig, tmp_path: Path) -> None:
    env = before(slurm.env, tmp_path / "bin", "sbatch", 'mkdir once 2>&- && kill -9 $$; exec $REAL "$@"')
    executor = executor_on(tmp_path / "jobs", env)
    submitted = executor.submit(job(tmp_path, KEY))
    assert (submitted.phase, submitted.native_id) == ("unsubmitted", "")
    assert executor.status([KEY])[KEY].phase == "unsubmitted"  # who only asks submits nothing
    assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "ok"
    assert executor.commands.issued["sbatch"] == 2
    assert ran(tmp_path) == [KEY]


@pytest.mark.slurm
def test_a_job_whose_sbatch_died_without_a_word_is_found_by_its_name(slurm: SlurmRig, tmp_path: Path) -> None:
    env = before(slurm.env, tmp_path / "bin", "sbatch", '$REAL "$@" > /dev/null; kill -9 $$')
    executor = executor_on(tmp_path / "jobs", env)
    assert executor.submit(job(tmp_path, KEY)).native_id
    assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "ok"
    assert executor.commands.issued["sbatch"] == 1
    assert ran(tmp_path) == [KEY]


@pytest.mark.slurm
def test_a_job_that_a_stuck_controller_takes_late_is_found(tmp_path: Path) -> None:
    with SlurmRig(tmp_path / "rig", nodes=1) as rig:
        executor = executor_on(tmp_path / "jobs", rig.env, submit_timeout_s=1.0, query_timeout_s=1.0)
        rig.freeze_controller()
        submitted = executor.submit(job(tmp_path, KEY))
        assert (submitted.phase, submitted.stale) == ("unsubmitted", True)
        rig.thaw_controller()
        assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "ok"
        assert executor.commands.issued["sbatch"] == 1
        assert ran(tmp_path) == [KEY]


@pytest.mark.slurm
def test_a_job_is_cancelled_though_nobody_knows_whether_there_is_one(tmp_path: Path) -> None:
    with SlurmRig(tmp_path / "rig", nodes=1) as rig:
        executor = executor_on(tmp_path / "jobs", rig.env, submit_timeout_s=1.0, query_timeout_s=1.0)
        rig.freeze_controller()
        executor.submit(job(tmp_path, KEY))
        cancelled = executor.cancel([KEY])[KEY]
        assert (cancelled.phase, cancelled.stale) == ("unsubmitted", True)
        rig.thaw_controller()
        queue = ("squeue", "-h", "-t", "all", "-o", "%T")
        wait_until(lambda: rig.command(*queue).stdout == "FAILED\n", "the job being over", ENOUGH_S, needed=[])
        assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "cancelled"
        assert executor.submit(job(tmp_path, KEY)).outcome == "cancelled"
        assert executor.commands.issued["sbatch"] == 1
        assert ran(tmp_path) == []


def test_a_job_of_which_only_the_request_is_there_is_cancelled_for_good(tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", {"PATH": str(tmp_path)})
    JobFolder.create(tmp_path / "jobs", request := job(tmp_path, KEY, secrets={"TOKEN": "planted"}))
    status = executor.status([KEY])[KEY]
    assert (status.phase, status.reason.partition(";")[0]) == ("unsubmitted", "It was not handed to Slurm yet")
    assert executor.cancel([KEY])[KEY].outcome == "cancelled"
    assert not (tmp_path / "jobs" / KEY / "secrets").exists()
    assert executor.submit(request).outcome == "cancelled"
    assert executor.commands.issued == {}


def test_without_slurm_the_same_key_can_be_submitted_later(tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", {"PATH": str(tmp_path)})
    for _ in range(2):
        with pytest.raises(ExecutorUnavailableError, match="There is no 'sbatch' here"):
            executor.submit(job(tmp_path, KEY))
    assert executor.status([KEY])[KEY].phase == "unsubmitted"


@pytest.mark.slurm
def test_a_second_job_of_the_same_key_runs_nothing(slurm: SlurmRig, tmp_path: Path) -> None:
    """The queue denies the first one for long enough that a second one is submitted."""
    env = before(
        slurm.env, tmp_path / "bin", "sbatch", 'mkdir once 2>&- && { $REAL --hold "$@" >&-; exit 1; }; exec $REAL "$@"'
    )
    env = before(env, tmp_path / "bin", "squeue", '[ -e lie ] || exec $REAL "$@"')
    (tmp_path / "bin/lie").touch()
    executor = executor_on(tmp_path / "jobs", env)
    executor.submit(job(tmp_path, KEY))
    executor.wait([KEY], 8, tick=lambda _: None if executor.commands.issued["sbatch"] == 1 else stop_lying(tmp_path))
    first, second = fold_attempts(JobFolder(tmp_path / "jobs", KEY).journal.events())[:2]
    assert second.native_id
    assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "ok"
    queued = ("squeue", "-h", "-t", "all", "-o", "%A %T", f"--name={first.name}")
    number, state = slurm.command(*queued, check=True).stdout.split()
    if state == "PENDING":
        slurm.command("scontrol", "release", number, check=True)
    over = {f"{number} FAILED\n", f"{number} CANCELLED\n"}
    wait_until(lambda: slurm.command(*queued).stdout in over, "the first job being over", ENOUGH_S, needed=[])
    assert ran(tmp_path) == [KEY]


def stop_lying(folder: Path) -> None:
    (folder / "bin/lie").unlink(missing_ok=True)


@pytest.mark.slurm
def test_a_job_that_slurm_turns_away_says_why_and_leaves_no_secret(slurm: SlurmRig, tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", slurm.env)
    impossible = job(tmp_path, KEY, secrets={"TOKEN": "planted"}, resources={"partition": "nowhere"})
    with pytest.raises(SubmissionError, match="nvalid partition"):
        executor.submit(impossible)
    status = executor.status([KEY])[KEY]
    assert (status.phase, status.outcome, status.native_id) == ("ended", "rejected", "")
    assert "nvalid partition" in status.reason
    assert not (tmp_path / "jobs" / KEY / "secrets").exists()
    assert executor.submit(impossible) == status
    assert executor.commands.issued["sbatch"] == 1


@pytest.mark.slurm
def test_a_job_that_was_turned_away_without_a_word_is_not_submitted_again(slurm: SlurmRig, tmp_path: Path) -> None:
    env = before(slurm.env, tmp_path / "bin", "sbatch", '$REAL "$@" >&- 2>&-; kill -9 $$')
    executor = executor_on(tmp_path / "jobs", env)
    executor.submit(job(tmp_path, KEY, resources={"gres": "gpu:no_such_type:1"}))
    status = executor.wait([KEY], ENOUGH_S)[KEY]
    assert (status.outcome, executor.commands.issued["sbatch"]) == ("rejected", 1)
    assert "BadConstraints" in status.reason


@pytest.mark.slurm
def test_a_full_queue_is_tried_again_later(slurm: SlurmRig, tmp_path: Path) -> None:
    text = "mkdir once 2>&- && { echo 'sbatch: error: AssocMaxSubmitJobLimit' >&2; exit 1; }; exec $REAL \"$@\""
    executor = executor_on(tmp_path / "jobs", before(slurm.env, tmp_path / "bin", "sbatch", text))
    with pytest.raises(ExecutorUnavailableError, match="AssocMaxSubmitJobLimit"):
        executor.submit(job(tmp_path, KEY))
    executor.submit(job(tmp_path, KEY))
    assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "ok"
    assert ran(tmp_path) == [KEY]


@pytest.mark.slurm
def test_an_array_over_the_sites_limit_goes_in_parts_that_keep_the_bound(tmp_path: Path) -> None:
    with SlurmRig(tmp_path / "rig", nodes=1, settings={"MaxArraySize": "4"}) as rig:
        executor = executor_on(tmp_path / "jobs", rig.env)
        array = job(tmp_path, KEY, tasks=tuple((str(number),) for number in range(9)), tasks_at_once=4)
        executor.submit(array)
        status = executor.wait([KEY], ENOUGH_S)[KEY]
        assert status.outcome == "ok"
        assert executor.commands.issued["sbatch"] == 3
        assert ran(tmp_path) == [f"{KEY} {number}" for number in range(9)]
        script = (tmp_path / "jobs" / KEY / "script.sh").read_text(encoding="utf-8")
        assert "--array=0-0%4" in script
        assert "SLURM_ARRAY_TASK_ID + 8" in script


@pytest.mark.slurm
def test_an_array_of_more_tasks_than_the_scheduler_takes_goes_in_parts(tmp_path: Path) -> None:
    bound = "batch_sched_delay=0,sched_min_interval=0,sched_interval=2,bf_interval=2,max_array_tasks=2"
    with SlurmRig(tmp_path / "rig", nodes=1, settings={"SchedulerParameters": bound}) as rig:
        executor = executor_on(tmp_path / "jobs", rig.env)
        executor.submit(job(tmp_path, KEY, tasks=((),) * 5))
        assert executor.wait([KEY], ENOUGH_S)[KEY].outcome == "ok"
        assert executor.commands.issued["sbatch"] == 3
        assert len(ran(tmp_path)) == 5


def test_a_minute_sees_no_more_submissions_than_it_may(tmp_path: Path) -> None:
    time_s = [1000.0]
    taken: list[float] = []

    def rest(seconds: float) -> None:
        time_s[0] += seconds

    paces = [Pace(tmp_path / "pace.json", 3, clock=lambda: time_s[0], rest=rest) for _ in range(2)]
    for number in range(8):
        paces[number % 2].take_turn()
        taken.append(time_s[0])
        time_s[0] += 1
    assert taken == [1000, 1001, 1002, 1060, 1061, 1062, 1120, 1121]
    (tmp_path / "pace.json").write_text("damaged", encoding="utf-8")
    paces[0].take_turn()
    assert time_s[0] == 1122


def test_a_submitter_that_is_stopped_while_it_waits_for_its_turn_holds_up_no_other(tmp_path: Path) -> None:
    time_s = [1000.0]
    order: list[str] = []
    file = tmp_path / "pace.json"

    def is_stopped(seconds: float) -> None:
        time_s[0] += seconds
        if not order:
            Pace(file, 1, clock=lambda: time_s[0]).take_turn()
            order.append(f"the other at {time_s[0]:.0f}")

    stopped = Pace(file, 1, clock=lambda: time_s[0], rest=is_stopped)
    stopped.take_turn()
    stopped.take_turn()
    order.append(f"the stopped one at {time_s[0]:.0f}")
    assert order == ["the other at 1060", "the stopped one at 1120"]


@pytest.mark.slurm
def test_cancelling_a_job_spares_another_that_got_its_number(slurm: SlurmRig, tmp_path: Path) -> None:
    executor = executor_on(tmp_path / "jobs", slurm.env)
    number = executor.submit(job(tmp_path, "theirs", resources={"directives": ("--hold",)})).native_id
    lost = JobFolder.create(tmp_path / "jobs", job(tmp_path, "lost"))
    intent = next_attempt(lost.key, [], None)
    lost.journal.extend([intent, Submitted(attempt=intent.attempt, native_id=number)])
    executor.cancel([lost.key])
    assert slurm.command("squeue", "-h", "-j", number, "-o", "%T").stdout.strip() == "PENDING"
    assert executor.wait([lost.key], ENOUGH_S)[lost.key].outcome == "cancelled"
    executor.cancel([JobKey("theirs")])
