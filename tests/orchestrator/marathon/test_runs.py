"""Starting, resuming and judging runs."""

import io
import json
import os
import re
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from filelock import FileLock
from rich.console import Console

from ekiden_orchestrator.marathon.attempt import Glance
from ekiden_orchestrator.marathon.display import Display
from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.marathon.events import EventLog, Judged, read_events
from ekiden_orchestrator.marathon.request import Request
from ekiden_orchestrator.marathon.run import resume_run, score_foreign, score_run, start_run
from marathon_bed import PROBLEMS, SOLVERS, Bed

LEFT = "[[0,0],[1,1]]"


def judged(bed: Bed) -> list[str]:
    return [event.problem for event in read_events(bed.run_folder / "events.jsonl") if isinstance(event, Judged)]


def cut_events(bed: Bed, keep: int) -> None:
    """Make the run look as if its runner had been killed after so many events."""
    path = bed.run_folder / "events.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:keep]) + lines[keep][:20])
    if not any(b'"attempt_started"' in line for line in lines[:keep]):
        shutil.rmtree(bed.run_folder / "attempts")


def refused(bed: Bed, message: str, **request: object) -> None:
    fields = {"solver": str(SOLVERS / "brute"), "manifest": str(PROBLEMS / "normal_100.jsonl"), **request}
    output_dir = fields.pop("output_dir", bed.run_folder)
    with pytest.raises(MarathonError, match=message):
        start_run(Request(**fields, output_dir=output_dir), bed.settings, bed.display)  # type: ignore[arg-type]
    assert not bed.run_folder.exists()


def test_bad_solvers_are_refused_before_anything_is_made(bed: Bed) -> None:
    folder = bed.root / "bad"
    folder.mkdir()
    refused(bed, "There is no solver 'nobody'.*'harvest'", solver="nobody")
    refused(bed, "holds no solver.py", solver=str(folder))
    (folder / "real.py").write_text("", encoding="utf-8")
    (folder / "solver.py").symlink_to(folder / "real.py")
    refused(bed, "nothing else; remove 'real.py'", solver=str(folder))
    (folder / "real.py").rename(bed.root / "real.py")
    refused(bed, "is a link", solver=str(folder))
    (folder / "solver.py").unlink()
    os.mkfifo(folder / "solver.py")
    refused(bed, "no ordinary file", solver=str(folder))
    (folder / "solver.py").unlink()
    (folder / "solver.py").write_bytes(b"#" * 512_001)
    refused(bed, "exceeds the limit of 512,000 bytes", solver=str(folder))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no problems"),
        ('{"id": "a", "eq1_id": 1, "eq2_id": 2, "equation1": "x = x", "equation2": "x = y", "hint": 1}', "'hint'"),
        ('{"id": "a", "eq1_id": 1, "eq2_id": 2, "equation1": "x = x"}', "bad.jsonl:1: .*'equation2' is missing"),
        ('{"id": "a", "eq1_id": 1, "eq2_id": 2, "equation1": "x = x", "equation2": "x = y"}\n' * 2, "the id 'a'"),
        ("{", "bad.jsonl:1"),
    ],
)
def test_bad_manifests_are_refused_before_anything_is_made(bed: Bed, text: str, message: str) -> None:
    path = bed.root / "bad.jsonl"
    path.write_text(text, encoding="utf-8")
    refused(bed, message, manifest=str(path))


def test_a_manifest_that_is_missing_or_too_large_is_refused(bed: Bed) -> None:
    refused(bed, "no problem file 'missing.jsonl'.*'normal_100'", manifest="missing.jsonl")
    huge = bed.root / "huge.jsonl"
    with huge.open("wb") as file:
        file.truncate(60 << 20)
    refused(bed, "manifest limit", manifest=str(huge))


@pytest.mark.parametrize(
    ("request_fields", "message"),
    [
        ({"budget_usd": Decimal(-1)}, "--budget-usd"),
        ({"budget_seconds": 0.0}, "--budget-seconds"),
        ({"compression_ratio": -1.0}, "--compression-ratio"),
        ({"problem_seconds": 2.0}, "--problem-seconds is for the solver .harvest."),
    ],
)
def test_bad_budgets_are_refused(bed: Bed, request_fields: dict[str, object], message: str) -> None:
    refused(bed, message, **request_fields)


def test_a_folder_with_other_things_in_it_is_never_used(bed: Bed) -> None:
    (bed.root / "photos").mkdir()
    (bed.root / "photos" / "cat.jpg").write_bytes(b"")
    refused(bed, "not empty.*'cat.jpg'", output_dir=bed.root / "photos")
    assert [path.name for path in (bed.root / "photos").iterdir()] == ["cat.jpg"]


def test_a_run_folder_is_not_run_in_again(bed: Bed) -> None:
    bed.run(bed.solver(""))
    with pytest.raises(MarathonError, match="continue it with --resume"):
        bed.run(str(bed.root / "somebody"))


def test_the_packaged_set_is_the_public_one(bed: Bed) -> None:
    summary = bed.run(bed.solver(""), manifest="normal_100")
    assert (summary.manifest, summary.problems) == ("normal_100", 100)
    public = [json.loads(line) for line in (PROBLEMS / "normal_100.jsonl").read_text("utf-8").splitlines()]
    kept = [json.loads(line) for line in (bed.run_folder / "manifest.jsonl").read_text("utf-8").splitlines()]
    assert kept == public


def test_the_printed_report_follows_the_reference(bed: Bed) -> None:
    bed.run(bed.solver(f'answer(ids[2], "false", REFUTATION % "{LEFT}")\nanswer(ids[0])'), seconds=30)
    lines = [line.strip() for line in bed.printed.splitlines()]
    assert lines[:4] == [
        "Marathon Run",
        "Solver:   somebody",
        "Manifest: chosen (5)",
        "Budget:   30 s, 0 tokens (wall time as given; no tokens: no language model can be reached)",
    ]
    assert any(line.startswith("Solver exited rc=0 wall=") and "sigterm=False sigkill=False" in line for line in lines)
    result = lines[lines.index("=== Result ===") + 1 :]
    assert result[:4] == [
        "Score:         1 / 5",
        "Attempted:     2",
        "Not attempted: 3",
        "By status:     accepted 1, malformed 1, not_attempted 3",
    ]
    assert result[5:7] == [
        "Tokens used:   0 / 0",
        "Labels:        1 of 1 accepted answers agree with the manifest's labels",
    ]
    assert [line.split(":")[0] for line in result[7:10]] == ["Summary", "Output", "Log"]
    assert "\x1b" not in bed.printed


def test_an_accepted_answer_that_contradicts_its_label_is_listed(bed: Bed) -> None:
    path = bed.root / "wrong.jsonl"
    record = json.loads(Path(bed.manifest(3)).read_text(encoding="utf-8"))
    path.write_text(json.dumps({**record, "answer": True}), encoding="utf-8")
    summary = bed.run(bed.solver(f'answer(ids[0], "false", REFUTATION % "{LEFT}")'), manifest=str(path))
    assert summary.labels is not None
    assert summary.labels.contradicting == ("normal_0003",)
    assert "Contradicts its label: normal_0003" in bed.printed


def test_resuming_a_finished_run_prints_the_result_and_changes_nothing(bed: Bed) -> None:
    first = bed.run(bed.solver("answer(ids[0])"))
    events = (bed.run_folder / "events.jsonl").read_bytes()
    assert resume_run(bed.run_folder, bed.settings, bed.display) == first
    assert (bed.run_folder / "events.jsonl").read_bytes() == events
    assert bed.printed.count("=== Result ===") == 2


def test_a_run_killed_after_any_event_ends_with_the_same_result_and_judges_nothing_twice(bed: Bed) -> None:
    bed.change(heartbeat_s=60.0)
    source = f'for id in ids:\n    answer(id, "false", REFUTATION % "{LEFT}")'
    whole = bed.run(bed.solver(source))
    total = len((bed.run_folder / "events.jsonl").read_bytes().splitlines())
    for keep in reversed(range(1, total)):
        cut_events(bed, keep)
        again = resume_run(bed.run_folder, bed.settings, bed.display)
        assert [result.model_copy(update={"seconds": 0}) for result in again.per_problem] == [
            result.model_copy(update={"seconds": 0}) for result in whole.per_problem
        ]
        assert sorted(judged(bed)) == [f"normal_000{number}" for number in range(1, 6)]
    assert "The last event was torn" in bed.printed


def test_a_resumed_attempt_gets_only_what_is_unanswered_and_what_is_left(bed: Bed) -> None:
    source = """
report(ids=ids, seconds=int(os.environ["JUDGE_MARATHON_BUDGET_SECONDS"]))
answer(ids[0], "true", "x")
with open(output, "a") as file:
    file.write('{"id": "torn')
"""
    bed.run(bed.solver(source), seconds=30)
    lines = (bed.run_folder / "events.jsonl").read_bytes().splitlines()
    heartbeat = next(number for number, line in enumerate(lines) if b'"heartbeat"' in line)
    late = json.loads(lines[heartbeat]) | {"elapsed_seconds": 10.0}
    path = bed.run_folder / "events.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in [*lines[:heartbeat], json.dumps(late).encode()]))
    resumed = resume_run(bed.run_folder, bed.settings, bed.display)
    assert bed.scratch_report(2) == {"ids": [f"normal_000{number}" for number in range(2, 6)], "seconds": 20}
    assert [attempt.reason for attempt in resumed.attempts] == ["lost", "exited"]
    assert resumed.attempted == 2
    assert resumed.wall_seconds is not None
    assert resumed.wall_seconds >= 10.0


def test_a_run_whose_budget_is_spent_is_judged_and_not_run_again(bed: Bed) -> None:
    bed.run(bed.solver("answer(ids[0])"), seconds=30)
    lines = (bed.run_folder / "events.jsonl").read_bytes().splitlines()
    heartbeat = next(number for number, line in enumerate(lines) if b'"heartbeat"' in line)
    late = json.loads(lines[heartbeat]) | {"elapsed_seconds": 29.5}
    path = bed.run_folder / "events.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in [*lines[:heartbeat], json.dumps(late).encode()]))
    resumed = resume_run(bed.run_folder, bed.settings, bed.display)
    assert ([attempt.reason for attempt in resumed.attempts], resumed.attempted) == (["lost"], 1)


def test_a_run_that_was_not_judged_can_be_judged_later(bed: Bed) -> None:
    unjudged = bed.run(bed.solver("answer(ids[0])"), score=False)
    assert (unjudged.score, unjudged.per_problem) == (None, ())
    assert "not judged" in bed.printed
    assert score_run(bed.run_folder, bed.settings, bed.display).by_status == {"malformed": 1, "not_attempted": 4}
    assert resume_run(bed.run_folder, bed.settings, bed.display).score == 0


def test_answers_of_a_foreign_folder_can_be_judged(bed: Bed) -> None:
    bed.run(str(SOLVERS / "brute"), manifest=bed.manifest(3, 6))
    foreign = bed.root / "foreign"
    foreign.mkdir()
    (foreign / "answers.jsonl").write_bytes((bed.run_folder / "answers.jsonl").read_bytes())
    summary = score_foreign(foreign, bed.manifest(3, 6), bed.settings, bed.display)
    assert (summary.score, summary.wall_seconds, summary.exit_code) == (2, None, None)
    assert (foreign / "summary.json").is_file()


def test_a_foreign_answers_file_that_is_a_link_counts_as_empty(bed: Bed) -> None:
    foreign = bed.root / "foreign"
    foreign.mkdir()
    (foreign / "answers.jsonl").symlink_to("/dev/zero")
    summary = score_foreign(foreign, bed.manifest(3, 6), bed.settings, bed.display)
    assert summary.attempted == 0
    assert any("cannot be read" in note for note in summary.notes)


def test_a_second_runner_is_kept_out(bed: Bed) -> None:
    bed.run(bed.solver(""))
    with FileLock(bed.run_folder / "lock"), pytest.raises(MarathonError, match="Another runner"):
        resume_run(bed.run_folder, bed.settings, bed.display)


def test_what_is_no_run_cannot_be_resumed(bed: Bed) -> None:
    with pytest.raises(MarathonError, match="holds no run"):
        resume_run(bed.root, bed.settings, bed.display)
    bed.run(bed.solver(""))
    (bed.run_folder / "manifest.jsonl").write_bytes(Path(bed.manifest(1)).read_bytes())
    with pytest.raises(MarathonError, match="was changed"):
        resume_run(bed.run_folder, bed.settings, bed.display)


def test_a_run_killed_before_its_first_event_can_be_started_anew(bed: Bed) -> None:
    bed.run_folder.mkdir()
    with EventLog.open(bed.run_folder / "events.jsonl", create=True):
        pass
    (bed.run_folder / "lock").touch()
    with pytest.raises(MarathonError, match="start a new one"):
        resume_run(bed.run_folder, bed.settings, bed.display)
    assert bed.run(bed.solver("")).exit_code == 0


@pytest.mark.parametrize("width", [40, 80, 120])
def test_live_progress_is_one_line_with_one_clock(width: int) -> None:
    output = io.StringIO()
    display = Display(Console(file=output, width=width, force_terminal=True))
    with display.phase("solving", expected_s=30_000, problems=100):
        display.glance(Glance("running", 12_345.6, Counter({"false": 44, "true": 31}), 1_234_567))
    plain = re.sub(r"\x1b\[[0-9;?]*[A-HJ-Zhl]", "\r", re.sub(r"\x1b\[[0-9;]*m", "", output.getvalue()))
    shown = [line.strip() for line in re.split(r"[\r\n]+", plain) if line.strip() not in {"", "solving"}]
    assert shown
    assert all(len(line) <= width and len(re.findall(r"\d s\b", line)) == 1 for line in shown), shown
