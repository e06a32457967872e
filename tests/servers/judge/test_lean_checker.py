"""The Lean checker in front of a prover that says what a test tells it to; see test_lean.py for Lean itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from ekiden_judge import CheckItem, CheckResult, Diagnostic, JudgeInfrastructureError, Problem, ProofPolicy
from ekiden_judge.lean_checker import LeanChecker
from ekiden_lean.diagnostics import Diagnostic as LeanDiagnostic
from ekiden_lean.errors import LeanError
from ekiden_lean.submission import Checked, Outcome, Submission
from ekiden_magma import CayleyTable, Refutation, lean_answer, to_json

PROBLEM = Problem(id="p", eq1_id=0, eq2_id=0, equation1="x = x ◇ y", equation2="x = y ◇ (x ◇ (y ◇ x))")
TABLE = Refutation(PROBLEM.law1, PROBLEM.law2, CayleyTable(((0, 0), (1, 1))), {"x": 0, "y": 1})
CODE = lean_answer(TABLE)
ACCEPTED = "Lean's kernel accepts `submission : Goal`; it rests on no axiom."


@dataclass
class Scripted:
    """A prover that answers by the code it is given, and remembers what it was asked."""

    answers: dict[str, Checked] = field(default_factory=dict[str, Checked])
    asked: list[Submission] = field(default_factory=list[Submission])
    failure: LeanError | None = None

    def check(
        self, submissions: Sequence[Submission], *, done: Callable[[Checked], None] | None = None
    ) -> list[Checked]:
        self.asked += submissions
        if self.failure is not None:
            raise self.failure
        found = [replace(self.answers.get(s.code, Checked("", "proved", "")), key=s.key) for s in submissions]
        for checked in reversed(found):  # in any order: here the last one first
            if done is not None:
                done(checked)
        return found


def check(code: str, says: Checked | None = None, problem: Problem = PROBLEM) -> CheckResult:
    prover = Scripted({code: says} if says else {})
    [result] = LeanChecker(prover, toolchain="test").check_batch([CheckItem(problem, "false", code)])
    return result


def test_what_the_kernel_and_the_policy_accept_is_accepted_with_its_axioms():
    says = Checked("", "proved", "", axioms=("propext",), declarations=("Goal", "Eq"), seconds=1.5)
    assert check(CODE, says) == CheckResult(
        "ACCEPTED",
        "Lean's kernel accepts `submission : Goal`; it rests on the axiom 'propext'.",
        certificate="table",
        axioms=("propext",),
        declarations=("Eq", "Goal"),
        seconds=1.5,
    )


def test_the_policy_of_the_problem_decides_over_what_the_kernel_accepts():
    says = Checked("", "proved", "", axioms=("propext",), declarations=("Goal", "helper"))
    strict = PROBLEM.model_copy(update={"proof_policy": ProofPolicy()})
    assert [check(CODE, says, problem).error_code for problem in (PROBLEM, strict)] == [
        "DISALLOWED_DECLARATIONS",
        "DISALLOWED_AXIOMS",
    ]


def error(line: int, column: int, message: str) -> LeanDiagnostic:
    return LeanDiagnostic(line, column, line, column + 1, "error", message, "")


def test_a_refusal_tells_the_first_error_and_its_place():
    warning = LeanDiagnostic(1, 0, 1, 5, "warning", "unused variable", "linter")
    says = Checked("", "refused", "no", diagnostics=(warning, error(9, 2, "later"), error(3, 4, "unknown identifier")))
    result = check("x", says)
    assert result == CheckResult(
        "LEAN_REJECTED",
        "Lean refuses the code at line 3, column 5: unknown identifier",
        diagnostics=(
            Diagnostic(line=9, column=3, severity="error", message="later"),
            Diagnostic(line=3, column=5, severity="error", message="unknown identifier"),
            Diagnostic(line=1, column=1, severity="warning", message="unused variable", kind="linter"),
        ),
    )


def test_a_file_with_an_error_is_refused_although_its_submission_is_proved():
    says = Checked("", "proved", "", diagnostics=(error(7, 0, "unknown tactic"),))
    assert check(CODE, says).error_code == "LEAN_REJECTED"


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ("refused", ("LEAN_REJECTED", "Lean refuses the code: why", True)),
        ("timeout", ("LEAN_TIMEOUT", "Lean ran out of time. why", False)),
        ("memory", ("LEAN_REJECTED", "Lean ran out of memory, so the proof does not count. why", False)),
        (
            "crashed",
            ("LEAN_REJECTED", "Lean ended before it had read the whole code, so the proof does not count. why", False),
        ),
        ("unavailable", ("NEEDS_LEAN", "This Lean cannot decide the answer. why", True)),
    ],
)
def test_each_outcome_has_its_code_and_says_whether_it_would_be_the_same_again(
    outcome: Outcome, expected: tuple[str, str, bool]
):
    result = check("x", Checked("", outcome, "why"))
    assert (result.error_code, result.message, result.repeatable) == expected


def test_results_keep_the_order_of_the_items_whatever_the_order_of_the_prover():
    prover = Scripted({"bad": Checked("", "refused", "no")})
    told: list[int] = []
    items = [CheckItem(PROBLEM, "false", code) for code in (CODE, "bad", '{"certificate": 1}', CODE)]
    results = LeanChecker(prover, toolchain="test").check_batch(items, done=lambda place, _: told.append(place))
    assert [result.error_code for result in results] == ["ACCEPTED", "LEAN_REJECTED", "LEAN_REJECTED", "ACCEPTED"]
    assert told == [2, 3, 1, 0]
    assert len(prover.asked) == 3


def test_a_certificate_in_json_is_handed_over_as_its_lean_text():
    prover = Scripted()
    [result] = LeanChecker(prover, toolchain="test").check_batch([CheckItem(PROBLEM, "false", to_json(TABLE))])
    assert [submission.code for submission in prover.asked] == [CODE]
    assert (result.error_code, result.certificate, result.message) == ("ACCEPTED", "table", ACCEPTED)


def test_json_that_is_no_certificate_is_refused_without_lean():
    prover = Scripted()
    [result] = LeanChecker(prover, toolchain="test").check_batch([CheckItem(PROBLEM, "false", '{"table": [[0]]}')])
    assert (result.error_code, prover.asked) == ("LEAN_REJECTED", [])


def test_a_quoted_name_of_that_module_is_refused_too():
    assert check(f"import «JudgeSupport».Inspect\n{CODE}").error_code == "LEAN_REJECTED"


@pytest.mark.parametrize("head", ["", "/- import -/ ", "import JudgeProblem\n-- x\n"])
def test_the_report_module_of_another_judge_is_not_offered(head: str):
    prover = Scripted()
    code = f"{head}import JudgeSupport.Inspect\n{CODE}"
    [result] = LeanChecker(prover, toolchain="test").check_batch([CheckItem(PROBLEM, "false", code)])
    assert (result.error_code, prover.asked) == ("LEAN_REJECTED", [])
    line, column = head.count("\n") + 1, len(head) - head.rfind("\n") + 7
    assert result.message == (
        f"The import 'JudgeSupport.Inspect' at line {line}, column {column} is not offered: it holds the report "
        "command of another judge; this one looks at the proof by itself."
    )


def test_the_module_may_be_named_in_a_comment():
    assert check(f"-- import JudgeSupport.Inspect\n{CODE}").error_code == "ACCEPTED"


def test_a_lean_that_does_not_work_is_no_verdict():
    checker = LeanChecker(Scripted(failure=LeanError("Lean does not start")), toolchain="test")
    with pytest.raises(JudgeInfrastructureError, match="Lean does not start"):
        checker.check_batch([CheckItem(PROBLEM, "false", CODE)])


def test_the_identity_tells_toolchains_and_default_policies_apart():
    identities = {
        LeanChecker(Scripted(), toolchain="a").identity,
        LeanChecker(Scripted(), toolchain="b").identity,
        LeanChecker(Scripted(), toolchain="a", default_policy="strict").identity,
    }
    assert len(identities) == 3


def test_a_flood_of_messages_is_cut_and_counted():
    flood = tuple(error(n, 0, "x" * 5000) for n in range(1, 100))
    result = check("x", Checked("", "refused", "", diagnostics=flood))
    assert (len(result.diagnostics), result.left_out) == (12, 87)
    assert {len(diagnostic.message) for diagnostic in result.diagnostics} == {1000}
    assert len(result.message) < 2000
