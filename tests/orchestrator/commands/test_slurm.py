"""`ekiden slurm` on this machine: submitted, followed, read and ended, and what is refused in one line."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from command_line import Done, ekiden
from ekiden_config import default_settings
from ekiden_orchestrator.executors import choose_executor
from ekiden_orchestrator.job_options import new_key

PROGRAM = [sys.executable, "-c", "from ekiden_orchestrator.main import main; main()"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder, whose jobs run as processes of this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EKIDEN_SLURM_EXECUTOR", "local")
    monkeypatch.setenv("EKIDEN_SLURM_SLOTS", "2")
    return tmp_path


def slurm(*arguments: object) -> Done:
    return ekiden("slurm", *arguments)


def printed(*arguments: object) -> str:
    done = slurm(*arguments)
    assert done.exit_code == 0, done
    return done.stdout


def test_a_job_is_submitted_waited_for_and_read(folder: Path) -> None:
    done = slurm("submit", "--key", "a", "--env", "GREETING=hello", "sh", "-c", "echo $GREETING; pwd; echo no >&2")
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("a: submitted to this machine (the settings say so (slurm.executor))\n")
    assert printed("wait", "a").startswith("a: ok: ")
    assert printed("logs", "a") == f"hello\n{folder}\n"
    assert printed("logs", "a", "--err") == "no\n"
    assert printed("logs", "a", "-n", 1) == f"{folder}\n"
    assert printed("status").startswith("a: ok: ")


def test_a_job_that_fails_is_told_by_the_exit_status(folder: Path) -> None:
    waited = slurm("submit", "--key", "a", "--wait", "sh", "-c", "exit 3")
    assert waited.exit_code == 1
    assert "a: failed: It exited with code 3; " in waited.stdout
    assert slurm("wait", "a").exit_code == 1
    assert slurm("status", "a").exit_code == 1
    assert slurm("status").exit_code == 0
    assert slurm("logs", "a").exit_code == 0


def test_waiting_ends_when_its_time_is_up_and_the_job_goes_on(folder: Path) -> None:
    printed("submit", "--key", "a", "sleep", "60")
    waited = slurm("wait", "a", "--timeout", "0")
    assert waited.exit_code == 1
    assert re.match(r"a: (pending|running)", waited.stdout)
    assert "a: cancelled" in printed("cancel", "a") + printed_at_its_end("a")


def printed_at_its_end(key: str) -> str:
    return slurm("wait", key).stdout


def test_a_job_is_told_to_programs_as_json(folder: Path) -> None:
    [submitted] = json.loads(printed("submit", "--key", "a", "--json", "true"))
    assert submitted["key"] == "a"
    done = slurm("wait", "a", "--json")
    [ended] = json.loads(done.stdout)
    assert done.stderr == ""
    assert (ended["phase"], ended["outcome"], ended["exit_code"]) == ("ended", "ok", 0)
    assert datetime.fromisoformat(ended["ended_at"]) >= datetime.fromisoformat(ended["submitted_at"])
    assert json.loads(printed("status", "--json")) == [ended]
    assert json.loads(printed("logs", "a", "--json")) == {"text": "", "size_bytes": 0, "truncated": False}


def test_the_same_job_is_submitted_once_and_another_of_its_key_is_refused(folder: Path) -> None:
    for _ in range(2):
        printed("submit", "--key", "a", "--wait", "sh", "-c", "echo once >> ran")
    assert (folder / "ran").read_text() == "once\n"
    other = slurm("submit", "--key", "a", "true")
    assert (other.exit_code, other.stdout) == (2, "")
    assert other.stderr.startswith("ekiden: The key 'a' belongs to another job")


def test_an_array_runs_a_task_for_each_line(folder: Path) -> None:
    (folder / "tasks.txt").write_text("--seed 1\n\n--name 'two words'\n")
    submit = ("submit", "--key", "a", "--tasks", folder / "tasks.txt", "--at-once", 1, "--wait")
    printed(*submit, "sh", "-c", 'echo "$EKIDEN_TASK:$*"', "x")
    assert [printed("logs", f"a_{number}") for number in range(2)] == ["0:--seed 1\n", "1:--name two words\n"]
    assert printed("status", "a", "a_1").count(": ok: ") == 2


def test_a_secret_reaches_the_job_and_no_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "hidden-in-here")
    monkeypatch.setenv("OTHER_KEY", "also-hidden")
    look = 'test "${#API_KEY}" = 14 && test -z "$OTHER_KEY"'
    printed("submit", "--key", "a", "--secret", "API_KEY", "--wait", "sh", "-c", look)
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if b"hidden" in file.read_bytes()]


def test_a_preview_shows_the_job_and_submits_nothing(folder: Path) -> None:
    shown = printed("preview", "--key", "a", "--cpus", 2, "--env", "A=1", "echo", "two words")
    assert f"# the job: echo 'two words', in {folder}\n$ " in shown
    assert "export A=1" in shown
    assert json.loads(printed("preview", "--json", "true"))["executor"] == "local"
    assert printed("status").startswith("No job has been submitted here yet")


def test_a_kind_of_job_gets_what_the_settings_say(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EKIDEN_HPC_AGENT", '{"cpus": 2}')
    look = "echo $AGENT_CPUS $LEANMARATHON_TOTAL_MEM_MB $LEAN_LSP_THREADS"
    printed("submit", "--kind", "agent", "--key", "a", "--wait", "sh", "-c", look)
    assert printed("logs", "a") == "2 7700 2\n"


def test_the_oldest_jobs_are_left_out_and_counted(folder: Path) -> None:
    for key in ("a", "b", "c"):
        printed("submit", "--key", key, "true")
    lines = printed("status", "--limit", 2).splitlines()
    assert [line.partition(":")[0] for line in lines[:2]] == ["c", "b"]
    assert lines[2] == "... and 1 older ones; --limit 3 shows all that local ran."
    for key in ("a", "b", "c"):
        printed("wait", key)


def test_the_cluster_says_who_runs_jobs_and_which_have_not_ended(folder: Path) -> None:
    printed("submit", "--key", "a", "sleep", "60")
    shown = printed("cluster")
    assert shown.startswith("local: the settings say so (slurm.executor)\n  this machine: 2 processors for jobs")
    assert re.search(r"^a: (pending|running)", shown, re.MULTILINE)
    assert [job["key"] for job in json.loads(printed("cluster", "--json"))["jobs"]] == ["a"]
    printed("cancel", "a")
    printed_at_its_end("a")
    assert printed("cluster").endswith("no job that has not ended\n")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("status", "nope"), "There is no job 'nope'"),
        (("wait", "../x"), "There is no job '../x'"),
        (("logs", "nope"), "There is no job 'nope'"),
        (("cancel", "nope"), "There is no job 'nope'"),
        (("submit", "--key", "../x", "true"), "The key '../x'"),
        (("submit", "--time", "soon", "true"), "'soon' is no time limit"),
        (("submit", "--time", "0", "true"), "'0' is no time limit"),
        (("submit", "--memory", "much", "true"), "'much' is no amount of memory"),
        (("submit", "--folder", "gone", "true"), "is not there"),
        (("submit", "--env", "EKIDEN_NO_SUCH", "true"), "there is no such variable here"),
        (("submit", "--secret", "EKIDEN_NO_SUCH", "true"), "there is no such variable here"),
        (("submit", "--secret", "KEY=sk-1", "true"), "--secret takes a variable's name alone"),
        (("submit", "--tasks", "gone.txt", "true"), "The tasks in 'gone.txt' cannot be read"),
        (("submit", "--gpus", "1", "--gres", "gpu:1", "true"), "Give gpus or gres, not both"),
        (("submit", "--warn-signal", "NOPE", "true"), "'NOPE' is no signal"),
        (("submit",), "Missing argument"),
    ],
)
def test_bad_input_is_refused_in_one_line(folder: Path, arguments: tuple[str, ...], text: str) -> None:
    done = slurm(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert text in done.stderr
    assert "Traceback" not in done.stderr
    assert "sk-1" not in done.stderr
    assert not list(folder.rglob("request.json"))


def test_on_a_terminal_jobs_are_a_table(folder: Path) -> None:
    terminal, end = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, "slurm", "submit", "--key", "a", "--wait", "sh", "-c", "exit 4"],
        stdin=subprocess.DEVNULL, stdout=end, stderr=end, env=os.environ | {"COLUMNS": "100", "TERM": "xterm"},
    ) as process:  # fmt: skip
        os.close(end)
        text = b""
        try:
            while data := os.read(terminal, 65_536):
                text += data
        except OSError:  # the other end is closed
            pass
        os.close(terminal)
    assert process.returncode == 1
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.decode())
    assert re.search(r"job +state +exit +time +more", shown)
    assert re.search(r" a +failed +4 +\S+ s +It exited with code 4", shown)


def test_whoever_stops_waiting_ends_no_job(folder: Path) -> None:
    printed("submit", "--key", "a", "sh", "-c", "sleep 60")
    with subprocess.Popen(
        [*PROGRAM, "slurm", "wait", "a"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("a: ")
        process.send_signal(signal.SIGINT)
        told = process.stderr.read()
    assert process.returncode == 130
    assert "the jobs go on" in told
    [status] = json.loads(printed("status", "--json"))
    assert status["phase"] != "ended"
    printed("cancel", "a")
    printed_at_its_end("a")


def test_keys_are_made_from_the_program_and_the_time() -> None:
    assert re.fullmatch(r"python3-\d{8}-\d{6}-[0-9a-f]{4}", new_key("/usr/bin/python3"))
    assert new_key("-~é").startswith("job-")
    assert new_key("a") != new_key("a")
    assert len(new_key("x" * 300)) <= 80


def test_the_orchestrator_gets_the_executor_of_the_settings(folder: Path) -> None:
    packaged = default_settings()
    local = packaged.slurm.model_copy(update={"executor": "local"})
    assert choose_executor(packaged.model_copy(update={"slurm": local})).name == "local"


def test_a_job_whose_folder_is_damaged_hides_no_other(folder: Path) -> None:
    for key in ("a", "b"):
        printed("submit", "--key", key, "--wait", "true")
    (folder / "runs/jobs/local/a/request.json").write_text("{")
    for done in (slurm("status"), slurm("cluster")):
        assert done.exit_code == 2
        assert re.fullmatch(r"ekiden: The request '.*/a/request.json' cannot be read: .*\n", done.stderr)
    assert slurm("status").stdout.startswith("b: ok: ")
    assert "no job that has not ended" in slurm("cluster").stdout


@pytest.mark.parametrize("key", ["../trian-1", "x" * 300, "a\nb", "x_" + "9" * 5000, ""])
def test_no_key_is_too_odd_to_be_told_that_it_is_none(folder: Path, key: str) -> None:
    done = slurm("status", key)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("ekiden: There is no job ")


def test_a_key_that_was_mistyped_is_told_with_the_nearest_one(folder: Path) -> None:
    printed("submit", "--key", "train-1", "--wait", "true")
    assert slurm("wait", "trian-1").stderr.endswith("Did you mean 'train-1'?\n")
    assert slurm("cancel", "other").stderr.endswith("`ekiden slurm status` lists those there are.\n")


def test_a_jobs_folder_that_cannot_be_made_is_told(folder: Path) -> None:
    (folder / "runs").touch()
    done = slurm("submit", "--key", "a", "true")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.endswith("Not a directory; take another jobs folder (slurm.jobs_dir).\n")
