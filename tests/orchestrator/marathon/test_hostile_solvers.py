"""Solvers that attack the run: their answers file, their neighbours, their keepers."""

import json
import os
import sys
from pathlib import Path
from typing import cast

import pytest

from ekiden_judge.answers import LINES_PER_PROBLEM, SPARE_LINES
from ekiden_orchestrator.marathon.environment import confined_view
from ekiden_orchestrator.marathon.folder import RunFolder
from marathon_bed import PROBLEMS, SOLVERS, Bed, processes_of

KINDS = ["auto", "namespaces", "subreaper", "group"]

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the isolation under test is Linux's")


@pytest.mark.parametrize("isolation", KINDS)
def test_no_descendant_outlives_a_solver_that_is_ended(bed: Bed, isolation: str) -> None:
    bed.change(isolation=isolation, grace_s=0.2)
    summary = bed.run(str(SOLVERS / "family"), seconds=2)
    assert summary.sigkill_fired
    assert summary.attempted == 1, "all its processes had started"
    assert processes_of(bed.run_folder) == []


@pytest.mark.parametrize("isolation", KINDS)
def test_no_descendant_outlives_a_solver_that_ends_by_itself(bed: Bed, isolation: str) -> None:
    bed.change(isolation=isolation)
    source = """
reader, writer = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.write(writer, b".")
            while True: signal.pause()
        os._exit(0)
for _ in range(3): os.read(reader, 1)
"""
    summary = bed.run(bed.solver(source))
    assert (summary.exit_code, summary.sigterm_fired) == (0, False)
    assert processes_of(bed.run_folder) == []


def test_a_solver_that_kills_its_keeper_takes_nothing_but_itself_along(bed: Bed) -> None:
    bed.change(isolation="subreaper")
    source = """
answer(ids[0])
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    os.write(writer, b".")
    while True: signal.pause()
os.read(reader, 1)
os.kill(os.getppid(), signal.SIGKILL)
while True: signal.pause()
"""
    summary = bed.run(bed.solver(source))
    assert [attempt.reason for attempt in summary.attempts] == ["lost"]
    assert any("warden" in note for note in summary.notes)
    assert summary.attempted == 1
    assert processes_of(bed.run_folder) == []


@pytest.mark.parametrize(
    ("attack", "note"),
    [
        ("os.unlink(output); os.symlink('/dev/zero', output)", "no ordinary file"),
        ("os.unlink(output); os.mkfifo(output)", "no ordinary file"),
        ("os.unlink(output); os.mkdir(output)", "no ordinary file"),
        ("os.unlink(output); os.link(manifest, output)", "a link"),
        ("os.unlink(output)", "was removed"),
        ("os.truncate(output, 0)", None),
    ],
)
def test_an_answers_file_made_into_something_else_hurts_only_itself(bed: Bed, attack: str, note: str | None) -> None:
    summary = bed.run(bed.solver(f"answer(ids[0])\n{attack}"))
    assert summary.exit_code == 0
    assert summary.attempted == (0 if note is None else 1)
    assert note is None or any(note in text for text in summary.notes)


def test_an_answers_file_replaced_by_another_ordinary_file_counts(bed: Bed) -> None:
    source = """
answer(ids[0])
with open(output + ".new", "w") as file:
    file.write(json.dumps({"id": ids[1], "verdict": "maybe", "code": "x"}) + "\\n")
os.replace(output + ".new", output)
"""
    summary = bed.run(bed.solver(source))
    assert [problem.id for problem in summary.per_problem if problem.status == "malformed"] == ["normal_0002"]
    assert any("replaced by another ordinary file" in note for note in summary.notes)


def test_lines_of_every_kind_hurt_only_themselves(bed: Bed) -> None:
    source = r"""
with open(output, "ab") as file:
    file.write(b'{"id": "normal_0001", "verdict": "true", "code": "\\ud800"}\n')
    file.write(b'{"id": "normal_0002", "verdict": "true", "code": "x", "n": ' + b"9" * 5000 + b"}\n")
    file.write(b'{"id": "normal_0004", "verdict": ["true"], "code": "a\xe2\x80\xa8b"}\n')
    file.write(b'{"id": "normal_0005", "id": "normal_0005", "verdict": "true", "code": "x"}\n')
    file.write(b"[" * 100_000 + b"\n\xff\xfe\n\x00\n")
answer(ids[2], "false", REFUTATION % "[[0,0],[1,1]]")
"""
    summary = bed.run(bed.solver(source))
    found = {problem.id: (problem.status, problem.error_code) for problem in summary.per_problem}
    assert found["normal_0003"] == ("accepted", "ACCEPTED")
    assert {status for status, _ in found.values()} == {"accepted", "malformed"}
    assert found["normal_0005"] == ("malformed", "DUPLICATE_JSON_KEYS")
    assert summary.ignored_lines is not None
    assert sum(summary.ignored_lines.skipped.values()) == 3


def test_lines_beyond_those_that_are_read_are_counted_and_told(bed: Bed) -> None:
    read = SPARE_LINES + 5 * LINES_PER_PROBLEM
    source = f'with open(output, "w") as file: file.write("5\\n" * {read + 7})'
    summary = bed.run(bed.solver(source))
    assert summary.ignored_lines is not None
    assert (summary.ignored_lines.lines, summary.ignored_lines.unread) == (read, 7)
    assert any("the other 7 do not" in note for note in summary.notes)


@pytest.fixture
def spied(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> tuple[Bed, dict[str, object]]:
    monkeypatch.setenv("OPENROUTER_API_KEY", "upstream-secret")
    # A solver sees the folders of its runner's modules; the tests are among them only because pytest runs here.
    monkeypatch.setattr(sys, "path", [path for path in sys.path if Path(path) != PROBLEMS.parent.parent])
    lines = Path(bed.manifest(1, 2)).read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    path = bed.root / "labelled.jsonl"
    records[0]["difficulty"] = f"{path}|{bed.root / 'chosen.jsonl'}|{PROBLEMS / 'normal.jsonl'}"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    summary = bed.run(str(SOLVERS / "spy"), manifest=str(path))
    assert summary.exit_code == 0, summary.stderr_tail
    return bed, bed.scratch_report()


def test_a_solver_gets_only_the_contract_in_its_environment(spied: tuple[Bed, dict[str, object]]) -> None:
    passed = {"PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR", "PYTHONPATH", "PYTHONIOENCODING", "PYTHONUNBUFFERED"}
    contract = {f"JUDGE_MARATHON_{name}" for name in ("MANIFEST", "OUTPUT", "SCRATCH_DIR", "LIB_DIR")}
    contract |= {"JUDGE_MARATHON_BUDGET_SECONDS", "JUDGE_MARATHON_BUDGET_TOKENS"}
    contract |= {"OPENAI_BASE_URL", "OPENAI_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"}
    names = spied[1]["environment"]
    assert isinstance(names, list)
    assert (
        contract <= set(cast("list[str]", names)) <= passed | contract | {"LC_CTYPE"}
    )  # LC_CTYPE: Python's own locale coercion


def test_a_solver_sees_every_key_of_a_problem_but_the_label(spied: tuple[Bed, dict[str, object]]) -> None:
    assert spied[1]["keys"] == ["difficulty", "eq1_id", "eq2_id", "equation1", "equation2", "id", "index"]


def test_a_confined_solver_finds_no_keys_labels_or_neighbours(spied: tuple[Bed, dict[str, object]]) -> None:
    bed, report = spied
    if '"isolation":"confined"' not in (bed.run_folder / "events.jsonl").read_text(encoding="utf-8"):
        pytest.skip("this system has no user namespaces")
    assert report["secret_in_proc"] is False
    assert report["processes"] == 2
    assert report["labels"] is False
    assert report["label_files"] == []
    assert not (bed.run_folder / "left-behind-by-spy").exists()
    assert report["run_folder"] == ["attempts"]


def test_the_neighbours_of_a_manifest_are_hidden_and_system_folders_are_not(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")

    def hidden(manifest: str) -> set[str]:
        return {path for path, _ in confined_view(run, run.attempt(1), Path(manifest)).covers}

    assert {"/data/sets", "/data/sets/problems.jsonl"} <= hidden("/data/sets/problems.jsonl")
    assert hidden("/etc/problems.jsonl").isdisjoint({"/", "/etc"})
    modules = os.path.realpath(sys.prefix)
    assert modules not in hidden(f"{modules}/problems.jsonl")


def test_nothing_that_a_solver_leaves_is_there_in_the_next_run(spied: tuple[Bed, dict[str, object]]) -> None:
    first, before = spied
    again = Bed(first.root / "again", first.settings, first.output)
    again.root.mkdir()
    again.run(str(SOLVERS / "spy"), manifest=str(first.root / "labelled.jsonl"))
    places = ("scratch", "temporary", "home", "here")
    after = again.scratch_report()
    assert [after[place] for place in places] == [before[place] for place in places]
    assert [after[place] for place in places] == [["manifest.jsonl"], [], [], ["solver.py"]]


def test_a_solver_that_cannot_be_confined_still_runs_and_the_run_says_so(bed: Bed) -> None:
    bed.change(isolation="group")
    summary = bed.run(bed.solver("answer(ids[0])"))
    assert (summary.isolation, summary.attempted) == ("group", 1)
    assert "isolation: group" in (bed.run_folder / "run.log").read_text(encoding="utf-8")


def test_a_solver_cannot_fill_the_disk_with_one_file(bed: Bed) -> None:
    bed.change(file_limit_bytes=1 << 20)
    source = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    with open(os.path.join(scratch, "big"), "wb") as file:
        for _ in range(64): file.write(b"x" * 65536)
except OSError as error:
    report(errno=error.errno)
"""
    bed.run(bed.solver(source))
    assert bed.scratch_report() == {"errno": 27}
    assert (bed.run_folder / "attempts" / "1" / "scratch" / "big").stat().st_size <= 1 << 20
