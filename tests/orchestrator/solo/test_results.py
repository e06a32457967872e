"""Results files: what is solved is not run again, and what they hold survives."""

import io
import json
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from filelock import FileLock
from rich.console import Console

from command_line import ekiden
from ekiden_config import JudgeName, Settings
from ekiden_judge import CheckItem, CheckResult, ExactChecker, Limits, Problem
from ekiden_judge.checker import Done
from ekiden_judge.choice import Judge, choose_judge
from ekiden_orchestrator.solo.display import Display
from ekiden_orchestrator.solo.errors import SoloError
from ekiden_orchestrator.solo.results import Results
from marathon_bed import processes_of
from orchestrator.solo.conftest import EASY, SoloBed

SOLVE = 'call("judge", verdict="false", code=RIGHT)'
SOLVE_SOME = f'if start["problem"]["id"] != "hard": {SOLVE}'


def test_solved_problems_are_skipped_and_failed_ones_done_again(bed: SoloBed) -> None:
    bed.problems.append({**EASY, "id": "hard"})
    assert not bed.run(bed.solver(SOLVE_SOME))
    before = bed.results.results
    assert {name: record.solved for name, record in before.items()} == {"easy": True, "hard": False}
    assert bed.run(bed.solver(SOLVE))
    after = bed.results.results
    assert after["easy"] == before["easy"]
    assert after["hard"].solved
    assert "problems (2, 1 of them solved before)" in bed.output.getvalue()


def test_another_question_under_the_same_id_is_run(bed: SoloBed) -> None:
    assert bed.run(bed.solver(SOLVE))
    bed.problems = [{**EASY, "equation2": "x = y ◇ x"}]
    assert bed.run(bed.solver(SOLVE))
    assert bed.record.equation2 == "x = y ◇ x"


def test_chosen_problems_alone_are_run_and_others_keep_their_records(bed: SoloBed) -> None:
    bed.problems += [{**EASY, "id": "second"}, {**EASY, "id": "third"}]
    assert bed.run(bed.solver(SOLVE), ids=("third", "easy", "third"))
    assert [*bed.results.results] == ["third", "easy"]
    assert bed.run(bed.solver(SOLVE), ids=("second",))
    assert {*bed.results.results} == {"easy", "second", "third"}


@pytest.mark.parametrize("text", ["", "[]", '{"solver": "somebody", "results": {"easy": {}}}'])
def test_a_file_that_holds_something_else_is_left_alone(bed: SoloBed, text: str) -> None:
    bed.results_file.parent.mkdir()
    bed.results_file.write_text(text)
    with pytest.raises(SoloError, match="holds no results of a Solo run; name another file"):
        bed.run(bed.solver(SOLVE))
    assert bed.results_file.read_text() == text


def test_results_of_another_solver_are_left_alone(bed: SoloBed) -> None:
    bed.run(bed.solver(SOLVE))
    with pytest.raises(SoloError, match="holds results of the solver 'somebody'"):
        bed.run("baseline")


def test_a_second_run_on_one_file_is_refused(bed: SoloBed) -> None:
    bed.results_file.parent.mkdir()
    with (
        FileLock(bed.results_file.with_name(".out.json.lock")),
        pytest.raises(SoloError, match="Another run is writing"),
    ):
        bed.run(bed.solver(SOLVE))


def test_an_interrupted_run_has_kept_what_was_done(bed: SoloBed) -> None:
    class Interrupting(ExactChecker):
        def check_batch(self, items: Sequence[CheckItem], *, done: Done | None = None) -> list[CheckResult]:
            if items[0].problem.id == "second":
                raise KeyboardInterrupt
            return super().check_batch(items, done=done)

    @contextmanager
    def choose(name: JudgeName, settings: Settings) -> Generator[Judge]:
        yield Judge(name, Interrupting(), Limits())

    bed.problems.append({**EASY, "id": "second"})
    bed.choose = choose
    with pytest.raises(KeyboardInterrupt):
        bed.run(bed.solver(SOLVE))
    assert [*bed.results.results] == ["easy"]
    assert processes_of(bed.root) == []
    bed.choose = choose_judge
    assert bed.run(bed.solver(SOLVE))


def test_the_table_shows_each_problem_with_calls_and_time(bed: SoloBed) -> None:
    bed.problems.append({**EASY, "id": "hard"})
    bed.run(bed.solver(SOLVE_SOME))
    shown = bed.output.getvalue()
    assert "Solved:   1 / 2" in shown
    assert "hard  solver ended (by itself)  " in shown
    assert [line.split("│")[1:3] for line in shown.splitlines() if line.startswith("│")] == [
        [" easy    ", " solved       "],
        [" hard    ", " solver ended "],
    ]


def test_a_row_is_one_line_in_a_terminal_of_80_columns(bed: SoloBed) -> None:
    bed.run(bed.solver(SOLVE_SOME))
    changed = {"solved": False, "ending": "out of budget", "reason": "402: " * 40, "tokens": 1_262_144, "seconds": 3600}
    record = bed.record.model_copy(update=changed)
    problem = Problem.read({**EASY, "id": "normal_0003"})
    shown = io.StringIO()
    display = Display(Console(file=shown, width=80))
    display.table([problem], Results(solver="somebody", results={problem.id: record}), Path("out"))
    [row] = [line for line in shown.getvalue().splitlines() if line.startswith("│")]
    assert [cell.strip() for cell in row.split("│")[1:3]] == ["normal_0003", "out of budget"]


def test_long_ids_can_be_told_apart_in_a_narrow_table(bed: SoloBed) -> None:
    bed.run(bed.solver(SOLVE_SOME))
    names = [f"{'order5_' * 9}{number}_{'x' * 30}" for number in (4, 7)]
    records = dict.fromkeys(names, bed.record)
    problems = [Problem.read({**EASY, "id": name}) for name in names]
    shown = io.StringIO()
    Display(Console(file=shown, width=80)).table(problems, Results(solver="somebody", results=records), Path("out"))
    cells = "".join(line.split("│")[1].strip() for line in shown.getvalue().splitlines() if line.startswith("│"))
    assert cells == "".join(names)


def test_results_of_an_earlier_version_are_read(bed: SoloBed) -> None:
    bed.run(bed.solver(SOLVE))
    written = json.loads(bed.results_file.read_bytes())
    for added in ("reason", "llm_endings", "llm_failures"):
        del written["results"]["easy"][added]
    bed.results_file.write_text(json.dumps(written))
    assert bed.run(bed.solver(SOLVE))
    assert "1 of them solved before" in bed.output.getvalue()


def test_of_many_problems_the_unsolved_are_shown(bed: SoloBed) -> None:
    bed.problems.append({**EASY, "id": "hard"})
    bed.run(bed.solver(SOLVE_SOME))
    solved, unsolved = bed.results.results.values()
    records = {f"p{number}": solved for number in range(60)} | {"hard": unsolved}
    problems = [Problem.read({**EASY, "id": name}) for name in records]
    shown = io.StringIO()
    Display(Console(file=shown, width=100)).table(problems, Results(solver="somebody", results=records), Path("out"))
    rows = [line for line in shown.getvalue().splitlines() if line.startswith("│")]
    assert ["hard" in row for row in rows] == [True]
    assert "Solved:   60 / 61" in shown.getvalue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("OPENROUTER_API_KEY", "OPENAI_API_KEY", "DEEPSEEK_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    records = [EASY, {**EASY, "id": "hard", "equation1": "x ◇ y = y ◇ x", "equation2": "(x ◇ y) ◇ z = z ◇ (y ◇ x)"}]
    (tmp_path / "problems.json").write_text(json.dumps(records), encoding="utf-8")
    return tmp_path


def test_the_command_says_by_its_status_whether_all_are_solved(folder: Path) -> None:
    solved = ekiden("solo", "run", "baseline", "problems.json", "--problem-ids", "easy", "--judge", "exact")
    assert (solved.exit_code, "Solved:   1 / 1" in solved.stdout) == (0, True)
    assert (folder / "runs" / "solo" / "baseline__problems.json").is_file()
    some = ekiden("solo", "run", "baseline", "problems.json", "--judge", "exact", "--verbose")
    assert (some.exit_code, "Solved:   1 / 2" in some.stdout, "hard: llm_start" in some.stdout) == (1, True, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nobody", "problems.json"), "There is no solver 'nobody'"),
        (("baseline", "nothing.json"), "There is no problem file 'nothing.json'"),
        (("baseline", "problems.json", "--problem-ids", "easy,other"), "There is no problem 'other'"),
        (("baseline", "problems.json", "--judge", "mine"), "There is no judge 'mine'"),
        (("baseline", "problems.json", "--config", "none.json"), "Cannot read 'none.json'"),
        (("baseline", "problems.json", "--output", "problems.json"), "holds no results of a Solo run"),
    ],
)
def test_bad_input_ends_with_two(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    done = ekiden("solo", "run", *arguments)
    assert (done.exit_code, said in done.stderr) == (2, True)
