"""Regions: what in a Lean text is code, comment, string, character or quoted name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given

from ekiden_blueprint import lex, masked
from servers.blueprint.lean_texts import lean_texts


def regions(text: str) -> list[tuple[str, str]]:
    return [(region.kind, text[region.span.start : region.span.end]) for region in lex(text)]


def code(text: str) -> str:
    """The text with comments and strings blanked, and blanks squeezed."""
    return " ".join(masked(text, lex(text), strings=True).split())


@given(lean_texts)
def test_regions_cover_the_text_in_order(text: str):
    assert "".join(piece for _, piece in regions(text)) == text
    assert all(region.span.start < region.span.end for region in lex(text))


@given(lean_texts)
def test_masking_keeps_length_and_newlines(text: str):
    for strings in (True, False):
        hidden = masked(text, lex(text), strings=strings)
        assert len(hidden) == len(text)
        assert [at for at, sign in enumerate(hidden) if sign == "\n"] == [at for at, s in enumerate(text) if s == "\n"]


@given(lean_texts)
def test_what_is_masked_is_kept_or_blank(text: str):
    hidden = masked(text, lex(text), strings=True)
    assert all(shown in (sign, " ") for shown, sign in zip(hidden, text, strict=True))


def test_block_comments_nest_and_doc_comments_are_told_apart():
    assert regions("a /- b /- c -/ d -/ e /-- f -/ g /-! h -/") == [
        ("code", "a "),
        ("block_comment", "/- b /- c -/ d -/"),
        ("code", " e "),
        ("doc_comment", "/-- f -/"),
        ("code", " g "),
        ("module_doc", "/-! h -/"),
    ]


def test_a_line_comment_ends_before_its_newline():
    assert regions('a -- b /- "\nc') == [("code", "a "), ("line_comment", '-- b /- "'), ("code", "\nc")]


def test_a_string_ends_at_a_quote_that_no_backslash_escapes():
    assert regions(r'"a\"b\\" c') == [("string", r'"a\"b\\"'), ("code", " c")]


def test_a_string_may_hold_a_gap_and_comment_marks():
    assert regions('"a -- \\\n  b /-" c') == [("string", '"a -- \\\n  b /-"'), ("code", " c")]


@pytest.mark.parametrize("literal", ["'\"'", r"'\''", r"'\\'", r"'\x41'", r"'\u03b1'", "'«'", "'-'", "'\n'", "'α'"])
def test_a_character_literal_hides_its_character(literal: str):
    assert regions(f"c := {literal} x") == [("code", "c := "), ("char", literal), ("code", " x")]


@pytest.mark.parametrize(
    "text",
    ["x' y'", "x'' = y''", "h₁'a'", "f '' s", "f ⁻¹' s'", "∑' x, f' x", "rcases' h with a'", "'a b'", "foo.bar' x'.1"],
)
def test_primes_are_no_character_literals(text: str):
    assert regions(text) == [("code", text)]


def test_code_between_two_quote_characters_is_seen():
    assert "axiom evil : False" in code("def a := '\"'\naxiom evil : False\ndef b := '\"'\n")


def test_a_quote_character_right_after_a_number_is_a_character():
    assert code("f 5'\"'\naxiom evil\ng 5'\"'") == "f 5 axiom evil g 5"


def test_a_prime_after_a_number_that_a_name_follows_is_part_of_that_name():
    assert regions('5x\' "s"') == [("code", "5x' "), ("string", '"s"')]


@pytest.mark.parametrize(
    "literal", ['r"a\\"', 'r#"a "b" \\"#', 'r##"a "# b"##', 's!"a {f "}" x} \\{ b"', 's! "a"', 'm!"{[1, {x}]}"']
)
def test_what_follows_a_raw_or_interpolated_string_is_code(literal: str):
    assert code(f"x {literal} after").endswith(" after")
    assert "b" not in code(f"x {literal} after")


def test_a_name_that_ends_in_r_or_s_before_a_string_makes_it_a_plain_one():
    assert code('bar"\\" a" b') == "bar b"
    assert code('xs!"{a" b') == "xs! b"
    assert code('x.r"\\"" b') == "x.r b"


def test_code_in_an_interpolated_string_is_code():
    assert code('s!"n {(sorry : Nat)} {"sorry"}" ++ t') == "s! (sorry : Nat) ++ t"
    assert code('throwError "a {b "c"} d" e') == "throwError b e"
    assert code('throwNamedError a.b "a {b "c"} d" e') == "throwNamedError a.b b e"
    assert code('throwError f "a {b" c') == "throwError f c"
    assert code('throwError /- why -/ "a {b "c"} d" e') == "throwError b e"


def test_a_quoted_name_may_hold_anything():
    assert regions('«a "-- b» c') == [("name", '«a "-- b»'), ("code", " c")]


@pytest.mark.parametrize("text", ["x <-- 1", "h |-- x", "{x//-1 < x}", "a \\/-b", "a -/b", "<|-- 1 "[:3]])
def test_signs_that_end_in_a_dash_or_slash_begin_no_comment(text: str):
    assert {kind for kind, _ in regions(text)} == {"code"}


@pytest.mark.parametrize("text", ["x--c", "x ---c", "a /-c-/", "a <|--c", "a ||--c", "a <---c", "/-/c-/", "a<<<--c"])
def test_comments_right_after_signs_are_comments(text: str):
    assert "c" not in code(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a /- b", "block_comment"),
        ("/-- b /- -/", "doc_comment"),
        ('x "b', "string"),
        ("«b", "name"),
        ('r#"b"', "string"),
        ('s!"{b', "code"),
    ],
)
def test_what_is_not_closed_says_so(text: str, kind: str):
    last = lex(text)[-1]
    assert (last.kind, last.closed) == (kind, False)
    assert all(region.closed for region in lex(text)[:-1])


def test_windows_line_ends_are_left_in_place():
    text = 'a -- b\r\n"c\r\nd" e\r\n'
    assert re.sub(r"[^\r\n]", "", "".join(piece for _, piece in regions(text))) == "\r\n\r\n\r\n"
    assert code(text) == "a e"
