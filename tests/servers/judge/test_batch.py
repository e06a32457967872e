"""Judging in batches: texts first, survivors together, every answer by itself."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_judge import (
    CheckItem,
    CheckResult,
    Diagnostic,
    Entry,
    ErrorCode,
    ExactChecker,
    JudgeInfrastructureError,
    Limits,
    Problem,
    Verdict,
    check_each,
    check_one,
    judge_answer,
    judge_batch,
    read_answers,
)
from scripted_checker import ScriptedChecker

PROBLEM = Problem(id="p", eq1_id=0, eq2_id=0, equation1="x = x ◇ y", equation2="x = y ◇ (x ◇ (y ◇ x))")
GOOD = CheckResult("ACCEPTED", "good", axioms=("propext",), declarations=("Goal",))
BAD = CheckResult(
    "LEAN_REJECTED", "bad", diagnostics=(Diagnostic(line=1, column=2, severity="error", message="no", kind="k"),)
)


def test_only_answers_whose_text_passes_reach_the_checker_and_in_one_batch():
    checker = ScriptedChecker({"good": GOOD, "bad": BAD})
    told: list[tuple[int, ErrorCode]] = []
    entries = [
        Entry(PROBLEM, "true", "good"),
        Entry(PROBLEM, "maybe", "good"),
        Entry(PROBLEM, "false", "bad"),
        Entry(PROBLEM, "true", "sorry"),
    ]
    verdicts = judge_batch(entries, checker=checker, done=lambda place, found: told.append((place, found.error_code)))
    assert [verdict.error_code for verdict in verdicts] == [
        "ACCEPTED",
        "INVALID_VERDICT",
        "LEAN_REJECTED",
        "BANNED_PLACEHOLDER",
    ]
    assert checker.asked == ["good", "bad"]
    assert told == [
        (1, "INVALID_VERDICT"),
        (3, "BANNED_PLACEHOLDER"),
        (0, "ACCEPTED"),
        (2, "LEAN_REJECTED"),
    ]
    assert (verdicts[0].axioms, verdicts[0].declarations, verdicts[2].diagnostics) == (
        ("propext",),
        ("Goal",),
        BAD.diagnostics,
    )


def test_an_empty_batch_asks_nobody():
    checker = ScriptedChecker({})
    assert (judge_batch([], checker=checker), checker.asked) == ([], [])


def test_lines_of_an_answers_file_are_judged_with_their_faults():
    lines = b'{"id": "p", "verdict": "true", "code": "good", "code": "good"}'
    entry = Entry.of_line(PROBLEM, read_answers(lines, ["p"]).answers["p"])
    [verdict] = judge_batch([entry], checker=ScriptedChecker({"good": GOOD}))
    assert verdict.error_code == "DUPLICATE_JSON_KEYS"


@given(st.lists(st.tuples(st.sampled_from(["true", "false", "no"]), st.text(max_size=12)), max_size=6))
def test_a_batch_says_of_each_answer_what_it_says_of_it_alone(answers: list[tuple[str, str]]):
    limits = Limits(max_code_bytes=10, max_false_certificate_bytes=5)
    checker = ExactChecker()
    batch = judge_batch([Entry(PROBLEM, *answer) for answer in answers], checker=checker, limits=limits)
    alone = [judge_answer(PROBLEM, *answer, checker=checker, limits=limits) for answer in answers]
    assert [v.model_copy(update={"seconds": 0}) for v in batch] == [v.model_copy(update={"seconds": 0}) for v in alone]


def test_a_crash_of_the_checker_hits_only_its_own_answer(caplog: pytest.LogCaptureFixture):
    def decide(item: CheckItem) -> CheckResult:
        if item.code == "bomb":
            raise RecursionError("too deep")
        return GOOD

    results = check_each(decide, [CheckItem(PROBLEM, "true", code) for code in ("a", "bomb", "c")])
    assert [(result.error_code, result.repeatable) for result in results] == [
        ("ACCEPTED", True),
        ("HARNESS_ERROR", False),
        ("ACCEPTED", True),
    ]
    assert "RecursionError: too deep" in results[1].message
    assert "checking the answer to 'p'" in caplog.text


def test_a_checker_that_cannot_work_ends_the_batch_and_keeps_what_was_told():
    def decide(item: CheckItem) -> CheckResult:
        if item.code == "b":
            raise JudgeInfrastructureError("disk full")
        return GOOD

    told: list[int] = []
    items = [CheckItem(PROBLEM, "true", code) for code in "abc"]
    with pytest.raises(JudgeInfrastructureError, match="disk full"):
        check_each(decide, items, lambda place, _: told.append(place))
    assert told == [0]


def test_one_answer_is_a_batch_of_one():
    assert check_one(ScriptedChecker({"good": GOOD}), PROBLEM, "true", "good").error_code == "ACCEPTED"


def test_a_verdict_holds_so_many_names_and_messages_and_counts_the_rest():
    flood = CheckResult(
        "LEAN_REJECTED",
        "flood",
        axioms=("a" * 1000,) * 100,
        declarations=("d",) * 41,
        diagnostics=(Diagnostic(line=1, column=1, severity="warning", message="w" * 2000),) * 20 + BAD.diagnostics,
    )
    verdict = judge_answer(PROBLEM, "true", "x", checker=ScriptedChecker({"x": flood}))
    shown = (len(verdict.axioms), len(verdict.declarations), len(verdict.diagnostics), verdict.left_out)
    assert shown == (40, 40, 12, 60 + 1 + 9)
    assert (len(verdict.axioms[0]), verdict.axioms[0][-3:]) == (200, "...")
    assert verdict.diagnostics[0] == BAD.diagnostics[0]
    assert verdict.diagnostics[1].message == "w" * 997 + "..."
    assert flood.bounded().bounded() == flood.bounded()


def test_verdicts_in_run_logs_of_earlier_versions_are_still_read():
    old = '{"status":"accepted","error_code":"ACCEPTED","message":"m","verdict":"true","checker":"exact",' + (
        '"certificate":"table","seconds":0.5}'
    )
    assert Verdict.model_validate_json(old) == Verdict.of(
        "ACCEPTED", "m", verdict="true", checker="exact", certificate="table", seconds=0.5
    )


def test_a_verdict_survives_its_own_json():
    verdict = judge_answer(PROBLEM, "true", "bad", checker=ScriptedChecker({"bad": BAD}))
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
    assert json.loads(verdict.model_dump_json())["diagnostics"] == [
        {"line": 1, "column": 2, "severity": "error", "message": "no", "kind": "k"}
    ]
