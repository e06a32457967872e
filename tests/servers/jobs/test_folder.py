"""The folder of a job."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from ekiden_jobs import JobKey, JobRequest, JobRequestError, JobsError, Resources, UnknownJobError
from ekiden_jobs.executor import LogTail
from ekiden_jobs.folder import JobFolder, find_job, known_jobs
from ekiden_jobs.journal import Ended, Intended

WORD = "open sesame"


@pytest.fixture
def request_(tmp_path: Path) -> JobRequest:
    return JobRequest(
        JobKey("run-1.prove"),
        ("program", "arg with blank", "ü"),
        tmp_path,
        environment={"A": "line\nline"},
        secrets={"TOKEN": WORD},
        resources=Resources(cpus=2, memory_mb=100, exclude_nodes=("n1",)),
        warn_s=5,
    )


def array_of(request: JobRequest, tasks: int) -> JobRequest:
    return replace(request, tasks=tuple((f"{number}",) for number in range(tasks)))


def files_with(word: str, root: Path) -> list[str]:
    found = (path for path in root.rglob("*") if path.is_file() and word.encode() in path.read_bytes())
    return sorted(str(path.relative_to(root)) for path in found)


def test_a_request_comes_back_without_its_secrets(tmp_path: Path, request_: JobRequest):
    folder = JobFolder.create(tmp_path / "jobs", request_)
    assert folder.request() == replace(request_, secrets={})


def test_secrets_stand_in_one_file_that_only_the_user_can_read(tmp_path: Path, request_: JobRequest):
    folder = JobFolder.create(tmp_path / "jobs", request_)
    assert files_with(WORD, tmp_path) == ["jobs/run-1.prove/secrets"]
    assert stat.S_IMODE(folder.run().secrets.stat().st_mode) == 0o600
    assert json.loads(folder.run().secrets.read_text()) == {"TOKEN": WORD}
    (folder.path / ".secrets.0123.part").write_text(WORD)  # of a submitter killed while it wrote
    folder.drop_secrets()
    assert files_with(WORD, tmp_path) == []


def test_each_task_of_an_array_has_its_secrets_for_itself(tmp_path: Path, request_: JobRequest):
    folder = JobFolder.create(tmp_path / "jobs", array_of(request_, 2))
    assert files_with(WORD, tmp_path) == [f"jobs/run-1.prove/tasks/{number}/secrets" for number in (0, 1)]
    assert folder.runs() == [folder.run(0), folder.run(1)]


def test_the_same_request_finds_the_same_job_and_another_is_refused_its_key(tmp_path: Path, request_: JobRequest):
    root = tmp_path / "jobs"
    folder = JobFolder.create(root, request_)
    assert JobFolder.create(root, replace(request_, secrets={"TOKEN": "a fresh one"})) == folder
    assert json.loads(folder.run().secrets.read_text()) == {"TOKEN": "a fresh one"}
    for other in (
        replace(request_, command=("another",)),
        replace(request_, secrets={}),
        replace(request_, secrets={"ANOTHER": ""}),
        array_of(request_, 1),
    ):
        with pytest.raises(JobRequestError, match=r"'run-1.prove' belongs to another job"):
            JobFolder.create(root, other)


def test_secrets_are_not_put_down_again_once_they_were_taken_or_the_job_is_over(tmp_path: Path, request_: JobRequest):
    folder = JobFolder.create(tmp_path / "jobs", request_)
    folder.run().secrets.unlink()
    folder.run().claim.write_text("{}")
    JobFolder.create(tmp_path / "jobs", request_)
    assert files_with(WORD, tmp_path) == []
    folder.run().claim.unlink()
    folder.journal.add(Ended(outcome="cancelled"))
    JobFolder.create(tmp_path / "jobs", request_)
    assert files_with(WORD, tmp_path) == []


def test_what_a_submitter_that_died_left_undone_is_done_by_the_next(tmp_path: Path, request_: JobRequest):
    root = tmp_path / "jobs"
    folder = JobFolder.create(root, request_)
    folder.run().secrets.rename(folder.path / ".secrets.0123.part")
    JobFolder.create(root, request_)
    assert files_with(WORD, tmp_path) == ["jobs/run-1.prove/secrets"]
    folder.request_file.unlink()
    assert known_jobs(root) == []
    with pytest.raises(UnknownJobError):
        folder.request()
    assert JobFolder.create(root, request_).request() == replace(request_, secrets={})
    assert known_jobs(root) == [request_.key]


def test_jobs_are_found_by_their_keys_and_tasks_by_theirs(tmp_path: Path, request_: JobRequest):
    root = tmp_path / "jobs"
    array = JobFolder.create(root, array_of(request_, 2))
    single = JobFolder.create(root, replace(request_, key=JobKey("a_1")))
    assert find_job(root, JobKey("run-1.prove")) == (array, None)
    assert find_job(root, JobKey("run-1.prove_1")) == (array, 1)
    assert find_job(root, JobKey("a_1")) == (single, None)
    assert known_jobs(root) == ["run-1.prove", "a_1"]
    for unknown in ("run-1.prove_2", "run-1.prove_01", "a", "a_1_0", "../jobs/a_1", "", "_"):
        with pytest.raises(UnknownJobError, match="There is no job"):
            find_job(root, JobKey(unknown))


def test_a_job_and_a_task_never_share_a_key(tmp_path: Path, request_: JobRequest):
    root = tmp_path / "jobs"
    JobFolder.create(root, replace(request_, key=JobKey("a_1")))
    JobFolder.create(root, array_of(replace(request_, key=JobKey("b")), 2))
    with pytest.raises(JobRequestError, match="would have the key 'a_1'"):
        JobFolder.create(root, array_of(replace(request_, key=JobKey("a")), 2))
    with pytest.raises(JobRequestError, match="'b_1' belongs to a task of the array 'b'"):
        JobFolder.create(root, replace(request_, key=JobKey("b_1")))
    JobFolder.create(root, replace(request_, key=JobKey("b_2")))


def test_an_unreadable_request_is_told_with_its_file(tmp_path: Path, request_: JobRequest):
    folder = JobFolder.create(tmp_path / "jobs", request_)
    folder.request_file.write_text("{}")
    with pytest.raises(JobsError, match=r"request\.json' cannot be read"):
        folder.request()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"key": JobKey("../up")}, r"The key '\.\./up' is none"),
        ({"key": JobKey("-x")}, "The key '-x' is none"),
        ({"key": JobKey("x" * 81)}, "is none"),
        ({"command": ()}, "command is empty"),
        ({"command": ("a\0b",)}, "NUL"),
        ({"tasks": (("a\0b",),)}, "NUL"),
        ({"name": "two\nlines"}, "line end"),
        ({"folder": Path("here")}, "not absolute"),
        ({"folder": Path("/not/there")}, "not there; make it first"),
        ({"environment": {"A-B": ""}}, "'A-B' is no name of a variable"),
        ({"environment": {"EKIDEN_TASK": "1"}}, "'EKIDEN_TASK' is set by the runner"),
        ({"environment": {"TOKEN": ""}}, "'TOKEN' is given both"),
        ({"resources": Resources(cpus=0)}, "cpus is 0"),
        ({"resources": Resources(gpus=-1)}, "gpus is -1"),
        ({"resources": Resources(memory_mb=1, memory_mb_per_cpu=1)}, "not both"),
        ({"resources": Resources(gpus=1, gres="gpu:1")}, "not both"),
        ({"warn_signal": "KILL"}, "'KILL' is no signal that can warn"),
        ({"warn_signal": "TERM"}, "these are: ALRM, HUP, INT, QUIT, USR1, USR2"),
        ({"warn_signal": "SIGUSR1"}, "'SIGUSR1' is no signal"),
        ({"warn_s": 0}, "warn_s is 0"),
        ({"warn_s": 60, "resources": Resources(time_limit_s=60)}, "only 60 s"),
        ({"requeues": -1}, "requeues is -1"),
        ({"tasks_at_once": 0}, "tasks_at_once is 0"),
    ],
)
def test_what_cannot_be_a_job_is_refused(tmp_path: Path, request_: JobRequest, wrong: dict[str, object], told: str):
    with pytest.raises(JobRequestError, match=told):
        JobFolder.create(tmp_path / "jobs", replace(request_, **wrong))
    assert not (tmp_path / "jobs").exists()


def test_a_tail_tells_what_it_leaves_out(tmp_path: Path, request_: JobRequest):
    run = JobFolder.create(tmp_path / "jobs", request_).run()
    assert run.tail("out") == LogTail("", 0, truncated=False)
    run.log("out").write_bytes(b"1\n2\n\xff3\nlast")
    assert run.tail("out") == LogTail("1\n2\n\ufffd3\nlast", 11, truncated=False)
    assert run.tail("out", last_lines=2) == LogTail("\ufffd3\nlast", 11, truncated=True)
    assert run.tail("out", last_lines=9) == LogTail("1\n2\n\ufffd3\nlast", 11, truncated=False)
    assert run.tail("out", last_lines=0) == LogTail("", 11, truncated=True)
    assert run.tail("out", last_bytes=6) == LogTail("3\nlast", 11, truncated=True)
    assert run.tail("err") == LogTail("", 0, truncated=False)


def test_a_job_is_one_persons_at_a_time(tmp_path: Path, request_: JobRequest):
    folder = JobFolder.create(tmp_path / "jobs", request_)
    with folder.locked(), pytest.raises(JobsError, match="busy with job"), folder.locked(0):
        pass
    with folder.locked(0):
        folder.journal.add(Intended(attempt=1, name="run-1.prove.1", executor="local"))
