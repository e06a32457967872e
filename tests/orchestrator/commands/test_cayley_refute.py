"""`ekiden cayley refute` as a user types it."""

from __future__ import annotations

import json

from dirty_equals import IsPositiveFloat

from command_line import Done, ekiden

COMMUTATIVE, ASSOCIATIVE = "x ◇ y = y ◇ x", "x*(y*z) = (x*y)*z"


def run(*arguments: str) -> Done:
    return ekiden("cayley", "refute", *arguments)


def test_a_refutation_shows_table_assignment_values_and_method() -> None:
    result = run(COMMUTATIVE, ASSOCIATIVE)
    assert result.exit_code == 0
    lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
    assert lines[:-1] == [
        "◇   0   1",
        "───────────",
        "0   1   0",
        "1   0   0",
        "x ◇ y = y ◇ x holds in this magma.",
        "x ◇ (y ◇ z) = (x ◇ y) ◇ z fails at x = 0, y = 0, z = 1: the left side is 1, the right side is 0.",
        "Law 1 does not imply law 2. Found by trying all tables of order 2 and 3; no smaller table exists.",
    ]
    assert lines[-1].endswith(" seconds")


def test_json_is_one_object() -> None:
    result = run(COMMUTATIVE, ASSOCIATIVE, "--json", "--smallest", "--seed", "1", "--max-order", "4")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {
        "refuted": True,
        "table": [[1, 0], [0, 0]],
        "rules": [],
        "assignment": {"x": 0, "y": 0, "z": 1},
        "sides": [1, 0],
        "no_model_up_to": 1,
        "seconds": IsPositiveFloat(),
        "note": "Law 1 does not imply law 2. Found by trying all tables of order 2 and 3; no smaller table exists.",
        "code": "",
    }


def test_lean_prints_the_answer_file_alone() -> None:
    result = run(COMMUTATIVE, ASSOCIATIVE, "--lean")
    assert result.exit_code == 0
    assert result.stdout.startswith("import JudgeProblem\n")
    assert result.stdout.endswith("decideFin!\n")


def test_finding_nothing_exits_with_1_and_claims_nothing() -> None:
    result = run(COMMUTATIVE, "x*(y*z) = (z*y)*x", "--time-limit", "0.2")
    assert result.exit_code == 1
    assert "this does not prove the implication" in result.stdout


def test_a_plain_implication_is_named_and_exits_with_1() -> None:
    result = run(COMMUTATIVE, "u ◇ v = v ◇ u")
    assert result.exit_code == 1
    assert "No counterexample exists: law 2 is an instance of law 1." in result.stdout


def test_bad_input_exits_with_2_and_says_where() -> None:
    result = run(COMMUTATIVE, "x*(y*z) = (x*y)*")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "expected a variable or '(' here" in result.stderr
    assert run(COMMUTATIVE, ASSOCIATIVE, "--max-order", "65").exit_code == 2
    assert run(COMMUTATIVE, ASSOCIATIVE, "--time-limit", "-1").exit_code == 2
