"""The prompt in a solver's source, and how it is filled."""

import pytest

from ekiden_judge import Problem
from ekiden_orchestrator.solo.prompt import NO_ATTEMPTS, Attempt, fill_prompt, read_prompt

PROBLEM = Problem(id="p", eq1_id=4, eq2_id=65, equation1="x = x * y", equation2="x ◇ y = y ◇ x", answer=False)


def fill(prompt: str, *attempts: Attempt, number: int = 1, **context: object) -> str:
    return fill_prompt(prompt, PROBLEM, attempts, number=number, context=context)


@pytest.mark.parametrize(
    ("source", "prompt"),
    [
        ("PROMPT = 'a'", "a"),
        ("PROMPT = 'a' 'b'", "ab"),
        ("x = 1\nPROMPT = '''a\nb'''", "a\nb"),
        ("PROMPT = 'first'\nPROMPT = 'second'", "first"),
        ("PROMPT = 3\nPROMPT = 'a'", "a"),
        ("PROMPT: str = 'a'", ""),
        ("PROMPT = f'a'", ""),
        ("PROMPT = 'a' + 'b'", ""),
        ("PROMPT = OTHER = 'a'", ""),
        ("PROMPT, other = 'a', 'b'", ""),
        ("if True:\n    PROMPT = 'a'", ""),
        ("def f():\n    PROMPT = 'a'", ""),
        ("PROMPT = b'a'", ""),
        ("not python at all", ""),
        ("PROMPT = 'a\0'", ""),
        ("", ""),
    ],
)
def test_the_first_plain_assignment_counts(source: str, prompt: str) -> None:
    assert read_prompt(source.encode()) == prompt


def test_a_source_that_is_no_utf8_has_no_prompt() -> None:
    assert read_prompt(b"PROMPT = '\xff'") == ""


def test_a_source_is_not_run() -> None:
    assert read_prompt(b"raise SystemExit\nPROMPT = 'a'") == "a"


@pytest.mark.parametrize(
    ("placeholder", "value"),
    [
        ("{problem.id}", "p"),
        ("{problem.eq1_id}", "4"),
        ("{problem.eq2_id}", "65"),
        ("{problem.eq1_name}", "Equation4"),
        ("{problem.eq2_name}", "Equation65"),
        ("{problem.equation1_id}", "Equation4"),
        ("{problem.equation2_id}", "Equation65"),
        ("{problem.equation1}", "x = x * y"),
        ("{problem.equation2}", "x ◇ y = y ◇ x"),
        ("{problem.answer}", ""),
        ("{history.round}", "7"),
        ("{history.attempts}", NO_ATTEMPTS),
        ("{history.last_error}", ""),
        ("{solver.note}", "as told"),
        ("{solver.list}", "[1, 2]"),
        ("{solver.two words}", "both"),
        ("{solver.missing}", ""),
        ("{other.x}", "{other.x}"),
        ('{"verdict": "true"}', '{"verdict": "true"}'),
    ],
)
def test_placeholders_are_filled_or_removed(placeholder: str, value: str) -> None:
    filled = fill(f"<{placeholder}>", number=7, **{"note": "as told", "list": [1, 2], "two words": "both"})
    assert filled == f"<{value}>"


def test_what_is_filled_in_is_not_filled_again() -> None:
    assert fill("{solver.a}", a="{problem.id}{solver.b}", b="x") == "{problem.id}{solver.b}"


def test_the_history_tells_each_attempt_with_its_error_cut() -> None:
    attempts = (Attempt("true", "incorrect", "e" * 700), Attempt("false", "malformed", "no table"))
    told = fill("{history.attempts}|{history.last_status}|{history.last_error}", *attempts)
    assert told == (
        "Attempt 1: verdict true, incorrect\n" + "e" * 600 + "\nAttempt 2: verdict false, malformed\nno table"
        "|malformed|no table"
    )
