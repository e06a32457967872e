"""Strict reading of JSON that somebody else wrote."""

import json
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_judge.strict_json import MAX_DEPTH, MAX_INTEGER_DIGITS, Reason, StrictJsonError, read_json


class Refusal(NamedTuple):
    text: bytes | str
    reason: Reason
    message: str


REFUSALS = [
    Refusal(b'{"a": "\xff"}', "invalid_utf8", "byte 7 (0xff) is not UTF-8; write the text in UTF-8"),
    Refusal(b'\xef\xbb\xbf{"a": 1}', "byte_order_mark", "the text starts with a byte order mark; save it without one"),
    Refusal(b" \n\t", "empty", "the text is empty"),
    Refusal(b'{"a": 1', "syntax", "no valid JSON: expecting ',' delimiter at column 8"),
    Refusal(b'{"a":\n  1}}', "syntax", "no valid JSON: expected the end of the text at line 2, column 5"),
    Refusal(b'{"a": "\x00"}', "syntax", "no valid JSON: invalid control character at column 8"),
    Refusal(b"[1, NaN]", "not_a_number", "NaN is no JSON value"),
    Refusal(b'{"a": -Infinity, "a": 1}', "not_a_number", "-Infinity is no JSON value"),
    Refusal(b"[" * 65 + b"]" * 65, "deep_nesting", "brackets are nested more than 64 deep"),
    Refusal(b'{"a": 1, "b": 2, "a": 1}', "duplicate_key", "the key 'a' occurs twice in one object"),
    Refusal(b'[{"b": {"a": 1, "\\u0061": 2}}]', "duplicate_key", "the key 'a' occurs twice in one object"),
    Refusal(b'["\\ud83d"]', "lone_surrogate", "the string '\\ud83d' holds a lone surrogate, which no text can hold"),
    Refusal(b'{"\\udc00": 1}', "lone_surrogate", "the string '\\udc00' holds a lone surrogate, which no text can hold"),
    Refusal('["\ud83d"]', "lone_surrogate", "character 2 is the lone surrogate '\\ud83d', which no text can hold"),
    Refusal(
        b"[-" + b"9" * 5000 + b"]",
        "giant_integer",
        "the integer -99999999999... has 5001 digits; at most 600 are read",
    ),
    Refusal(b"[1e999]", "infinite_number", "the number 1e999 is too large"),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.reason)
def test_each_fault_has_its_own_reason(refusal: Refusal):
    with pytest.raises(StrictJsonError) as caught:
        read_json(refusal.text)
    assert (caught.value.reason, str(caught.value)) == (refusal.reason, refusal.message)


def test_a_syntax_fault_comes_before_a_repeated_key_and_that_before_other_faults():
    faulty = b'{"a": "\\ud800", "a": 2, "b": ' + b"1" * (MAX_INTEGER_DIGITS + 1)
    reasons: list[Reason] = []
    for text in (faulty, faulty + b"}", faulty.replace(b'"a": 2', b'"c": 2') + b"}"):
        with pytest.raises(StrictJsonError) as caught:
            read_json(text)
        reasons.append(caught.value.reason)
    assert reasons == ["syntax", "duplicate_key", "giant_integer"]


def test_what_can_be_read_beside_a_fault_is_kept():
    with pytest.raises(StrictJsonError) as caught:
        read_json(b'{"id": "p", "n": ' + b"7" * 9999 + b"}")
    assert caught.value.value == {"id": "p", "n": None}


def test_brackets_inside_strings_are_not_nesting():
    text = "[" * 500 + '\\" {'
    assert read_json(json.dumps([text])) == [text]


def test_the_deepest_nesting_that_is_read_has_64_levels():
    assert read_json("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None


def test_line_separators_of_unicode_are_text():
    assert read_json('["a\u2028b\u2029c\u0085d"]'.encode()) == ["a\u2028b\u2029c\u0085d"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 2_000_000,
        '"' + '\\"' * 1_000_000,
        '["' * 1_000_000,
        "-" + "1" * 2_000_000,
        "1." + "1" * 2_000_000,
        "[[]," * 500_000,
    ],
    ids=["open brackets", "escapes", "strings", "integer", "fraction", "flat list"],
)
def test_hostile_megabytes_take_linear_time(text: str):
    with pytest.raises(StrictJsonError):
        read_json(text + "]")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values, st.booleans())
def test_every_json_value_is_read_as_the_standard_library_reads_it(value: object, escaped: bool):
    assert read_json(json.dumps(value, ensure_ascii=escaped)) == value


@given(st.binary() | st.text(alphabet='{}[]",:\\u0123dDeE+-.NaI \n\ud800é', max_size=60))
def test_no_text_raises_another_exception(text: bytes | str):
    try:
        read_json(text)
    except StrictJsonError as error:
        assert str(error)  # noqa: PT017  # either outcome is right; the property is that nothing else escapes
