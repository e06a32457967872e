"""The lines between a solver and its runner, and the solver's end."""

import json
import socket
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import pytest
from inline_snapshot import snapshot

from ekiden_config import JudgeName, Settings
from ekiden_judge import (
    CheckItem,
    CheckResult,
    JudgeConfigurationError,
    JudgeError,
    JudgeInfrastructureError,
    Limits,
)
from ekiden_judge.checker import Done
from ekiden_judge.choice import Judge
from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.solo.errors import SoloError
from marathon_bed import processes_of
from orchestrator.solo.conftest import EASY, SoloBed
from scripted_checker import ScriptedChecker

FLOOD = 1_048_576


def test_the_first_line_holds_the_problem_without_its_label_and_the_budget(bed: SoloBed) -> None:
    bed.run(bed.solver("tell(start)"))
    assert bed.told() == snapshot(
        [
            {
                "problem": {
                    "id": "easy",
                    "eq1_id": 4,
                    "eq2_id": 65,
                    "equation1": "x = x * y",
                    "equation2": "x ◇ y = y ◇ x",
                    "difficulty": "normal",
                },
                "budget": {"timeout_seconds": 3600, "max_code_length": 100000, "max_false_cert_bytes": 20000},
            }
        ]
    )


def test_an_accepted_answer_solves_the_problem_and_ends_the_solver(bed: SoloBed) -> None:
    source = 'tell(call("judge", verdict="false", code=WRONG)["status"])\ncall("judge", verdict="false", code=RIGHT)'
    assert bed.run(bed.solver(f"{source}\nwhile True: signal.pause()"))
    record = bed.record
    assert (record.solved, record.verdict, record.judge_calls, record.llm_calls) == (True, "false", 2, 0)
    assert record.code is not None
    assert "[[0,0],[1,1]]" in record.code
    assert record.exit_code == -15
    assert bed.told() == ["incorrect"]
    assert [entry.reply["status"] for entry in bed.entries("judge")] == ["incorrect", "accepted"]


def test_a_refused_answer_gets_status_and_message_and_no_code(bed: SoloBed) -> None:
    assert not bed.run(bed.solver('tell(call("judge", verdict="false", code=WRONG))'))
    assert bed.told() == snapshot(
        [{"status": "incorrect", "message": "Law 1 fails in the model: under {'x': 0, 'y': 1} its sides are 0 and 1."}]
    )


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ('verdict="maybe", code="x"', "malformed"),
        ('verdict="false", code=7', "malformed"),
        ("", "malformed"),
        ('verdict="true", code="sorry"', "incomplete_proof"),
        ('verdict="true", code="theorem"', "undecided"),
        ('verdict={"a": [1]}, code="\\udcff"', "malformed"),
    ],
)
def test_any_fields_get_a_status(bed: SoloBed, fields: str, status: str) -> None:
    bed.run(bed.solver(f'tell(call("judge", {fields})["status"])'))
    assert bed.told() == [status]


def test_an_unknown_call_gets_an_error(bed: SoloBed) -> None:
    bed.run(bed.solver('tell(call("submit"))'))
    assert bed.told() == [{"error": "unknown call type: submit"}]
    assert [entry.request for entry in bed.entries("unknown")] == [{"call": "submit"}]


@pytest.mark.parametrize(
    "fields", ["x=float('nan')", "x='\\udcff'", "x=10**4000", "**{'\\udcff': {'a': [None]}}", "x=[['y' * 100_000]]"]
)
def test_whatever_a_call_holds_the_results_can_be_read(bed: SoloBed, fields: str) -> None:
    bed.run(bed.solver(f'tell(call("other", {fields}))\ntell(call("llm", context=dict({fields}))["error"][:9])'))
    assert len(bed.told()) == 2
    assert [entry.type for entry in bed.record.log] == ["unknown", "llm", "solver_stderr"]


@pytest.mark.parametrize(
    "line",
    [
        '{"call": "other", "x": ' + "[" * 500 + "]" * 500 + "}",
        "no JSON",
        "[1]",
        '{"verdict": "true"}',
        "",
        '"call"',
        "[" * 100_000,
        "9" * 5000,
    ],
)
def test_what_is_no_call_gets_no_reply(bed: SoloBed, line: str) -> None:
    bed.run(bed.solver(f'say({line!r})\ntell(call("other"))'))
    assert bed.told() == [{"error": "unknown call type: other"}]
    assert not bed.record.solved


def test_calls_may_be_sent_before_replies_are_read(bed: SoloBed) -> None:
    source = 'for n in range(300): say(json.dumps({"call": str(n)}))\nfor n in range(300): last = hear()\ntell(last)'
    bed.run(bed.solver(source))
    assert bed.told() == [{"error": "unknown call type: 299"}]


def test_a_call_without_a_line_break_at_the_end_is_none(bed: SoloBed) -> None:
    bed.run(bed.solver("sys.stdout.write(json.dumps({'call': 'judge', 'verdict': 'false', 'code': RIGHT}))"))
    assert (bed.record.ending, bed.record.judge_calls) == ("solver ended", 0)


def test_the_last_call_of_a_solver_that_leaves_is_judged(bed: SoloBed) -> None:
    assert bed.run(bed.solver("say(json.dumps({'call': 'judge', 'verdict': 'false', 'code': RIGHT}))"))


def test_without_models_an_llm_call_gets_an_error(bed: SoloBed) -> None:
    bed.run(bed.solver('tell(call("llm", context={}))'))
    assert "there is no language model: set OPENROUTER_API_KEY" in str(bed.told_reply["error"])
    assert bed.record.llm_calls == 1


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (JudgeInfrastructureError("no disk"), "judge infrastructure error: no disk"),
        (JudgeConfigurationError("no laws"), "judge configuration error: no laws"),
    ],
)
def test_a_judge_that_cannot_work_is_an_error_and_no_attempt(bed: SoloBed, failure: JudgeError, error: str) -> None:
    class Failing:
        name = identity = "failing"

        def check_batch(self, items: Sequence[CheckItem], *, done: Done | None = None) -> list[CheckResult]:
            raise failure

    @contextmanager
    def choose(name: JudgeName, settings: Settings) -> Generator[Judge]:
        yield Judge(name, Failing(), Limits())

    bed.choose = choose
    bed.run(bed.solver('tell(call("judge", verdict="false", code=RIGHT))'))
    assert bed.told() == [{"error": error}]
    assert (bed.record.solved, bed.record.judge_calls) == (False, 0)


def test_a_crash_of_the_checker_is_an_error_as_well(bed: SoloBed) -> None:
    @contextmanager
    def choose(name: JudgeName, settings: Settings) -> Generator[Judge]:
        yield Judge(name, ScriptedChecker({}), Limits())

    bed.choose = choose
    bed.run(bed.solver('tell("judge infrastructure error" in call("judge", verdict="false", code=RIGHT)["error"])'))
    assert bed.told() == [True]


@pytest.mark.parametrize("sign", ["x", "◇"])
def test_a_line_of_a_megabyte_is_read(bed: SoloBed, sign: str) -> None:
    bed.run(bed.solver(f'say({sign!r} * {FLOOD})\ntell(call("other"))'))
    assert bed.record.ending == "solver ended"
    assert bed.told() == [{"error": "unknown call type: other"}]


@pytest.mark.parametrize("sign", ["x", "◇"])
def test_a_longer_line_ends_the_problem(bed: SoloBed, sign: str) -> None:
    bed.run(bed.solver(f"say({sign!r} * {FLOOD + 1})\nwhile True: signal.pause()"))
    assert bed.record.ending == "line too long"
    assert len(bed.entries("error")) == 1


@pytest.mark.parametrize(
    ("source", "ending", "reason"),
    [
        ("", "solver ended", "by itself"),
        ("sys.exit(7)", "solver failed", "exit status 7"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "solver killed", "SIGSEGV"),
        ("call('llm', context={})", "no model", "there is no language model"),
        ("call('llm', context={})\nsys.exit(1)", "solver failed", "exit status 1"),
    ],
)
def test_it_is_told_why_a_solver_ended(bed: SoloBed, source: str, ending: str, reason: str) -> None:
    bed.run(bed.solver(source))
    assert (bed.record.ending, bed.record.reason[: len(reason)]) == (ending, reason)
    assert f"{ending} ({reason}" in bed.output.getvalue()


def test_of_standard_error_the_last_64_kilobytes_are_kept(bed: SoloBed) -> None:
    bed.run(bed.solver("for n in range(40_000): sys.stderr.write(f'{n:06d} \\n')\nsys.stderr.write('end')"))
    [entry] = bed.entries("solver_stderr")
    assert len(entry.text) == 65_536
    assert entry.text.endswith("039999 \nend")


def test_a_solver_that_does_nothing_is_ended_at_its_time(bed: SoloBed) -> None:
    bed.configure(solver={"timeout_seconds": 1.5})
    assert not bed.run(bed.solver("while True: signal.pause()"))
    assert (bed.record.ending, bed.record.exit_code) == ("out of time", -9)
    assert [entry.text for entry in bed.entries("timeout")] == ["The time was over."]


def test_a_call_with_a_second_left_or_less_is_not_begun(bed: SoloBed) -> None:
    bed.configure(solver={"timeout_seconds": 1.0})
    assert not bed.run(bed.solver('call("judge", verdict="false", code=RIGHT)'))
    assert (bed.record.ending, bed.record.judge_calls) == ("out of time", 0)
    assert bed.entries("timeout")


def test_a_solver_deaf_to_sigterm_is_killed_with_its_children(bed: SoloBed) -> None:
    child = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"
    source = f"""
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
subprocess.Popen([sys.executable, "-c", {child!r}, {str(bed.root)!r}], start_new_session=True)
call("judge", verdict="false", code=RIGHT)
while True: signal.pause()
"""
    assert bed.run(bed.solver(source))
    assert bed.record.exit_code == 3
    assert processes_of(bed.root) == []


@pytest.mark.parametrize("isolation", ["auto", "namespaces", "subreaper", "group"])
def test_nothing_of_a_solver_outlives_its_problem(bed: SoloBed, isolation: str) -> None:
    bed.change(isolation=isolation)
    child = "import signal; signal.pause()"
    source = f'subprocess.Popen([sys.executable, "-c", {child!r}, {str(bed.root)!r}], start_new_session=True)\n'
    bed.run(bed.solver(source + 'call("judge", verdict="false", code=RIGHT)'))
    assert bed.record.solved
    assert processes_of(bed.root) == []


def test_a_solver_sees_neither_labels_nor_results_nor_the_runners_environment(
    bed: SoloBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOMEBODYS_SECRET", "hush")
    places = [str(bed.manifest), str(bed.results_file), str(bed.root / "somebody" / "solver.py")]
    source = f"""
tell([os.path.exists(place) for place in {places!r}])
tell(sorted(os.environ.keys() & {{"SOMEBODYS_SECRET", "SCRIPTED_API_KEY", "HOME", "JUDGE_MARATHON_MANIFEST"}}))
found = []
for name in os.listdir("/proc"):
    if name.isdigit():
        try: found += [b"hush" in open(f"/proc/{{name}}/environ", "rb").read()]
        except OSError: pass
tell(any(found))
"""
    bed.run(bed.solver(source))
    assert bed.told() == [[False, False, False], ["HOME"], False]


def test_a_solver_has_no_network(bed: SoloBed) -> None:
    source = """
import socket
try: socket.create_connection(("127.0.0.1", int(start["problem"]["index"])), timeout=5); tell("connected")
except OSError as error: tell("refused")
"""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        bed.problems = [{**EASY, "index": listening.getsockname()[1]}]
        bed.run(bed.solver(source))
    assert bed.told() == ["refused"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "holds no solver.py"),
        ({"solver.py": "", "helper.py": ""}, "nothing else; remove 'helper.py'"),
        ({"solver.py": "x" * 500_001}, "exceeds the limit of 500,000 bytes"),
    ],
)
def test_a_folder_that_is_no_submission_is_refused(bed: SoloBed, files: dict[str, str], message: str) -> None:
    folder = bed.root / "folder"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    with pytest.raises(MarathonError, match=message):
        bed.run(str(folder))
    assert not bed.results_file.exists()


def test_a_problem_that_is_not_there_is_named(bed: SoloBed) -> None:
    with pytest.raises(SoloError, match="There is no problem 'other' in 'problems'"):
        bed.run(bed.solver(""), ids=("other",))


def test_the_solver_may_write_in_its_home_and_its_temporary_folder(bed: SoloBed) -> None:
    source = (
        'for name in ("HOME", "TMPDIR"):\n    open(os.path.join(os.environ[name], "a"), "w").write("b")\ntell("wrote")'
    )
    bed.run(bed.solver(source))
    assert bed.told() == ["wrote"]
    assert json.loads(bed.results_file.read_text("utf-8"))["solver"] == "somebody"
