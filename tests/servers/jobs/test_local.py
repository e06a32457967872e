"""Jobs as processes of this machine."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ekiden_jobs import JobKey, JobRequest, JobRequestError, Resources, task_key
from ekiden_jobs.folder import JobFolder
from ekiden_jobs.journal import Intended
from ekiden_jobs.local import LocalExecutor
from ekiden_jobs.local_queue import MAX_TRIES, Begun, LocalQueue
from ekiden_jobs.local_start import starter_command
from ekiden_warden.identity import ProcessIdentity, this_process
from executor_conformance import Bed, ExecutorConformance, lives

SLOTS = 2


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    """A local executor; whatever still runs when the test is over is ended."""
    jobs, folder = tmp_path / "jobs", tmp_path / "work"
    folder.mkdir()
    executor = LocalExecutor(jobs, slots=SLOTS, grace_s=1.0)

    def made_to_wait() -> Resources:
        os.mkfifo(folder / "held")
        executor.submit(
            JobRequest(JobKey("hold"), ("sh", "-c", "echo up > held; sleep 600"), folder, resources=Resources(SLOTS))
        )
        (folder / "held").read_text()
        return Resources()

    yield Bed(executor, jobs, folder, lambda: LocalExecutor(jobs, slots=SLOTS), made_to_wait)
    own = [key for key, status in executor.status(executor.known()).items() if not status.stale]
    executor.cancel(own)
    executor.wait(own, 50)


class TestLocalExecutor(ExecutorConformance):
    """The local executor does what every executor must."""


def runner_of(bed: Bed, key: JobKey) -> int:
    return json.loads((bed.jobs / key / "started.json").read_text())["pid"]


def test_jobs_start_in_the_order_of_their_submission_and_a_large_one_is_not_overtaken(bed: Bed) -> None:
    sizes = [1, 2, 1, 2, 1]
    requests = [bed.request(f"echo {number} >> order", resources=Resources(size)) for number, size in enumerate(sizes)]
    for request in requests:
        bed.executor.submit(request)
    bed.executor.wait([request.key for request in requests], 50)
    assert (bed.folder / "order").read_text().split() == ["0", "1", "2", "3", "4"]


def test_a_job_larger_than_the_machine_runs_alone(bed: Bed) -> None:
    assert bed.end(bed.request("true", resources=Resources(cpus=99))).outcome == "ok"


def test_a_job_of_several_machines_is_refused(bed: Bed) -> None:
    with pytest.raises(JobRequestError, match="2 machines"):
        bed.executor.submit(bed.request("true", resources=Resources(nodes=2)))


def test_what_another_executor_began_is_left_to_it(bed: Bed) -> None:
    request = bed.request("true")
    folder = JobFolder.create(bed.jobs, request)
    folder.journal.add(Intended(attempt=1, name=request.key, executor="slurm"))
    for use in (lambda: bed.executor.submit(request), lambda: bed.executor.cancel([request.key])):
        with pytest.raises(JobRequestError, match="slurm"):
            use()
    status = bed.executor.status([request.key])[request.key]
    assert (status.phase, status.stale) == ("unsubmitted", True)
    assert "slurm" in status.reason


def test_waiting_jobs_run_though_nobody_looks(bed: Bed) -> None:
    done = bed.fifo("done")
    for number in range(5):
        bed.executor.submit(bed.request(f"test {number} = 4 && echo up > done; true"))
    assert done.read_text() == "up\n"


def test_a_job_over_its_time_is_warned_and_then_ended(bed: Bed) -> None:
    script = "trap 'echo warned' USR1; trap 'echo told; exit 0' TERM; while :; do sleep 0.05; done"
    request = bed.request(script, resources=Resources(time_limit_s=2), warn_s=1)
    status = bed.end(request)
    assert (status.outcome, status.exit_code) == ("time_limit", 0)
    assert bed.executor.logs(request.key, "out").text == "warned\ntold\n"


def test_a_job_over_its_memory_is_ended(bed: Bed) -> None:
    code = "held = b'x' * 300_000_000; import signal; signal.pause()"
    request = JobRequest(
        JobKey("big"), (sys.executable, "-c", code), bed.folder, resources=Resources(memory_mb_per_cpu=50, cpus=2)
    )
    status = bed.end(request)
    assert status.outcome == "memory"
    assert status.peak_memory_mb is not None
    assert status.peak_memory_mb > 100


def test_a_job_whose_runner_is_killed_is_lost_and_leaves_nothing_running(bed: Bed) -> None:
    ready = bed.fifo("ready")
    request = bed.request("setsid sleep 600 & echo $! > ready; sleep 600")
    bed.executor.submit(request)
    straggler = int(ready.read_text())
    os.kill(runner_of(bed, request.key), signal.SIGKILL)
    status = bed.end_of(request.key)
    assert (status.outcome, status.exit_code, status.signal) == ("lost", None, None)
    assert not lives(straggler)
    assert bed.end(bed.request("true", resources=Resources(SLOTS))).outcome == "ok"


def test_a_job_that_ran_when_the_machine_went_down_is_told_as_a_node_failure(bed: Bed) -> None:
    ready = bed.fifo("ready")
    request = bed.request("echo up > ready; sleep 600")
    bed.executor.submit(request)
    ready.read_text()
    os.kill(runner_of(bed, request.key), signal.SIGKILL)
    for path, fields in (
        (bed.jobs / request.key / "started.json", ["boot"]),
        (bed.jobs / ".local" / "begun" / request.key, ["process", 2]),
    ):
        record = json.loads(path.read_text())
        place = record
        for field in fields[:-1]:
            place = place[field]
        place[fields[-1]] = "another start of the machine"
        path.write_text(json.dumps(record))
    status = bed.end_of(request.key)
    assert status.outcome == "node_failure"
    assert "machine" in status.reason


def test_a_program_that_somebody_else_ended_has_failed(bed: Bed) -> None:
    ready = bed.fifo("ready")
    request = bed.request("echo up > ready; sleep 600")
    bed.executor.submit(request)
    ready.read_text()
    os.kill(runner_of(bed, request.key), signal.SIGTERM)
    status = bed.end_of(request.key)
    assert (status.outcome, status.signal) == ("failed", signal.SIGTERM)


def test_an_array_that_waits_is_cancelled_whole(bed: Bed) -> None:
    request = bed.request("echo run >> runs", tasks=((), (), ()), resources=bed.made_to_wait())
    bed.executor.submit(request)
    bed.executor.cancel([request.key])
    assert bed.end_of(request.key).outcome == "cancelled"
    assert not (bed.folder / "runs").exists()


def test_the_log_of_an_array_is_asked_for_by_task(bed: Bed) -> None:
    request = bed.request("true", tasks=((),))
    bed.end(request)
    with pytest.raises(JobRequestError, match=task_key(request.key, 0)):
        bed.executor.logs(request.key, "out")


def test_starting_what_is_due_again_and_again_runs_nothing_twice(bed: Bed) -> None:
    requests = [bed.request("echo $EKIDEN_JOB >> runs") for _ in range(3)]
    for request in requests:
        bed.executor.submit(request)
    starters = [subprocess.Popen(starter_command(bed.jobs, 8, 5.0)) for _ in range(4)]
    assert [starter.wait() for starter in starters] == [0, 0, 0, 0]
    bed.executor.wait([request.key for request in requests], 50)
    assert len((bed.folder / "runs").read_text().split()) == 3


def test_a_program_that_will_not_end_is_killed_with_all_that_it_started(bed: Bed) -> None:
    ready = bed.fifo("ready")
    request = bed.request("trap '' TERM; sleep 600 & echo $! > ready; while :; do sleep 600; done")
    bed.executor.submit(request)
    child = int(ready.read_text())
    bed.executor.cancel([request.key])
    status = bed.end_of(request.key)
    assert (status.outcome, status.signal) == ("cancelled", signal.SIGKILL)
    assert not lives(child)


def test_a_job_that_the_queue_lost_with_the_machine_runs_all_the_same(bed: Bed) -> None:
    request = bed.request("echo run >> runs", tasks=((), ()), resources=bed.made_to_wait())
    bed.executor.submit(request)
    for path in (bed.jobs / ".local" / "due").iterdir():
        path.unlink()
    assert bed.executor.status([request.key])[request.key].phase == "pending"
    bed.executor.cancel([JobKey("hold")])
    assert bed.end_of(request.key).outcome == "ok"
    assert (bed.folder / "runs").read_text() == "run\nrun\n"


@pytest.mark.parametrize("place", ["due", "begun"])
def test_what_a_crash_of_the_machine_left_empty_in_the_queue_stops_nobody(bed: Bed, place: str) -> None:
    resources = bed.made_to_wait()
    waiting = bed.request("echo ran >> ran", resources=resources)
    bed.executor.submit(waiting)
    for file in (bed.jobs / ".local" / place).iterdir():
        if waiting.key in file.name or place == "begun":
            file.write_bytes(b"\0\0")
    other = bed.request("echo other")
    bed.another().submit(other)
    bed.executor.cancel([JobKey("hold")])
    found = bed.another().wait([waiting.key, other.key], 50)
    assert [status.outcome for status in found.values()] == ["ok", "ok"]
    assert (bed.folder / "ran").read_text() == "ran\n"


def test_only_the_end_of_a_large_log_is_read(bed: Bed) -> None:
    request = bed.request("true")
    bed.end(request)
    with (bed.jobs / request.key / "out.log").open("ab") as log:
        log.truncate(1 << 38)
        log.seek(0, 2)
        log.write(b"the end\n")
    tail = bed.executor.logs(request.key, "out", last_lines=1, last_bytes=8)
    assert (tail.text, tail.size_bytes, tail.truncated) == ("the end\n", (1 << 38) + 8, True)


def test_a_job_whose_processes_die_before_they_can_run_it_is_given_up(bed: Bed) -> None:
    request = bed.request("true", resources=bed.made_to_wait())
    bed.executor.submit(request)
    queue = LocalQueue(bed.jobs)
    (due,) = queue.due()
    gone = Begun(due._replace(tries=MAX_TRIES - 1), ProcessIdentity(1, "never", "at no time"))
    text = json.dumps({"due": gone.due._asdict(), "process": gone.process})
    (bed.jobs / ".local" / "begun" / request.key).write_text(text)
    (bed.jobs / ".local" / "due" / due.file_name).unlink()
    status = bed.end_of(request.key)
    assert (status.outcome, status.started_at) == ("lost", None)
    assert "never came to run" in status.reason


def test_a_job_that_is_being_started_is_not_told_to_wait_for_itself(bed: Bed) -> None:
    request = bed.request("true", resources=bed.made_to_wait())
    assert bed.executor.submit(request).reason == "2 of 2 processors are taken by earlier jobs."
    (due,) = LocalQueue(bed.jobs).due()
    begun = json.dumps({"due": due._asdict(), "process": this_process()})
    (bed.jobs / ".local" / "begun" / request.key).write_text(begun)
    status = bed.executor.status([request.key])[request.key]
    assert (status.phase, status.reason) == ("pending", "It is being started.")
    (bed.jobs / ".local" / "begun" / request.key).unlink()
