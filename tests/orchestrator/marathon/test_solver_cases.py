"""The life of a solver under the contract: the cases of the SAIR judge's harness that need no tokens."""

import json

import pytest
from inline_snapshot import snapshot

from marathon_bed import SOLVERS, Bed

LEFT = "[[0,0],[1,1]]"  # refutes normal_0003


def statuses(summary: object) -> dict[str, str]:
    return {problem.id: problem.status for problem in summary.per_problem}  # type: ignore[attr-defined]


def test_a_solver_that_writes_nothing_scores_nothing(bed: Bed) -> None:
    summary = bed.run(bed.solver(""))
    assert (summary.exit_code, summary.sigterm_fired, summary.score) == (0, False, 0)
    assert summary.by_status == {"not_attempted": 5}


def test_broken_answers_are_malformed_and_good_ones_count(bed: Bed) -> None:
    summary = bed.run(
        bed.solver(
            f"""
write(json.dumps({{"id": ids[0], "verdict": "false"}}))
answer(ids[1], "maybe")
answer(ids[2], "false", REFUTATION % "{LEFT}")
answer(ids[3], "true", 17)
"""
        )
    )
    assert summary.exit_code == 0
    assert statuses(summary) == {
        "normal_0001": "malformed",
        "normal_0002": "malformed",
        "normal_0003": "accepted",
        "normal_0004": "malformed",
        "normal_0005": "not_attempted",
    }
    assert (summary.score, summary.attempted, summary.not_attempted) == (1, 4, 1)


def test_a_third_party_solver_runs_unchanged(bed: Bed) -> None:
    summary = bed.run(str(SOLVERS / "brute"), manifest=bed.manifest(*range(1, 21)))
    assert summary.exit_code == 0
    assert summary.score
    assert summary.labels is not None
    assert summary.labels.contradicting == ()
    assert summary.by_status["accepted"] == summary.score == summary.labels.agreeing


def test_two_runs_of_a_deterministic_solver_agree(bed: Bed) -> None:
    first = bed.run(str(SOLVERS / "brute"))
    second_bed = Bed(bed.root / "again", bed.settings, bed.output)
    second_bed.root.mkdir()
    second = second_bed.run(str(SOLVERS / "brute"))
    assert (first.score, statuses(first)) == (second.score, statuses(second))


def test_the_wall_limit_ends_a_solver_that_never_does(bed: Bed) -> None:
    summary = bed.run(bed.solver("answer(ids[0])\nwhile True: signal.pause()"), seconds=1)
    assert (summary.sigterm_fired, summary.sigkill_fired, summary.sigterm_reason) == (True, False, "wall")
    assert summary.by_status == {"malformed": 1, "not_attempted": 4}


def test_a_solver_deaf_to_sigterm_is_killed_after_the_grace(bed: Bed) -> None:
    source = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nanswer(ids[0])\nwhile True: signal.pause()"
    summary = bed.run(bed.solver(source), seconds=1)
    assert (summary.sigterm_fired, summary.sigkill_fired, summary.exit_code) == (True, True, -9)
    assert summary.attempted == 1


def test_a_line_written_during_the_grace_is_graded(bed: Bed) -> None:
    source = f"""
answer(ids[0], "false", REFUTATION % "{LEFT}")
def late(*_):
    answer(ids[0])
    sys.exit(0)
signal.signal(signal.SIGTERM, late)
while True: signal.pause()
"""
    summary = bed.run(bed.solver(source), manifest=bed.manifest(3, 6), seconds=1)
    assert summary.sigterm_fired
    assert len((bed.run_folder / "answers.jsonl").read_bytes().splitlines()) == 2
    assert statuses(summary) == {"normal_0003": "malformed", "normal_0006": "not_attempted"}


def test_the_last_line_of_an_id_counts(bed: Bed) -> None:
    source = f'answer(ids[0])\nanswer(ids[0], "false", REFUTATION % "{LEFT}")'
    summary = bed.run(bed.solver(source), manifest=bed.manifest(3, 6))
    assert (summary.score, summary.attempted) == (1, 1)
    assert summary.ignored_lines is not None
    assert summary.ignored_lines.replaced == 1


def test_changing_the_manifest_copy_changes_nothing_in_the_score(bed: Bed) -> None:
    source = """
with open(manifest, "w") as file:
    file.write('{"id": "foreign"}')
answer("foreign")
"""
    summary = bed.run(bed.solver(source))
    assert list(statuses(summary)) == [f"normal_000{number}" for number in range(1, 6)]
    assert summary.attempted == 0
    assert summary.ignored_lines is not None
    assert summary.ignored_lines.unknown_ids == 1


def test_a_budget_of_zero_tokens_denies_calls_without_raising(bed: Bed) -> None:
    source = """
sys.path.insert(0, os.environ["JUDGE_MARATHON_LIB_DIR"])
import marathon_llm
reply = marathon_llm.call_llm("prove it", config={"model": "any"}, max_seconds=1.0)
report(reply=reply, used=marathon_llm.tokens_used(), left=marathon_llm.budget_remaining(),
       tokens=os.environ["JUDGE_MARATHON_BUDGET_TOKENS"], seconds=os.environ["JUDGE_MARATHON_BUDGET_SECONDS"],
       openai=[name for name in os.environ if name.startswith("OPENAI")])
"""
    summary = bed.run(bed.solver(source), seconds=30.9)
    assert bed.scratch_report() == snapshot(
        {
            "reply": {"error": "token budget is zero — no LLM calls allowed", "budget_remaining": 0},
            "used": 0,
            "left": 0,
            "tokens": "0",
            "seconds": "30",
            "openai": [],
        }
    )
    assert (summary.tokens_used, summary.tokens_exhausted, summary.exit_code) == (0, False, 0)


@pytest.mark.parametrize(
    "flood",
    [
        "for _ in range(200_000): sys.stderr.write('e' * 60 + '\\n')\nsys.stderr.write('x' * 8192 + '\\n')",
        "for _ in range(256): sys.stderr.write('x' * 65536)",
        "for _ in range(256): sys.stdout.write('x' * 65536)",
    ],
    ids=["lines", "no line breaks", "stdout"],
)
def test_a_flood_of_output_is_drained_and_bounded(bed: Bed, flood: str) -> None:
    summary = bed.run(bed.solver(flood))
    assert summary.exit_code == 0
    assert len(summary.stderr_tail.encode()) <= 65536
    assert (bed.run_folder / "run.log").stat().st_size < 20 << 20


def test_invalid_utf8_on_stderr_does_not_end_the_drain(bed: Bed) -> None:
    source = "sys.stderr.buffer.write(b'\\xff\\xfe bad\\n')\nsys.stderr.write('x' * 200_000 + '\\nlast words\\n')"
    summary = bed.run(bed.solver(source))
    assert summary.exit_code == 0
    assert summary.stderr_tail.endswith("last words")


def test_a_flood_of_answers_ends_the_solver_and_is_cut(bed: Bed) -> None:
    bed.change(output_limit_bytes=200_000)
    source = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(output, "ab", buffering=0) as file:
    while True:
        file.write(b'{"id": "normal_0001", "verdict": "true", "code": "' + b"x" * 60_000 + b'"}\\n')
        time.sleep(0.01)
"""
    summary = bed.run(bed.solver(source))
    assert (summary.sigterm_reason, summary.sigkill_fired) == ("output", True)
    assert (bed.run_folder / "answers.jsonl").stat().st_size <= 200_000
    assert (bed.run_folder / "attempts" / "1" / "answers.jsonl").stat().st_size <= 200_000
    assert summary.by_status == {"malformed": 1, "not_attempted": 4}
    assert any("was cut" in note for note in summary.notes)


def test_a_solver_that_fails_is_reported_with_its_last_words(bed: Bed) -> None:
    summary = bed.run(bed.solver("answer(ids[0])\nraise RuntimeError('out of \\x1b[31mideas')"))
    assert summary.exit_code == 1
    assert summary.attempted == 1
    assert "RuntimeError" in summary.stderr_tail
    assert "stderr: RuntimeError: out of \\x1b[31mideas" in bed.printed
    assert "\x1b" not in bed.printed


def test_scratch_is_empty_and_the_submission_is_a_private_copy(bed: Bed) -> None:
    folder = bed.solver("open('kept', 'w').close()\nreport(scratch=os.listdir(scratch), here=sorted(os.listdir('.')))")
    bed.run(folder)
    assert bed.scratch_report() == {"scratch": ["manifest.jsonl"], "here": ["kept", "solver.py"]}
    assert [path.name for path in (bed.root / "somebody").iterdir()] == ["solver.py"]


def test_the_summary_has_every_key_of_the_reference_and_the_missing_ones(bed: Bed) -> None:
    bed.run(bed.solver("answer(ids[0])"))
    summary = json.loads((bed.run_folder / "summary.json").read_text(encoding="utf-8"))
    reference = {"score", "attempted", "not_attempted", "by_status", "wall_seconds", "sigterm_fired", "sigkill_fired"}
    reference |= {"tokens_used", "tokens_exhausted", "per_problem"}
    added = {"exit_code", "sigterm_reason", "stderr_tail", "by_error_code", "budget_seconds", "budget_tokens"}
    added |= {"versions", "isolation", "ignored_lines", "attempts", "judging_seconds", "notes"}
    assert reference | added <= summary.keys()
    assert {"id", "status", "verdict", "message", "error_code"} <= summary["per_problem"][0].keys()
