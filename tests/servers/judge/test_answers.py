"""The answers file: one object a line, the last line of an id counts, a bad line hits only itself."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_judge import Answer, SkippedLine, read_answers
from ekiden_judge.answers import LINES_PER_PROBLEM, MAX_SKIPPED_SHOWN

IDS = ("p1", "p2", "p3")


def line(name: str, verdict: object = "true", code: object = "c", **more: object) -> str:
    return json.dumps({"id": name, "verdict": verdict, "code": code, **more}, ensure_ascii=False)


def test_the_last_line_of_an_id_counts_even_if_its_answer_is_no_good():
    text = "\n".join([line("p1", code="first"), line("p2"), '{"id": "p1"}', line("p2", code="second", note=[1])])
    read = read_answers(text.encode(), IDS)
    assert read.answers == {"p1": Answer("p1", 3, None, None), "p2": Answer("p2", 4, "true", "second")}
    assert (read.lines, read.replaced, read.skipped, read.unknown_ids) == (4, 2, (), 0)


def test_ids_that_nobody_asked_for_are_counted():
    read = read_answers(f"{line('p1')}\n{line('q')}\n{line('q')}\n".encode(), IDS)
    assert (list(read.answers), read.unknown_ids, read.lines) == (["p1"], 2, 3)


def test_a_line_that_cannot_be_read_hits_only_itself_and_is_counted_with_its_reason():
    bad = [
        b'{"id": "p1", "verdict": "false"',
        b"\xff",
        b"[" * 100_000,
        b'["p1"]',
        b'{"id": 1}',
        b'{"verdict": "true"}',
        b"9" * 5000,
        b'\xef\xbb\xbf{"id": "p1"}',
        b'{"id": NaN}',
    ]
    read = read_answers(b"\n".join([*bad, line("p1").encode()]), IDS)
    assert read.answers == {"p1": Answer("p1", 10, "true", "c")}
    assert [(skipped.line, skipped.reason) for skipped in read.skipped] == [
        (1, "syntax"),
        (2, "invalid_utf8"),
        (3, "deep_nesting"),
        (4, "not_an_object"),
        (5, "no_id"),
        (6, "no_id"),
        (7, "giant_integer"),
        (8, "byte_order_mark"),
        (9, "not_a_number"),
    ]
    assert read.skipped[4] == SkippedLine(5, "no_id", "an answer needs the key 'id' with a string")
    assert sum(read.skipped_by_reason.values()) == 9


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ('"code": "a", "code": "b"', "duplicate_key"),
        ('"code": "\\ud800"', "lone_surrogate"),
        (f'"code": {"7" * 5000}', "giant_integer"),
        ('"code": 1e999', "infinite_number"),
    ],
)
def test_a_faulty_line_whose_id_is_clear_counts_as_a_malformed_answer(fields: str, reason: str):
    read = read_answers(f'{line("p1")}\n{{"id": "p1", {fields}}}\n{line("p2")}'.encode(), IDS)
    fault = read.answers["p1"].fault
    assert fault is not None
    assert (fault.reason, read.answers["p1"].line, read.answers["p2"].fault) == (reason, 2, None)


def test_a_line_with_two_ids_counts_as_malformed_for_the_last_of_them():
    answers = read_answers(f'{line("p1")}\n{{"id": "p1", "id": "p2"}}'.encode(), IDS).answers
    assert [(answer.id, answer.line, answer.fault is None) for answer in answers.values()] == [
        ("p1", 1, True),
        ("p2", 2, False),
    ]


def test_lines_end_at_the_line_feed_byte_only():
    code = "a\u2028b\u2029c\u0085d\x7fe"
    read = read_answers(f"\r\n{line('p1', code=code)}\r\n \t \n{line('p2', code=code)}".encode(), IDS)
    assert [(answer.line, answer.code) for answer in read.answers.values()] == [(2, code), (4, code)]


def test_a_flood_of_bad_lines_is_counted_in_full_and_shown_in_part():
    read = read_answers(b"{\n" * 5000 + line("p1").encode(), IDS)
    assert (dict(read.skipped_by_reason), len(read.skipped)) == ({"syntax": 5000}, MAX_SKIPPED_SHOWN)
    assert read.answers["p1"].line == 5001


def test_reading_ends_after_more_lines_than_any_honest_program_writes():
    most = 20 + LINES_PER_PROBLEM * len(IDS)
    read = read_answers(line("p1").encode() + b"\n{" * most + b"\n\n" + line("p2").encode(), IDS, spare_lines=20)
    assert (list(read.answers), read.lines, read.unread) == (["p1"], most, 3)


VALID = "\n".join([line("p1"), line("p2", "false", "x\u2028y"), line("p3", code="◇" * 9), ""]).encode()


def counts_add_up(data: bytes) -> bool:
    read = read_answers(data, IDS)
    skipped = sum(read.skipped_by_reason.values())
    return read.lines == len(read.answers) + read.replaced + read.unknown_ids + skipped


@given(st.binary())
def test_any_bytes_are_read_and_every_line_is_accounted_for(data: bytes):
    assert counts_add_up(data)


@given(st.binary(max_size=20), st.integers(0, len(VALID)), st.integers(0, 30))
def test_mutated_answers_are_read_and_every_line_is_accounted_for(junk: bytes, place: int, cut: int):
    assert counts_add_up(VALID[:place] + junk + VALID[place + cut :])


@given(st.binary().filter(lambda junk: b"\n" not in junk), st.sampled_from(IDS))
def test_junk_on_a_line_of_its_own_never_touches_other_ids(junk: bytes, kept: str):
    answers = read_answers(VALID + junk + b"\n" + line(kept).encode(), IDS).answers
    assert answers[kept] == Answer(kept, 5, "true", "c")
