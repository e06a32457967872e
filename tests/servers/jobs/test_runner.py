"""The runner, under which every job runs."""

import hashlib
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired

import pytest

from ekiden_jobs import Resources
from ekiden_jobs.records import EndedRun, StartedRun
from ekiden_warden import end_strays
from runner_bed import Job, claim_of, ended, files_with, finish, python, shell, started, wait_end, watch_end

WORD = "open sesame"
READY_THEN_WAIT = 'echo $$ > "$MEET"; exec sleep 1000'


def test_what_a_program_says_and_how_it_ends_is_kept(tmp_path: Path):
    job = Job(
        tmp_path, shell('echo out; echo err >&2; pwd; echo "$A-$EKIDEN_RESTARTS"; exit 3'), environment={"A": "ü\n"}
    )
    assert job.run("7", "--restarts", "2") == 3
    assert (job.out(), job.err()) == (f"out\n{job.work}\nü\n-2\n", "err\n")
    run = job.folder.run()
    begin, end = started(run), ended(run)
    node = os.uname().nodename
    assert begin == StartedRun("7", 2, 1, node, begin.pid, begin.started, begin.boot, begin.at)
    assert end == EndedRun("7", 2, 1, node, 3, None, "", (), end.peak_memory_mb, begin.at, end.at)
    assert begin.at <= end.at
    assert claim_of(run)["native_id"] == "7"


@pytest.mark.parametrize(("name", "code"), [("KILL", 137), ("SEGV", 139), ("TERM", 143)])
def test_a_program_that_a_signal_ends_is_told_from_one_that_exits(tmp_path: Path, name: str, code: int):
    job = Job(tmp_path, shell(f"kill -{name} $$"))
    assert job.run() == code
    assert ended(job.folder.run())[4:8] == (None, code - 128, "", ())


def test_the_runner_heeds_no_variable_that_changes_an_interpreter(tmp_path: Path):
    job = Job(tmp_path, shell("echo ran; wc -c"))
    assert job.run(environment={"PYTHONPATH": "/nowhere", "PYTHONHOME": "/nowhere", "PYTHONSTARTUP": "/nowhere"}) == 0
    assert job.out() == "ran\n0\n"


def test_slurms_variables_tell_what_the_command_line_does_not(tmp_path: Path):
    job = Job(tmp_path, shell("true"))
    slurm = {"SLURM_JOB_ID": "12", "SLURM_RESTART_COUNT": "3", "SLURMD_NODENAME": "n2"}
    assert job.run("", environment=slurm) == 0
    assert started(job.folder.run())[:4] == ("12", 3, 1, "n2")


def test_tasks_of_an_array_are_claimed_run_and_kept_apart(tmp_path: Path):
    job = Job(
        tmp_path, ("/bin/sh", "-c", 'echo "$EKIDEN_TASK $*"; exit $EKIDEN_TASK', "-"), tasks=(("a b",), ("c", "d"))
    )
    assert [job.run(f"{number}", "--task", f"{number}") for number in (0, 1)] == [0, 1]
    assert [job.out(number) for number in (0, 1)] == ["0 a b\n", "1 c d\n"]
    assert [ended(run).native_id for run in job.folder.runs()] == ["0", "1"]
    assert not job.folder.run().claim.exists()
    assert finish(job.start("2", "--task", "2"))[0] == 127


def test_of_many_runners_of_one_job_exactly_one_runs_it(tmp_path: Path):
    job = Job(tmp_path, shell("echo ran"))
    runners = [job.start(f"{number}") for number in range(4)]
    ends = [finish(runner) for runner in runners]
    assert sorted(code for code, _ in ends) == [0, 86, 86, 86]
    assert job.out() == "ran\n"
    owner = claim_of(job.folder.run())["native_id"]
    told = [text for code, text in ends if code == 86]
    assert all(f"this job belongs to '{owner}'" in text for text in told)


def test_a_runner_turned_away_leaves_everything_as_it_is(tmp_path: Path):
    job = Job(tmp_path, shell(READY_THEN_WAIT), secrets={"TOKEN": WORD}, requeues=1)
    runner = job.start("1")
    job.hear()
    before = {path: path.read_bytes() for path in job.folder.path.iterdir()}
    assert job.run("2") == 86
    assert {path: path.read_bytes() for path in job.folder.path.iterdir()} == before
    runner.terminate()
    assert finish(runner)[0] == 143


def test_a_job_that_ended_by_itself_is_not_run_again_by_a_requeue(tmp_path: Path):
    job = Job(tmp_path, shell("echo ran; exit 5"), requeues=3)
    assert job.run("7") == 5
    code, told = finish(job.start("7", "--restarts", "1"))
    assert code == 5
    assert "this job ended before, with exit code 5" in told
    assert job.out() == "ran\n"
    assert ended(job.folder.run()).restarts == 0


def test_a_job_that_was_asked_to_end_runs_again_as_often_as_it_may(tmp_path: Path):
    job = Job(
        tmp_path, shell('trap "exit 9" TERM; echo run $EKIDEN_RESTARTS; echo > "$MEET"; sleep 1000 & wait'), requeues=1
    )
    for restarts in (0, 1):
        runner = job.start("7", "--restarts", f"{restarts}")
        job.hear()
        runner.terminate()
        assert finish(runner)[0] == 9
        record = ended(job.folder.run())
        assert (record.run, record.restarts, record.exit_code, record.heard) == (
            restarts + 1,
            restarts,
            9,
            ("SIGTERM",),
        )
    code, told = finish(job.start("7", "--restarts", "2"))
    assert (code, job.out()) == (87, "run 0\nrun 1\n")
    assert "has run 2 times and may be put back 1 times" in told
    assert (job.folder.path / "ended-1.json").exists()


def test_a_killed_runner_takes_its_program_along(tmp_path: Path):
    job = Job(tmp_path, shell(READY_THEN_WAIT))
    runner = job.start()
    program = watch_end(int(job.hear()))
    runner.kill()
    assert finish(runner)[0] == -signal.SIGKILL
    assert wait_end(program)
    assert job.folder.run().started() is not None
    assert job.folder.run().ended() is None


def test_what_a_program_of_a_killed_runner_had_started_can_be_found(tmp_path: Path):
    job = Job(tmp_path, shell('setsid sleep 1000 & echo $! > "$MEET"; wait'))
    runner = job.start()
    stray = watch_end(int(job.hear()))
    runner.kill()
    finish(runner)
    assert end_strays("EKIDEN_JOB", str(job.folder.path)) >= 1
    assert wait_end(stray)


@pytest.mark.parametrize(("requeues", "code"), [(0, 87), (1, 0)])
def test_a_job_whose_runner_was_killed_runs_again_only_if_it_may(tmp_path: Path, requeues: int, code: int):
    job = Job(
        tmp_path, shell('echo run; test $EKIDEN_RESTARTS = 1 || { echo > "$MEET"; sleep 1000; }'), requeues=requeues
    )
    runner = job.start("7")
    job.hear()
    runner.kill()
    finish(runner)
    assert job.run("7", "--restarts", "1") == code
    assert job.out() == "run\n" * (1 + requeues)


def test_wherever_a_runner_is_killed_its_job_runs_at_most_once(tmp_path: Path):
    for number in range(12):
        place = tmp_path / f"{number}"
        place.mkdir()
        job = Job(place, shell("echo ran"), secrets={"TOKEN": WORD})
        runner = job.start("7")
        with suppress(TimeoutExpired):
            runner.wait(timeout=number * 0.01)
        runner.kill()
        finish(runner)
        code = job.run("7")
        assert code in {0, 87}
        assert job.out() in ({"ran\n"} if code == 0 else {"", "ran\n"})
        assert (job.folder.run().ended() is not None) == (code == 0)


def test_a_second_run_waits_for_the_end_of_the_first(tmp_path: Path):
    job = Job(tmp_path, shell('echo ran; echo > "$MEET"; read go < "$MEET"; exit 4'), requeues=1)
    first = job.start("7")
    job.hear()
    second = job.start("7", "--restarts", "1")
    with Path(tmp_path / "meeting").open("w") as meeting:
        meeting.write("go\n")
    assert finish(first)[0] == 4
    assert finish(second)[0] == 4
    assert job.out() == "ran\n"


def test_a_second_run_that_waits_ends_when_asked_to(tmp_path: Path):
    job = Job(tmp_path, shell(READY_THEN_WAIT), requeues=1)
    first = job.start("7")
    job.hear()
    second = job.start("7", deaf=True)
    second.terminate()
    code, told = finish(second)
    assert code == 143
    assert "an earlier run of this job still lived" in told
    first.terminate()
    finish(first)


def test_a_runner_that_is_asked_to_end_before_it_began_runs_nothing(tmp_path: Path):
    job = Job(tmp_path, shell("echo ran"), secrets={"TOKEN": WORD})
    runner = job.start("7", deaf=True)
    runner.terminate()
    assert finish(runner)[0] == 143
    run = job.folder.run()
    assert run.started() is None
    assert ended(run)[2:8] == (0, os.uname().nodename, None, 15, "", ("SIGTERM",))
    assert job.run("7", "--restarts", "1") == 0  # nothing has run, so that even what may not be repeated may
    assert job.out() == "ran\n"


def test_a_program_that_will_not_end_is_killed_after_its_grace(tmp_path: Path):
    job = Job(
        tmp_path,
        python("import os, signal; signal.signal(15, signal.SIG_IGN); open(os.environ['MEET'], 'w'); signal.pause()"),
    )
    runner = job.start("1", "--grace-s", "0.2")
    job.hear()
    runner.terminate()
    assert finish(runner)[0] == 137
    assert ended(job.folder.run())[4:8] == (None, 9, "", ("SIGTERM",))


@pytest.mark.parametrize("end", ["kill -TERM $$", "kill -KILL $$", "exit 143"])
def test_a_signal_to_all_of_a_job_is_heard_though_the_program_dies_of_it_first(tmp_path: Path, end: str):
    job = Job(tmp_path, shell(f'echo $$ > "$MEET"; {end}'), requeues=1)
    runner = job.start("7")
    program = int(job.hear())
    with suppress(ProcessLookupError):  # its runner has seen its end already
        assert wait_end(watch_end(program))
    runner.terminate()
    finish(runner)
    record = ended(job.folder.run())
    assert (record.heard, record.is_final) == (("SIGTERM",), False)


def test_a_stopped_program_can_be_ended(tmp_path: Path):
    job = Job(tmp_path, shell('echo $$ > "$MEET"; kill -STOP $$'))
    runner = job.start()
    job.hear()
    runner.terminate()
    assert finish(runner)[0] == 143


def test_a_warning_from_outside_reaches_the_program_alone(tmp_path: Path):
    script = 'trap "echo warned; kill $!" USR1; sleep 1000 & echo > "$MEET"; wait $!; echo "the child had $?"'
    job = Job(tmp_path, shell(script))
    runner = job.start()
    job.hear()
    runner.send_signal(signal.SIGUSR1)
    assert finish(runner)[0] == 0
    assert job.out().startswith("warned\n")
    record = ended(job.folder.run())
    assert (record.heard, record.is_final) == (("SIGUSR1",), True)


def test_all_that_a_program_leaves_behind_ends_with_it(tmp_path: Path):
    job = Job(
        tmp_path,
        # It waits at a pipe of its own: at $MEET it might take away what is meant for the test.
        shell('(setsid sh -c \'trap "" TERM; echo $$ > "$MEET"; sleep 1000; sleep 1000\' &) ; read x < go'),
    )
    os.mkfifo(job.work / "go")
    runner = job.start()
    left = watch_end(int(job.hear()))
    (job.work / "go").write_text("go\n")
    assert finish(runner)[0] == 0
    assert wait_end(left)


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [
        (("no-such-program",), 127, "ekiden: there is no program 'no-such-program'\n"),
        (("/no/such/program", "x"), 127, "ekiden: there is no program '/no/such/program'\n"),
        (("/etc/passwd",), 126, "ekiden: cannot run '/etc/passwd' in"),
    ],
)
def test_a_program_that_cannot_be_run_is_told(tmp_path: Path, command: tuple[str, ...], code: int, told: str):
    job = Job(tmp_path, command)
    assert job.run() == code
    assert job.err().startswith(told)
    assert ended(job.folder.run()).exit_code == code


def test_a_folder_that_is_gone_is_told(tmp_path: Path):
    job = Job(tmp_path, shell("true"))
    job.work.rmdir()
    assert job.run() == 127
    assert job.err() == f"ekiden: there is no folder '{job.work}'\n"


def test_a_program_is_searched_where_its_own_path_says(tmp_path: Path):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "greet"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    job = Job(tmp_path, ("greet",), environment={"PATH": f"{tmp_path}/bin"})
    assert job.run() == 0
    assert job.out() == "hello\n"


def test_much_output_is_kept_whole(tmp_path: Path):
    job = Job(tmp_path, shell("head -c 20000000 /dev/zero; echo; echo end"))
    assert job.run() == 0
    tail = job.folder.run().tail("out", last_lines=1)
    assert (tail.text, tail.size_bytes, tail.truncated) == ("end\n", 20_000_005, True)


def test_a_program_that_cannot_write_for_want_of_room_is_still_followed_to_its_end(tmp_path: Path):
    job = Job(tmp_path, ("cat", "/etc/passwd"))
    job.folder.run().log("out").symlink_to("/dev/full")
    assert job.run() == 1
    assert "No space left on device" in job.err()
    assert ended(job.folder.run()).exit_code == 1


def test_logs_that_cannot_be_opened_are_told_and_recorded(tmp_path: Path):
    job = Job(tmp_path, shell("true"))
    job.folder.run().log("out").mkdir()
    code, told = finish(job.start())
    assert code == 127
    assert "out.log" in told
    assert ended(job.folder.run()).exit_code == 127


@pytest.mark.parametrize("requeues", [0, 1])
def test_a_secret_reaches_the_program_and_stays_nowhere(tmp_path: Path, requeues: int):
    program = python(
        "import os, hashlib; print(hashlib.sha256(os.environ['TOKEN'].encode()).hexdigest(), flush=True);"
        "open(os.environ['MEET'], 'w').write(str(os.getpid())); open(os.environ['MEET']).read()"
    )
    job = Job(tmp_path, program, secrets={"TOKEN": WORD}, requeues=requeues)
    runner = job.start()
    pid = job.hear()
    assert files_with(WORD, tmp_path / "jobs") == (["job/secrets"] if requeues else [])
    for process in (runner.pid, pid):
        assert WORD.encode() not in Path(f"/proc/{process}/cmdline").read_bytes()
    assert WORD.encode() not in Path(f"/proc/{runner.pid}/environ").read_bytes()
    with Path(tmp_path / "meeting").open("w"):
        pass
    assert finish(runner)[0] == 0
    assert job.out() == hashlib.sha256(WORD.encode()).hexdigest() + "\n"
    assert files_with(WORD, tmp_path) == []


def test_a_secret_waits_for_the_next_run_and_goes_with_the_last(tmp_path: Path):
    job = Job(
        tmp_path,
        shell('test -n "$TOKEN" && echo had; echo > "$MEET"; exec sleep 1000'),
        secrets={"TOKEN": WORD},
        requeues=1,
    )
    for left in (["job/secrets"], []):
        runner = job.start("7")
        job.hear()
        runner.terminate()
        assert finish(runner)[0] == 143
        assert files_with(WORD, tmp_path / "jobs") == left
    assert job.out() == "had\nhad\n"


def test_a_job_whose_secrets_are_gone_does_not_run(tmp_path: Path):
    job = Job(tmp_path, shell("echo ran"), secrets={"TOKEN": WORD})
    job.folder.drop_secrets()
    code, told = finish(job.start())
    assert (code, job.out()) == (127, "")
    assert "secrets" in told
    assert ended(job.folder.run()).exit_code == 127


GREEDY = "import os, signal; kept = bytearray(b'x') * (300 << 20); open(os.environ['MEET'], 'w').close()"


@pytest.mark.parametrize("wish", [Resources(memory_mb=100), Resources(memory_mb_per_cpu=50, cpus=2)])
def test_a_program_that_takes_too_much_memory_is_killed_with_all_that_it_started(tmp_path: Path, wish: Resources):
    job = Job(tmp_path, (*shell('"$0" -c "$1; signal.pause()"; true'), sys.executable, GREEDY), resources=wish)
    runner = job.start("1", "--keep-bounds")
    assert finish(runner)[0] == 137
    record = ended(job.folder.run())
    assert record[4:7] == (None, 9, "memory")
    assert record.peak_memory_mb > 100
    assert record.is_final


def test_bounds_are_the_systems_unless_the_runner_is_told_to_keep_them(tmp_path: Path):
    job = Job(tmp_path, python(GREEDY), resources=Resources(memory_mb=100))
    runner = job.start()
    job.hear()
    assert finish(runner)[0] == 0
    assert ended(job.folder.run()).peak_memory_mb >= 300


def test_a_program_is_warned_before_its_time_is_up_and_then_ended(tmp_path: Path):
    script = 'trap "echo warned" USR2; trap "echo asked; exit 8" TERM; while :; do sleep 1000 & wait $!; done'
    job = Job(tmp_path, shell(script), resources=Resources(time_limit_s=2), warn_s=1, warn_signal="USR2")
    assert job.run("1", "--keep-bounds") == 8
    assert job.out() == "warned\nasked\n"
    record = ended(job.folder.run())
    assert record[4:8] == (8, None, "time", ())
    assert record.is_final


def test_what_comes_afterwards_finds_the_job_over(tmp_path: Path):
    job = Job(tmp_path, shell("exit 3"))
    afterwards = f'["/bin/sh", "-c", "cat {job.folder.path}/ended.json > $MEET"]'
    runner = job.start("1", "--afterwards", afterwards)
    assert '"exit_code": 3' in job.hear()
    assert finish(runner)[0] == 3
    again = job.start("2", "--afterwards", afterwards)
    assert '"exit_code": 3' in job.hear()
    assert finish(again)[0] == 86


@pytest.mark.parametrize("options", [["--what"], ["--task", "one"], ["--task"], ["--afterwards", "{"]])
def test_a_command_line_nobody_understands_is_told(tmp_path: Path, options: list[str]):
    job = Job(tmp_path, shell("true"))
    code, told = finish(job.start("1", *options))
    assert code == 2
    assert "it must be: FOLDER [--id ID]" in told
    assert not job.folder.run().claim.exists()


def test_a_job_that_is_not_there_is_told(tmp_path: Path):
    job = Job(tmp_path, shell("true"))
    job.folder.request_file.unlink()
    code, told = finish(job.start())
    assert code == 127
    assert "request.json" in told
