"""What every executor must do: subclass `ExecutorConformance` beside a fixture `bed` that gives one."""

import json
import os
import signal
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ekiden_jobs import (
    Executor,
    JobKey,
    JobRequest,
    JobRequestError,
    JobStatus,
    Resources,
    Statuses,
    UnknownJobError,
    task_key,
)

PATIENCE_S = 50.0
ODD = "a 'b' \"c\" $HOME `d` \\ *, ;=\né◇"


@dataclass(frozen=True)
class Bed:
    """An executor to be tested.

    Attributes:
        executor: The executor.
        jobs: Its jobs folder.
        folder: Where programs run.
        another: Makes another one on the same jobs folder, as another process would.
        made_to_wait: Returns resources with which a job submitted next waits until the test is over.
    """

    executor: Executor
    jobs: Path
    folder: Path
    another: Callable[[], Executor]
    made_to_wait: Callable[[], Resources]

    def request(self, script: str, **fields: Any) -> JobRequest:
        """Return a job that runs a shell script, under a key that no other has."""
        key = fields.pop("key", None) or JobKey(f"job-{uuid.uuid4().hex[:12]}")
        return JobRequest(key, ("sh", "-c", script, "sh"), self.folder, **fields)

    def end(self, request: JobRequest) -> JobStatus:
        """Submit a job and wait for its end."""
        self.executor.submit(request)
        return self.end_of(request.key)

    def end_of(self, key: JobKey) -> JobStatus:
        """Wait for the end of a job."""
        status = self.executor.wait([key], PATIENCE_S)[key]
        assert status.phase == "ended", status
        return status

    def fifo(self, name: str) -> Path:
        """Make a pipe in the programs' folder: to read it waits until a program has written to it."""
        os.mkfifo(self.folder / name)
        return self.folder / name


def lives(pid: int) -> bool:
    """Tell whether a process runs; one that waits for its parent to hear of its end does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False


def whole_text(folder: Path) -> bytes:
    """Return all that stands in the files under a folder, their names included."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return b"\n".join(str(path).encode() + b"\n" + path.read_bytes() for path in files)


class ExecutorConformance:
    """The tests."""

    def test_a_program_that_succeeds_is_told_with_all_that_is_known(self, bed: Bed) -> None:
        request = bed.request("echo out; echo err >&2; pwd")
        submitted = bed.executor.submit(request)
        assert submitted.key == request.key
        assert submitted.phase in {"pending", "running", "ended"}
        status = bed.end_of(request.key)
        assert (status.outcome, status.exit_code, status.signal, status.restarts) == ("ok", 0, None, 0)
        assert status.native_id
        assert status.node
        assert not status.stale
        assert status.submitted_at is not None
        assert status.started_at is not None
        assert status.ended_at is not None
        assert status.started_at <= status.ended_at
        assert bed.executor.logs(request.key, "out").text == f"out\n{bed.folder}\n"
        assert bed.executor.logs(request.key, "err").text == "err\n"

    def test_the_exit_code_of_a_program_is_told_whatever_it_is(self, bed: Bed) -> None:
        requests = {code: bed.request(f"exit {code}") for code in (1, 86, 137, 255)}
        for request in requests.values():
            bed.executor.submit(request)
        ends = bed.executor.wait([request.key for request in requests.values()], PATIENCE_S)
        for code, request in requests.items():
            status = ends[request.key]
            assert (status.phase, status.outcome, status.exit_code, status.signal) == ("ended", "failed", code, None)
            assert str(code) in status.reason

    def test_the_signal_that_ended_a_program_is_told(self, bed: Bed) -> None:
        status = bed.end(bed.request("kill -9 $$"))
        assert (status.outcome, status.exit_code, status.signal) == ("failed", None, signal.SIGKILL)
        assert "SIGKILL" in status.reason

    def test_a_program_that_is_not_there_fails_and_says_so(self, bed: Bed) -> None:
        request = JobRequest(bed.request("").key, ("/nowhere/program",), bed.folder)
        status = bed.end(request)
        assert (status.outcome, status.exit_code) == ("failed", 127)
        assert "/nowhere/program" in bed.executor.logs(request.key, "err").text

    def test_arguments_and_variables_arrive_as_they_are(self, bed: Bed) -> None:
        code = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['VALUE'], sys.stdin.read()]))"
        request = JobRequest(
            bed.request("").key, ("python3", "-c", code, ODD, "", "-x"), bed.folder, environment={"VALUE": ODD}
        )
        bed.end(request)
        assert json.loads(bed.executor.logs(request.key, "out").text) == [[ODD, "", "-x"], ODD, ""]

    def test_a_program_gets_nothing_of_the_environment_it_was_submitted_from(
        self, bed: Bed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PLANTED_FOR_TEST", "planted-value")
        request = bed.request("env; echo PATH=$PATH")
        bed.end(request)
        text = bed.executor.logs(request.key, "out").text
        assert "planted-value" not in text
        assert "PATH=/" in text
        assert b"planted-value" not in whole_text(bed.jobs)

    def test_a_secret_reaches_the_program_and_stays_nowhere(self, bed: Bed) -> None:
        secret = f"s3cret-{uuid.uuid4().hex}"
        ready, go = bed.fifo("ready"), bed.fifo("go")
        request = bed.request(
            'echo up > ready; read _ < go; printf %s "$TOKEN" | cksum; test -n "$TOKEN"', secrets={"TOKEN": secret}
        )
        preview = bed.executor.preview(request)
        assert secret not in f"{preview}{request!r}"
        bed.executor.submit(request)
        ready.read_text()
        lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
        assert not any(secret.encode() in line for line in lines)
        assert secret.encode() not in whole_text(bed.jobs)
        go.write_text("\n")
        assert bed.end_of(request.key).outcome == "ok"
        assert secret.encode() not in whole_text(bed.jobs)

    def test_a_key_is_one_job_however_often_it_is_submitted(self, bed: Bed) -> None:
        request = bed.request("echo run >> runs")
        bed.executor.submit(request)
        bed.another().submit(request)
        bed.end_of(request.key)
        again = bed.another().submit(request)
        assert (again.phase, again.outcome) == ("ended", "ok")
        assert (bed.folder / "runs").read_text() == "run\n"

    def test_a_key_that_many_submit_at_once_is_one_job(self, bed: Bed) -> None:
        request = bed.request("echo run >> runs")
        found: list[JobStatus] = []
        threads = [threading.Thread(target=lambda: found.append(bed.another().submit(request))) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {status.key for status in found} == {request.key}
        assert len(found) == len(threads)
        bed.end_of(request.key)
        assert (bed.folder / "runs").read_text() == "run\n"

    def test_another_job_under_a_known_key_is_refused(self, bed: Bed) -> None:
        request = bed.request("true")
        bed.executor.submit(request)
        with pytest.raises(JobRequestError, match=request.key):
            bed.executor.submit(bed.request("false", key=request.key))
        assert bed.end_of(request.key).outcome == "ok"

    def test_a_job_that_cannot_be_is_refused_and_leaves_nothing(self, bed: Bed) -> None:
        for bad in (
            bed.request("true", key=JobKey("../up")),
            JobRequest(JobKey("k"), (), bed.folder),
            JobRequest(JobKey("k"), ("true",), bed.folder / "nowhere"),
            bed.request("true", resources=Resources(cpus=0)),
        ):
            with pytest.raises(JobRequestError):
                bed.executor.submit(bad)
            with pytest.raises(JobRequestError):
                bed.executor.preview(bad)
        assert bed.executor.known() == []

    def test_a_job_that_nobody_knows_is_told_by_its_key(self, bed: Bed) -> None:
        nobody = JobKey("nobody")
        asked: list[Callable[[], object]] = [
            lambda: bed.executor.status([nobody]),
            lambda: bed.executor.wait([nobody], 0),
            lambda: bed.executor.cancel([nobody]),
            lambda: bed.executor.logs(nobody, "out"),
            lambda: bed.executor.status([JobKey("../../etc")]),
        ]
        for ask in asked:
            with pytest.raises(UnknownJobError):
                ask()

    def test_a_preview_submits_nothing(self, bed: Bed) -> None:
        preview = bed.executor.preview(bed.request("echo run >> runs", environment={"SHOWN": "shown-value"}))
        assert preview.command
        assert "shown-value" in preview.script
        assert bed.executor.known() == []

    def test_jobs_are_found_again_by_whoever_looks(self, bed: Bed) -> None:
        requests = [bed.request(f"echo {number}") for number in range(3)]
        for request in requests:
            bed.executor.submit(request)
        other = bed.another()
        keys = [request.key for request in requests]
        assert other.known() == keys
        ends = other.wait(keys, PATIENCE_S)
        assert {status.outcome for status in ends.values()} == {"ok"}
        assert [other.logs(key, "out").text for key in keys] == ["0\n", "1\n", "2\n"]
        assert dict(bed.executor.status(keys)) == dict(other.status(keys))

    def test_nothing_asked_is_nothing_told(self, bed: Bed) -> None:
        assert dict(bed.executor.status([])) == {}
        assert dict(bed.executor.wait([], None)) == {}
        assert dict(bed.executor.cancel([])) == {}
        assert bed.executor.known() == []

    def test_waiting_ends_with_its_time(self, bed: Bed) -> None:
        ready = bed.fifo("ready")
        request = bed.request("echo up > ready; sleep 600")
        bed.executor.submit(request)
        ready.read_text()
        looks: list[Statuses] = []
        found = bed.executor.wait([request.key], 0.1, tick=looks.append)[request.key]
        assert found.phase == "running"
        assert looks
        assert looks[-1][request.key] == found
        bed.executor.cancel([request.key])
        bed.end_of(request.key)

    def test_a_log_is_shown_from_its_end(self, bed: Bed) -> None:
        request = bed.request("for i in $(seq 1 2000); do echo line $i; done")
        bed.end(request)
        whole = bed.executor.logs(request.key, "out")
        assert not whole.truncated
        assert len(whole.text.encode()) == whole.size_bytes
        lines = bed.executor.logs(request.key, "out", last_lines=2)
        assert (lines.text, lines.truncated, lines.size_bytes) == ("line 1999\nline 2000\n", True, whole.size_bytes)
        assert bed.executor.logs(request.key, "out", last_bytes=10).text == whole.text[-10:]
        assert bed.executor.logs(request.key, "err").text == ""

    def test_every_task_of_an_array_has_its_own_arguments_number_and_log(self, bed: Bed) -> None:
        request = bed.request('echo "$EKIDEN_TASK $1"', tasks=(("zero",), (ODD,), ("two",)))
        status = bed.end(request)
        assert (status.outcome, status.exit_code) == ("ok", 0)
        keys = [task_key(request.key, number) for number in range(3)]
        assert {task.outcome for task in bed.executor.status(keys).values()} == {"ok"}
        assert [bed.executor.logs(key, "out").text for key in keys] == ["0 zero\n", f"1 {ODD}\n", "2 two\n"]
        assert bed.executor.known() == [request.key]
        with pytest.raises(UnknownJobError):
            bed.executor.status([task_key(request.key, 3)])

    def test_an_array_tells_the_first_task_that_failed(self, bed: Bed) -> None:
        request = bed.request('exit "$1"', tasks=(("0",), ("5",), ("6",), ("0",)))
        status = bed.end(request)
        assert (status.outcome, status.exit_code) == ("failed", 5)
        keys = [task_key(request.key, number) for number in range(4)]
        assert [task.exit_code for task in bed.executor.status(keys).values()] == [0, 5, 6, 0]

    def test_no_more_tasks_run_together_than_may(self, bed: Bed) -> None:
        script = "mkdir busy || exit 9; sleep 0.2; rmdir busy"
        status = bed.end(bed.request(script, tasks=((), (), (), ()), tasks_at_once=1))
        assert status.outcome == "ok"

    def test_a_running_program_is_cancelled_with_all_that_it_started(self, bed: Bed) -> None:
        ready = bed.fifo("ready")
        request = bed.request("trap 'exit 0' TERM; setsid sleep 600 & echo $! > ready; while :; do sleep 0.1; done")
        bed.executor.submit(request)
        straggler = int(ready.read_text())
        assert lives(straggler)
        bed.executor.cancel([request.key])
        status = bed.end_of(request.key)
        assert status.outcome == "cancelled"
        assert status.reason
        assert not lives(straggler)

    def test_a_job_that_waits_is_cancelled_and_never_runs(self, bed: Bed) -> None:
        request = bed.request("echo run >> runs", resources=bed.made_to_wait())
        assert bed.executor.submit(request).phase == "pending"
        waiting = bed.executor.status([request.key])[request.key]
        assert waiting.phase == "pending"
        assert waiting.reason
        bed.executor.cancel([request.key])
        status = bed.end_of(request.key)
        assert (status.outcome, status.started_at) == ("cancelled", None)
        assert not (bed.folder / "runs").exists()

    def test_one_task_of_an_array_is_cancelled_and_the_others_run(self, bed: Bed) -> None:
        ready, go = bed.fifo("ready"), bed.fifo("go")
        script = 'test "$1" = 0 && { echo up > ready; read _ < go; }; echo "$1" >> runs; exit 0'
        request = bed.request(script, tasks=(("0",), ("1",), ("2",)), tasks_at_once=1)
        bed.executor.submit(request)
        ready.read_text()
        key = task_key(request.key, 1)
        bed.executor.cancel([key])
        go.write_text("\n")
        assert bed.end_of(request.key).outcome == "cancelled"
        keys = [task_key(request.key, number) for number in range(3)]
        outcomes = [status.outcome for status in bed.executor.status(keys).values()]
        assert outcomes == ["ok", "cancelled", "ok"]
        assert (bed.folder / "runs").read_text() == "0\n2\n"

    def test_what_has_ended_cannot_be_cancelled(self, bed: Bed) -> None:
        request = bed.request("exit 3")
        before = bed.end(request)
        assert bed.executor.cancel([request.key])[request.key] == before
        assert bed.another().status([request.key])[request.key] == before
