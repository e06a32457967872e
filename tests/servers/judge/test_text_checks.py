"""The checks of an answer's text: codes, order, limits; the checker behind them accepts whatever reaches it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from dirty_equals import IsPositiveFloat
from hypothesis import given
from hypothesis import strategies as st

from ekiden_judge import (
    Answer,
    CheckItem,
    CheckResult,
    ErrorCode,
    Limits,
    Problem,
    Verdict,
    check_each,
    judge_answer,
    judge_line,
    read_answers,
    verify_answer,
)
from ekiden_judge.checker import Done
from ekiden_judge.tokens import BANNED_COMMANDS, BANNED_WORDS, BannedToken, find_banned_token
from ekiden_judge.verdict import STATUS_OF

PROBLEM = Problem(id="p", eq1_id=4, eq2_id=65, equation1="x = x ◇ y", equation2="x = y ◇ (x ◇ (y ◇ x))")


@dataclass(frozen=True)
class Trusting:
    """A checker that accepts everything, so that a test sees what reaches a checker."""

    name: str = "trusting"
    identity: str = "trusting 1"

    def check_batch(self, items: Sequence[CheckItem], *, done: Done | None = None) -> list[CheckResult]:
        return check_each(
            lambda item: CheckResult("ACCEPTED", f"{item.problem.id} {item.claim} {len(item.code)}"), items, done
        )


CHECKER = Trusting()
SMALL = Limits(max_code_bytes=30, max_false_certificate_bytes=20)


def raw(verdict: object = "true", code: object = "x", **more: object) -> str:
    return json.dumps({"verdict": verdict, "code": code, **more})


CASES: dict[str, tuple[bytes | str, ErrorCode]] = {
    "not JSON": ("{", "UNPARSED_JSON"),
    "empty": (b"", "UNPARSED_JSON"),
    "not UTF-8": (b"\xff{}", "UNPARSED_JSON"),
    "byte order mark": ("\ufeff{}", "UNPARSED_JSON"),
    "not a number": ('{"verdict": NaN, "verdict": 1}', "UNPARSED_JSON"),
    "control character": ('{"code": "\x00"}', "UNPARSED_JSON"),
    "repeated key": ('{"verdict": "true", "code": "sorry", "code": "x"}', "DUPLICATE_JSON_KEYS"),
    "repeated key where the rest is wrong too": ('[{"code": "\\ud800", "code": "x"}]', "DUPLICATE_JSON_KEYS"),
    "list": ("[]", "ANSWER_NOT_OBJECT"),
    "string": ('"true"', "ANSWER_NOT_OBJECT"),
    "null": ("null", "ANSWER_NOT_OBJECT"),
    "list too deep": (" [" + "[" * 10**6, "ANSWER_NOT_OBJECT"),
    "number too long": ("1" * 5000, "ANSWER_NOT_OBJECT"),
    "no code": ('{"verdict": "true"}', "ANSWER_SCHEMA_ERROR"),
    "one key more": (raw("maybe", "", id="p"), "ANSWER_SCHEMA_ERROR"),
    "code too deep": (b'{"verdict": "true", "code": ' + b"[" * 10**6, "ANSWER_SCHEMA_ERROR"),
    "code of 5000 digits": (b'{"verdict": "true", "code": ' + b"1" * 5000 + b"}", "ANSWER_SCHEMA_ERROR"),
    "code with a lone surrogate": (raw(code="\ud800"), "ANSWER_SCHEMA_ERROR"),
    "maybe": (raw("maybe", 1), "INVALID_VERDICT"),
    "boolean": (raw(json.loads("true")), "INVALID_VERDICT"),
    "list as verdict": (raw(["true"]), "INVALID_VERDICT"),
    "object as verdict": (raw({"true": 1}), "INVALID_VERDICT"),
    "blank code": (raw(code=" \u2028\n"), "INVALID_CODE_FIELD"),
    "number as code": (raw(code=7), "INVALID_CODE_FIELD"),
    "too long, in bytes": (raw(code="◇" * 11), "CODE_TOO_LONG"),
    "too long, and banned": (raw(code="sorry" + "x" * 30), "CODE_TOO_LONG"),
    "banned": (raw(code="exact sorry"), "BANNED_PLACEHOLDER"),
    "banned, and too large for false": (raw("false", "x" * 20 + " sorry"), "BANNED_PLACEHOLDER"),
    "too large for false, in bytes": (raw("false", "◇" * 7), "FALSE_CERT_TOO_LARGE"),
    "at the limit": (raw(code="◇" * 10), "ACCEPTED"),
    "at the limit for false": (raw("false", "y" * 20), "ACCEPTED"),
}


@pytest.mark.parametrize("case", CASES)
def test_an_answer_gets_the_code_of_the_first_check_it_fails(case: str):
    text, expected = CASES[case]
    verdict = verify_answer(PROBLEM, text, checker=CHECKER, limits=SMALL)
    assert (verdict.error_code, verdict.status) == (expected, STATUS_OF[expected])


MESSAGES: dict[str, tuple[str, str]] = {
    "syntax": (
        '{"verdict": "true" "code": ""}',
        "The answer is refused: no valid JSON: expecting ',' delimiter at column 20.",
    ),
    "repeated key": (
        '{"code": "sorry", "code": "x"}',
        "The answer is refused: the key 'code' occurs twice in one object.",
    ),
    "list too deep": ("[" * 70, "An answer is a JSON object; in this text brackets are nested more than 64 deep."),
    "list": ("[]", "An answer is a JSON object with the keys 'verdict' and 'code', not a list."),
    "keys": (
        raw("true", "x", id="p"),
        "An answer has exactly the keys 'verdict' and 'code'; this one has 'code', 'id', 'verdict'.",
    ),
    "verdict": (raw("maybe"), "The verdict is 'maybe'; write the string 'true' or 'false'."),
    "code": (raw(code=[]), "The code is a list; write a string that holds a Lean source file."),
    "too long": (raw(code="◇" * 11), "The code has 33 bytes in UTF-8; at most 30 are read."),
    "banned": (
        raw(code="-- no\n-- sorry"),
        "The code contains 'sorry' at line 2, column 4; no answer may contain it, not even in a comment, a string or "
        "a longer name.",
    ),
    "too large": (raw("false", "◇" * 7), "The code has 21 bytes in UTF-8; an answer 'false' may have at most 20."),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_a_refusal_says_what_is_wrong_and_where(case: str):
    text, message = MESSAGES[case]
    assert verify_answer(PROBLEM, text, checker=CHECKER, limits=SMALL).message == message


def test_a_verdict_tells_what_was_claimed_and_who_decided():
    assert verify_answer(PROBLEM, raw("false"), checker=CHECKER).model_dump() == {
        "status": "accepted",
        "error_code": "ACCEPTED",
        "message": "p false 1",
        "verdict": "false",
        "checker": "trusting",
        "certificate": None,
        "axioms": (),
        "declarations": (),
        "diagnostics": (),
        "left_out": 0,
        "seconds": IsPositiveFloat(),
    }


def test_the_text_of_a_verdict_is_the_same_on_every_run():
    first, second = (repr(verify_answer(PROBLEM, raw("false"), checker=CHECKER)) for _ in range(2))
    assert first == second
    assert first == (
        "Verdict(status='accepted', error_code='ACCEPTED', message='p false 1', verdict='false', checker='trusting', "
        "certificate=None, axioms=(), declarations=(), diagnostics=(), left_out=0)"
    )


def test_status_and_code_of_a_verdict_cannot_disagree():
    with pytest.raises(ValueError, match="the code 'LEAN_REJECTED' belongs to 'incorrect', not to 'accepted'"):
        Verdict(status="accepted", error_code="LEAN_REJECTED", message="")


def test_the_marathon_limits_are_50000_bytes_and_10000_for_false():
    codes = [
        judge_answer(PROBLEM, verdict, "y" * size, checker=CHECKER).error_code
        for verdict, size in (("true", 50_000), ("true", 50_001), ("false", 10_000), ("false", 10_001))
    ]
    assert codes == ["ACCEPTED", "CODE_TOO_LONG", "ACCEPTED", "FALSE_CERT_TOO_LARGE"]


class Split(NamedTuple):
    verdict: object
    code: object
    error_code: str


@pytest.mark.parametrize(
    "case",
    [
        Split(None, None, "INVALID_VERDICT"),
        Split({"true": 1}, "x", "INVALID_VERDICT"),
        Split("\ud800", "x", "INVALID_VERDICT"),
        Split("True", "x", "INVALID_VERDICT"),
        Split(10**5000, "x", "INVALID_VERDICT"),
        Split("true", None, "INVALID_CODE_FIELD"),
        Split("true", ["x"], "INVALID_CODE_FIELD"),
        Split("true", 10**5000, "INVALID_CODE_FIELD"),
        Split("true", "x\udfff", "INVALID_CODE_FIELD"),
        Split("true", "x", "ACCEPTED"),
    ],
    ids=lambda case: f"{case.error_code} {type(case.code).__name__}",
)
def test_fields_of_any_kind_get_a_code(case: Split):
    assert judge_answer(PROBLEM, case.verdict, case.code, checker=CHECKER).error_code == case.error_code


def test_a_line_of_an_answers_file_is_judged_with_the_fault_it_was_read_with():
    lines = ['{"id": "p", "code": "x", "code": "y"}', '{"id": "q", "verdict": "true", "code": "x", "why": 0}']
    answers = read_answers("\n".join(lines).encode(), ["p", "q"]).answers
    assert [judge_line(PROBLEM, answers[name], checker=CHECKER).error_code for name in "pq"] == [
        "DUPLICATE_JSON_KEYS",
        "ACCEPTED",
    ]


def test_25_tokens_are_banned():
    assert len({*BANNED_WORDS, *BANNED_COMMANDS}) == 25


@pytest.mark.parametrize("token", [*BANNED_WORDS, *BANNED_COMMANDS])
def test_a_banned_token_is_found_in_code_comments_strings_and_names(token: str):
    texts = [f"a\n  {token} b", f"-- a\n--{token}", f'"\n, {token}"', f"a\nb.{token}.c", f"a\n◇'{token}'"]
    assert [find_banned_token(text) for text in texts] == [
        BannedToken(token, 2, 3),
        BannedToken(token, 2, 3),
        BannedToken(token, 2, 3),
        BannedToken(token, 2, 3),
        BannedToken(token, 2, 3),
    ]


@pytest.mark.parametrize("word", BANNED_WORDS)
def test_a_word_is_banned_on_word_boundaries_only(word: str):
    assert [find_banned_token(text) for text in (f"{word}1", f"_{word}", f"{word}ate", f"é{word}")] == [None] * 4
    assert find_banned_token(f"{word}'") == BannedToken(word, 1, 1)


@pytest.mark.parametrize("command", BANNED_COMMANDS)
def test_a_command_is_banned_wherever_it_stands(command: str):
    assert find_banned_token(f"x{command}ed") == BannedToken(command, 1, 2)


scalars = st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["true", "false"])
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)


@given(values, values)
def test_judging_any_fields_never_raises(verdict: object, code: object):
    found = judge_answer(PROBLEM, verdict, code, checker=CHECKER)
    assert found.status == STATUS_OF[found.error_code]


@given(st.text() | st.binary() | values.map(json.dumps) | st.tuples(values, values).map(lambda pair: raw(*pair)))
def test_judging_any_text_never_raises(text: bytes | str):
    found = verify_answer(PROBLEM, text, checker=CHECKER)
    assert found.status == STATUS_OF[found.error_code]


def test_an_answer_made_by_hand_is_judged_like_one_that_was_read():
    assert judge_line(PROBLEM, Answer("p", 1, "true", "x"), checker=CHECKER).status == "accepted"
