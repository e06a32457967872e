"""Reading what `lean --json` prints."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_lean import Diagnostic, read_diagnostic, read_diagnostics

_RECORD = {
    "caption": "",
    "data": "declaration uses `sorry`",
    "endPos": {"column": 9, "line": 3},
    "fileName": "A.lean",
    "isSilent": False,
    "keepFullRange": False,
    "kind": "hasSorry",
    "pos": {"column": 8, "line": 3},
    "severity": "warning",
}


def test_messages_are_read_and_remarks_between_them_passed_over() -> None:
    error = {**_RECORD, "severity": "error", "kind": "[anonymous]", "endPos": None, "data": "no ◇"}
    lines = ["[DEBUG:A] lean_main", json.dumps(_RECORD), "{not json", "", json.dumps(error), "12"]
    assert read_diagnostics(lines) == [
        Diagnostic(3, 8, 3, 9, "warning", "declaration uses `sorry`", "hasSorry"),
        Diagnostic(3, 8, None, None, "error", "no ◇", ""),
    ]


@pytest.mark.parametrize(
    "wrong",
    [{"severity": "fatal"}, {"pos": None}, {"pos": {"line": "3", "column": 8}}, {"data": 5}, {"pos": {"line": True}}],
)
def test_a_record_that_is_no_message_is_passed_over(wrong: dict[str, object]) -> None:
    assert read_diagnostic(json.dumps({**_RECORD, **wrong})) is None


def test_a_record_nested_beyond_reason_is_passed_over() -> None:
    assert read_diagnostic('{"data":' + "[" * 100_000) is None


@given(st.text())
def test_no_line_makes_the_reader_fail(line: str) -> None:
    read_diagnostic("{" + line)
