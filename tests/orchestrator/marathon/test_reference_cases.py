"""The cases of the SAIR judge's marathon harness that need no tokens, each under its name there."""

import json
from pathlib import Path

import pytest

from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.marathon.summary import Summary
from marathon_bed import PROBLEMS, Bed
from orchestrator.marathon.solver_sources import WAIT_FOR_EVER

LEFT = "[[0,0],[1,1]]"  # refutes normal_0003
MIB = 1 << 20


def statuses(summary: Summary) -> dict[str, str]:
    return {problem.id: problem.status for problem in summary.per_problem}


def test_baseline_smoke(bed: Bed) -> None:
    summary = bed.run("baseline", seconds=60, tokens=1000)
    assert (summary.exit_code, summary.sigterm_fired) == (0, False)
    assert statuses(summary)["normal_0003"] == "accepted"
    assert summary.labels is not None
    assert summary.labels.contradicting == ()


def test_skip_path_a_solver_that_writes_nothing_scores_nothing(bed: Bed) -> None:
    summary = bed.run(bed.solver(""), seconds=10, tokens=100)
    assert (summary.exit_code, summary.sigterm_fired, summary.score) == (0, False, 0)
    assert summary.by_status == {"not_attempted": 5}


def test_partial_path_broken_answers_are_malformed_and_good_ones_count(bed: Bed) -> None:
    source = f"""
write(json.dumps({{"id": ids[0], "verdict": "false"}}))
answer(ids[1], "maybe")
answer(ids[2], "false", REFUTATION % "{LEFT}")
answer(ids[3], "true", 17)
"""
    summary = bed.run(bed.solver(source), seconds=10, tokens=100)
    assert summary.exit_code == 0
    assert statuses(summary) == {
        "normal_0001": "malformed",
        "normal_0002": "malformed",
        "normal_0003": "accepted",
        "normal_0004": "malformed",
        "normal_0005": "not_attempted",
    }
    assert (summary.score, summary.attempted, summary.not_attempted) == (1, 4, 1)


def test_budget_kill_the_wall_limit_ends_a_solver_that_never_does(bed: Bed) -> None:
    summary = bed.run(bed.solver("answer(ids[0])" + WAIT_FOR_EVER), seconds=1, tokens=100)
    assert (summary.sigterm_fired, summary.sigkill_fired, summary.sigterm_reason) == (True, False, "wall")
    assert summary.by_status == {"malformed": 1, "not_attempted": 4}


def test_oversized_solver_rejected_before_anything_is_made(bed: Bed) -> None:
    folder = Path(bed.solver(""))
    (folder / "solver.py").write_bytes(b"#" * 512_001)
    with pytest.raises(MarathonError, match="exceeds the limit of 512,000 bytes"):
        bed.run(str(folder), seconds=5, tokens=100)
    assert not bed.run_folder.exists()


def test_oversized_manifest_rejected_before_anything_is_made(bed: Bed) -> None:
    line = (PROBLEMS / "normal_100.jsonl").read_bytes().splitlines(keepends=True)[0]
    huge = bed.root / "huge.jsonl"
    with huge.open("wb") as file:
        for _ in range(50 * MIB // len(line) + 1):
            file.write(line)
    with pytest.raises(MarathonError, match="manifest limit"):
        bed.run(bed.solver(""), manifest=str(huge), seconds=5, tokens=100)
    assert not bed.run_folder.exists()


@pytest.mark.parametrize(
    "flood",
    [
        pytest.param(
            "for _ in range(200_000): sys.stderr.write('e' * 60 + '\\n')\nsys.stderr.write('x' * 8192 + '\\n')",
            id="stderr_flood_bounded",
        ),
        pytest.param("for _ in range(256): sys.stderr.write('x' * 65536)", id="stderr_no_newline_bounded"),
    ],
)
def test_a_flood_of_errors_is_drained_and_bounded(bed: Bed, flood: str) -> None:
    summary = bed.run(bed.solver(flood), seconds=60, tokens=100)
    assert summary.exit_code == 0
    assert 0 < len(summary.stderr_tail.encode()) <= 65536
    assert (bed.run_folder / "run.log").stat().st_size < 20 * MIB


FLOOD = """
with open(output, "ab", buffering=0) as file:
    while True:
        file.write(b'{"id": "normal_0001", "verdict": "true", "code": "' + b"x" * SIZE + b'"}\\n')
"""


def test_output_flood_killed(bed: Bed) -> None:
    summary = bed.run(bed.solver(f"SIZE = {10 * MIB}\n{FLOOD}"), seconds=60, tokens=100)
    assert (summary.sigterm_fired, summary.sigterm_reason) == (True, "output")
    assert summary.by_status == {"malformed": 1, "not_attempted": 4}


def test_output_grace_overrun_truncated_to_the_limit(bed: Bed) -> None:
    bed.change(output_limit_bytes=200_000)
    deaf = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nSIZE = 60_000\n"
    steady = FLOOD + "        time.sleep(0.01)\n"
    summary = bed.run(bed.solver(deaf + steady), seconds=60, tokens=100)
    assert (summary.sigterm_reason, summary.sigkill_fired) == ("output", True)
    assert (bed.run_folder / "answers.jsonl").stat().st_size <= 200_000
    assert (bed.run_folder / "attempts" / "1" / "answers.jsonl").stat().st_size <= 200_000
    assert summary.by_status == {"malformed": 1, "not_attempted": 4}
    assert any("was cut" in note for note in summary.notes)


def test_determinism_two_runs_of_the_baseline_agree(bed: Bed) -> None:
    other = bed.again()
    first, second = (each.run("baseline", manifest=bed.manifest(*range(1, 21)), tokens=100) for each in (bed, other))
    assert first.score
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert statuses(first) == statuses(second)
    assert (bed.run_folder / "answers.jsonl").read_bytes() == (other.run_folder / "answers.jsonl").read_bytes()


def test_anti_persist_scratch_is_empty_whatever_an_earlier_run_left(bed: Bed) -> None:
    source = """
report(scratch=os.listdir(scratch), here=sorted(os.listdir(".")))
for folder in (scratch, ".", os.environ["HOME"], os.environ["TMPDIR"]):
    open(os.path.join(folder, "stale"), "w").close()
"""
    folder = bed.solver(source)
    other = bed.again()
    for each in (bed, other):
        each.run(folder, seconds=10, tokens=100)
        assert each.scratch_report() == {"scratch": ["manifest.jsonl"], "here": ["solver.py"]}
    assert [path.name for path in Path(folder).iterdir()] == ["solver.py"]


def test_late_write_a_line_written_during_the_grace_is_graded(bed: Bed) -> None:
    source = f"""
answer(ids[0], "false", REFUTATION % "{LEFT}")
def late(*_):
    answer(ids[0])
    sys.exit(0)
signal.signal(signal.SIGTERM, late)
"""
    summary = bed.run(bed.solver(source + WAIT_FOR_EVER), manifest=bed.manifest(3, 6), seconds=1, tokens=100)
    assert summary.sigterm_fired
    assert len((bed.run_folder / "answers.jsonl").read_bytes().splitlines()) == 2
    assert statuses(summary) == {"normal_0003": "malformed", "normal_0006": "not_attempted"}


def test_duplicate_id_the_last_line_counts(bed: Bed) -> None:
    source = f'answer(ids[0])\nanswer(ids[0], "false", REFUTATION % "{LEFT}")'
    summary = bed.run(bed.solver(source), manifest=bed.manifest(3, 6), seconds=10, tokens=100)
    assert (summary.score, summary.attempted) == (1, 1)
    assert summary.ignored_lines is not None
    assert summary.ignored_lines.replaced == 1


def test_manifest_mutation_changes_nothing_in_the_score(bed: Bed) -> None:
    foreign = json.dumps({"id": "foreign", "eq1_id": 1, "eq2_id": 2, "equation1": "x = x", "equation2": "x = y"})
    source = f"open(manifest, 'w').write({foreign!r})\nanswer('foreign')"
    summary = bed.run(bed.solver(source), seconds=10, tokens=100)
    assert list(statuses(summary)) == [f"normal_000{number}" for number in range(1, 6)]
    assert summary.attempted == 0
    assert summary.ignored_lines is not None
    assert summary.ignored_lines.unknown_ids == 1
