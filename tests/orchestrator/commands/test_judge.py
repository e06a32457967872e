"""`ekiden judge` and `ekiden certificate`: what they print, write and return."""

import json
import os
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from command_line import Done, ekiden
from ekiden_magma import parse_law
from ekiden_magma.certificate import from_json
from ekiden_magma.lean import lean_answer

COMMUTATIVE, ASSOCIATIVE = "x ◇ y = y ◇ x", "x ◇ (y ◇ z) = (x ◇ y) ◇ z"
CERTIFICATE = (
    '{"certificate": "refutation", "version": 1, "table": [[1, 0], [0, 0]], "assignment": {"x": 0, "y": 0, "z": 1}}'
)
LEAN = lean_answer(from_json(CERTIFICATE, parse_law(COMMUTATIVE), parse_law(ASSOCIATIVE)))
LAWS = ("--law1", COMMUTATIVE, "--law2", ASSOCIATIVE)


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A wide terminal, and no settings but the packaged ones."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("EKIDEN_")]:
        monkeypatch.delenv(name)


def manifest(folder: Path, count: int) -> Path:
    path = folder / "problems.jsonl"
    record = {"eq1_id": 1, "eq2_id": 2, "equation1": COMMUTATIVE, "equation2": ASSOCIATIVE}
    path.write_text("".join(json.dumps({"id": f"p{n}", **record}) + "\n" for n in range(count)), encoding="utf-8")
    return path


def answers(folder: Path, *lines: object) -> Path:
    path = folder / "answers.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def answer(number: int, verdict: str = "false", code: str = LEAN) -> dict[str, str]:
    return {"id": f"p{number}", "verdict": verdict, "code": code}


def judge(folder: Path, *lines: object, problems: int = 3, options: tuple[str, ...] = ()) -> Done:
    return ekiden("judge", answers(folder, *lines), "--manifest", manifest(folder, problems), *options)


def test_all_attempted_accepted_is_status_0(tmp_path: Path) -> None:
    done = judge(tmp_path, answer(0), answer(2))
    assert (done.exit_code, done.stderr) == (0, "")
    assert "accepted      │       2" in done.stdout
    assert "not_attempted │       1" in done.stdout


def test_what_is_not_accepted_is_listed_with_its_reason(tmp_path: Path) -> None:
    wrong = answer(1, code=LEAN.replace("[[1,0],[0,0]]", "[[0,1],[0,0]]"))
    done = judge(tmp_path, answer(0), wrong, answer(2, code="theorem submission : Goal := sorry"), [], answer(9))
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    assert lines[lines.index("Lines that are no answer: not_an_object 1") :] == snapshot(
        [
            "Lines that are no answer: not_an_object 1",
            "Lines with ids that are not asked for: 1",
            "",
            "p1: LEAN_REJECTED: Law 1 fails in the model: under {'x': 0, 'y': 1} its sides are 1 and 0.",
            "",
            "p2: BANNED_PLACEHOLDER: The code contains 'sorry' at line 1, column 30; no answer may contain it, not "
            "even in a comment, a string or a longer name.",
        ]
    )


def test_the_last_answer_to_a_problem_counts(tmp_path: Path) -> None:
    assert judge(tmp_path, answer(0, "maybe"), answer(0)).exit_code == 0
    assert judge(tmp_path, answer(0), answer(0, "maybe")).exit_code == 1


def test_many_refusals_are_cut_unless_all_are_asked_for(tmp_path: Path) -> None:
    lines = [answer(number, "maybe") for number in range(30)]
    cut = judge(tmp_path, *lines, problems=30)
    assert cut.stdout.count("INVALID_VERDICT") == 20
    assert cut.stdout.endswith("\n... and 10 more that are not accepted; --all lists them.\n")
    assert judge(tmp_path, *lines, problems=30, options=("--all",)).stdout.count("INVALID_VERDICT") == 30


def test_verdicts_go_out_as_json_and_into_a_file(tmp_path: Path) -> None:
    out = tmp_path / "verdicts.json"
    done = judge(tmp_path, answer(0), answer(1, "maybe"), options=("--json", "--output", str(out)))
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert json.loads(out.read_text(encoding="utf-8")) == report
    assert (report["judge"], report["attempted"], report["accepted"]) == ("exact", 2, 1)
    assert [(item["id"], item["verdict"]["status"]) for item in report["verdicts"]] == [
        ("p0", "accepted"),
        ("p1", "malformed"),
        ("p2", "not_attempted"),
    ]


def test_the_rules_of_a_problem_without_any_can_be_chosen(tmp_path: Path) -> None:
    strict = judge(tmp_path, answer(0), options=("--policy", "strict"))
    assert (strict.exit_code, "NEEDS_LEAN" in strict.stdout) == (1, True)
    assert judge(tmp_path, answer(0), options=("--policy", "tracks")).exit_code == 0


def test_a_packaged_set_can_be_named(tmp_path: Path) -> None:
    path = answers(tmp_path, {"id": "normal_0001", "verdict": "true", "code": "import JudgeProblem"})
    done = ekiden("judge", path, "--manifest", "normal_100")
    assert (done.exit_code, "not_attempted │      99" in done.stdout) == (1, True)


def test_an_answer_cannot_paint_the_terminal(tmp_path: Path) -> None:
    done = judge(tmp_path, answer(0, "\x1b[2J[red]"))
    assert "\x1b" not in done.stdout
    assert "[red]" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "Say what FILE answers"),
        (("--law1", "x = y"), "Say what FILE answers"),
        (("--manifest", "nowhere.jsonl"), "no problem file 'nowhere.jsonl'"),
        (("--manifest", "normal_100"), "answers no problem of the manifest 'normal_100'"),
        (("--manifest", "normal_100", "--judge", "oracle"), "no judge 'oracle'"),
        (("--manifest", "normal_100", "--policy", "lax"), "'lax'"),
        (("--manifest", "normal_100", "--verdict", "true"), "Say what FILE answers"),
        (("--law1", "x =", "--law2", "x = y", "--verdict", "true"), "--law1: "),
        (("--law1", "x = y", "--law2", "x = y"), "Say with --verdict"),
    ],
)
def test_bad_input_is_status_2_and_one_line(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    (tmp_path / "file").write_text("import JudgeProblem\n", encoding="utf-8")
    done = ekiden("judge", "file", *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "bytes").write_bytes(b"\xff")
    for name, message in (("pipe", "no ordinary file"), ("nothing", "No such file"), ("bytes", "not UTF-8")):
        done = ekiden("judge", name, *LAWS, "--verdict", "true")
        assert (done.exit_code, message in done.stderr) == (2, True)


def test_one_answer_is_lean_code_a_certificate_or_an_answer_in_json(tmp_path: Path) -> None:
    (tmp_path / "answer.lean").write_text(LEAN, encoding="utf-8")
    (tmp_path / "certificate.json").write_text(CERTIFICATE, encoding="utf-8")
    (tmp_path / "answer.json").write_text(json.dumps({"verdict": "false", "code": LEAN}), encoding="utf-8")
    for arguments in (("answer.lean", "--verdict", "false"), ("certificate.json",), ("answer.json",)):
        done = ekiden("judge", *arguments, *LAWS)
        assert (done.exit_code, done.stdout.splitlines()[0], done.stderr) == (0, "accepted (ACCEPTED)", "")
    assert ekiden("judge", "answer.lean", *LAWS, "--verdict", "true").exit_code == 1
    (tmp_path / "answer.json").write_text('{"verdict": "false", "verdict": "true", "code": "x"}', encoding="utf-8")
    done = ekiden("judge", "answer.json", *LAWS, "--json")
    assert (done.exit_code, json.loads(done.stdout)["error_code"]) == (1, "DUPLICATE_JSON_KEYS")


def test_a_certificate_is_printed_as_lean(tmp_path: Path) -> None:
    (tmp_path / "certificate.json").write_text(CERTIFICATE, encoding="utf-8")
    assert ekiden("certificate", "print", "certificate.json", *LAWS) == (0, LEAN, "")


def test_a_wrong_certificate_is_not_printed(tmp_path: Path) -> None:
    (tmp_path / "certificate.json").write_text(CERTIFICATE.replace("[1, 0]", "[1, 1]"), encoding="utf-8")
    done = ekiden("certificate", "print", "certificate.json", *LAWS)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Law 1 fails" in done.stderr


def test_a_certificate_is_printed_as_coq(tmp_path: Path) -> None:
    (tmp_path / "certificate.json").write_text(CERTIFICATE, encoding="utf-8")
    done = ekiden("certificate", "print", "certificate.json", *LAWS, "--coq")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "Print Assumptions answer0." in done.stdout


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any proof checker."""
    empty = tmp_path / "empty"
    empty.mkdir()
    for name in ("PATH", "HOME", "ELAN_HOME", "EKIDEN_LEAN_HOME"):
        monkeypatch.setenv(name, str(empty))
    for name in ("LEAN_BIN", "LAKE_BIN", "JUDGE_LEAN_PATH"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_without_any_lean_nothing_is_judged_and_both_ways_to_get_one_are_told(bare: Path) -> None:
    done = judge(bare, answer(0), options=("--judge", "lean"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "elan" in done.stderr
    assert "ekiden lean install --wasm" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ["coq", "cross"])
def test_without_any_coq_nothing_is_judged(bare: Path, name: str) -> None:
    done = judge(bare, answer(0), options=("--judge", name))
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "Coq 8.16 or newer" in done.stderr


def test_without_any_lean_a_marathon_starts_nothing(bare: Path) -> None:
    solver = bare / "solver"
    solver.mkdir()
    (solver / "solver.py").write_text("raise SystemExit(3)", encoding="utf-8")
    run = ("marathon", "run", "--solver", solver, "--manifest", manifest(bare, 1), "--output-dir", bare / "run")
    done = ekiden(*run, "--judge", "lean")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "ekiden lean install --wasm" in done.stderr
    assert not (bare / "run").exists()


def test_a_run_is_not_judged_again_without_its_judge_and_keeps_its_summary(bare: Path) -> None:
    run = bare / "run"
    solver = bare / "solver"
    solver.mkdir()
    (solver / "solver.py").write_text("", encoding="utf-8")
    started = ("marathon", "run", "--solver", solver, "--manifest", manifest(bare, 1), "--output-dir", run)
    assert ekiden(*started).exit_code == 0
    before = (run / "summary.json").read_bytes()
    done = ekiden("marathon", "run", "--score-only", "--output-dir", run, "--judge", "lean")
    assert (done.exit_code, "ekiden lean install --wasm" in done.stderr) == (2, True)
    assert (run / "summary.json").read_bytes() == before
