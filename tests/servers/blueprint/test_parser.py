"""Nodes: what their parts are and where they stand; and what of a file cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given

from ekiden_blueprint import parse
from servers.blueprint.lean_texts import HEAD, lean_texts, only_node, part

FULL = r"""import Mathlib

@[simp, blueprint "lem:x-y"
  (statement := /-- Uses \cref{def:a, lem:b} and \Cref{thm:c}. -/)
  (proof := /-- Trivial. -/)
  (title := "A \"title\"")
  (latexEnv := "lemma") (uses := [foo]) (title := /-- again -/)]
private noncomputable lemma x_y' {n : ℕ} (h : n = n := by simp) : n = n := by
  sorry_using [foo, Bar.baz', «qux»]

-- a comment
"""


def test_every_part_of_a_node_is_found_where_it_stands():
    node = only_node(FULL)
    assert node.label == part(FULL, node.label_span) == "lem:x-y"
    assert part(FULL, node.attribute) == FULL[FULL.index("@[") : FULL.index("\nprivate")]
    assert part(FULL, node.blueprint) == FULL[FULL.index("blueprint") : FULL.index("]\nprivate")]
    assert part(FULL, node.span) == FULL[FULL.index("@[") : FULL.index("\n\n-- a comment")]
    assert (node.keyword, node.name, part(FULL, node.name_span)) == ("lemma", "x_y'", "x_y'")
    assert node.modifiers == ("private", "noncomputable")
    assert part(FULL, node.signature) == " {n : ℕ} (h : n = n := by simp) : n = n "
    assert part(FULL, node.body) == " by\n  sorry_using [foo, Bar.baz', «qux»]"
    assert node.body_kind == "by_sorry_using"
    assert [(use.name, part(FULL, use.span)) for use in node.uses] == [
        ("foo", "foo"),
        ("Bar.baz'", "Bar.baz'"),
        ("qux", "«qux»"),
    ]
    assert node.is_proof
    assert not node.is_definition


def test_options_are_kept_as_written_repeated_and_unknown_ones_too():
    node = only_node(FULL)
    assert [(option.name, option.form, option.value) for option in node.options] == [
        ("statement", "doc", r" Uses \cref{def:a, lem:b} and \Cref{thm:c}. "),
        ("proof", "doc", " Trivial. "),
        ("title", "string", r"A \"title\""),
        ("latexEnv", "string", "lemma"),
        ("uses", "other", "[foo]"),
        ("title", "doc", " again "),
    ]
    assert all(part(FULL, option.value_span) == option.value for option in node.options)
    assert part(FULL, node.options[4].span) == "(uses := [foo])"


def test_cross_references_are_found_with_their_places():
    node = only_node(FULL)
    crefs = node.crefs_in(node.statement)
    assert [cref.name for cref in crefs] == ["def:a", "lem:b", "thm:c"]
    assert all(part(FULL, cref.span) == cref.name for cref in crefs)
    assert node.crefs_in(node.proof) == ()
    assert node.crefs_in(None) == ()


@given(lean_texts)
def test_no_text_is_too_broken_to_parse(text: str):
    file = parse(text)
    assert "".join(part(text, region.span) or "" for region in file.regions) == text


@given(lean_texts)
def test_a_node_s_span_holds_its_parts(text: str):
    for node in parse(text).nodes:
        assert node.span.holds(node.attribute)
        assert node.attribute.holds(node.blueprint)
        assert node.blueprint.holds(node.label_span)
        assert all(node.blueprint.holds(option.span) for option in node.options)
        assert all(option.span.holds(option.value_span) for option in node.options)
        assert node.span.holds(node.name_span)
        assert node.span.holds(node.signature)
        assert node.name_span.end == node.signature.start <= node.signature.end
        assert node.body is None or (node.span.holds(node.body) and node.signature.end <= node.body.start)
        assert all(node.span.holds(use.span) for use in node.uses)


@given(lean_texts)
def test_a_problem_lies_in_the_text(text: str):
    assert all(0 <= span.start <= span.end <= len(text) for _, span in parse(text).problems)


@pytest.mark.parametrize(
    "before", ["section\n  ", "namespace N ", "/-- doc -/ ", "@[simp] ", "theorem a : p := by\n  simp\n    ", "x := 0"]
)
def test_a_node_is_found_wherever_it_stands(before: str):
    text = f"{before}@[ blueprint  ]\n  lemma  b : p := q"
    node = only_node(text)
    assert (node.name, node.label, part(text, node.blueprint)) == ("b", "", "blueprint")
    assert text[node.span.start :].startswith("@[")


@pytest.mark.parametrize(
    "text",
    [
        '-- @[blueprint "a"] lemma b : p := q',
        '/- @[blueprint "a"] lemma b : p := q -/',
        'def s := "@[blueprint] lemma b : p := q"',
        "@[blueprint_x] lemma b : p := q",
        "@[my.blueprint] lemma b : p := q",
        "@[simp (blueprint := 1)] lemma b : p := q",
        "attribute [-blueprint] b",
    ],
)
def test_what_only_looks_like_a_node_is_none(text: str):
    assert parse(text).nodes == ()


def test_a_label_is_what_lean_reads():
    assert only_node('@[blueprint "a\\x62\\u0063"] lemma b : p := q').label == "abc"
    assert only_node('@[blueprint r#"a\\"b"#] lemma b : p := q').label == 'a\\"b'


@pytest.mark.parametrize("rest", ["", "open Foo", "end", "mutual", "notation3 a", "lemm b : p := q", '"x"'])
def test_an_attribute_without_declaration_is_a_node_without_keyword(rest: str):
    file = parse(f'@[blueprint "lem:a"]\n{rest}')
    (node,) = file.nodes
    assert (node.keyword, node.name, node.body, node.label) == ("", "", None, "lem:a")
    assert file.problems


@pytest.mark.parametrize(
    ("text", "part_of_message"),
    [
        ("/- a", "not closed"),
        ("lemma a : p := by\n  exact «b", "not closed"),
        ('def a := "b', "not closed"),
        ("@[blueprint lemma a : p := q", "not closed"),
        ("@[simp lemma a : p := q", "not closed"),
        ('attribute [blueprint "x"] a', "given by `attribute`"),
        ("attribute [simp\ndef a := 1", "not closed"),
        ("@[local blueprint] lemma a : p := q", "write `blueprint` alone"),
        ("@[blueprint, blueprint] lemma a : p := q", "second blueprint"),
        ("@[blueprint] @[blueprint] lemma a : p := q", "second blueprint"),
        ("@[blueprint foo] lemma a : p := q", "options are"),
        ("@[blueprint (foo)] lemma a : p := q", "options are"),
        ("@[blueprint]", "without a declaration"),
        ("def a := f⁻¹'\"'\ndef b := 1", "put a space"),
    ],
)
def test_what_cannot_be_read_is_a_problem(text: str, part_of_message: str):
    assert any(part_of_message in message for message, _ in parse(text).problems)


def test_namespaces_make_a_node_s_full_name():
    text = f"""namespace A.B
section
{HEAD}lemma c : p := q
end
mutual
{HEAD}lemma d : p := q
end
end B
{HEAD}lemma e : p := q
{HEAD}lemma _root_.f : p := q
{HEAD}instance : p := q
end A
{HEAD}lemma g : p := q
"""
    assert [node.full_name for node in parse(text).nodes] == ["A.B.c", "A.B.d", "A.e", "f", "", "g"]


def test_windows_line_ends_change_no_part_but_blanks():
    text = FULL.replace("\n", "\r\n")
    node = only_node(text)
    assert (node.label, node.name, node.body_kind) == ("lem:x-y", "x_y'", "by_sorry_using")
    assert [use.name for use in node.uses] == ["foo", "Bar.baz'", "qux"]


def test_positions_count_lines_and_columns_from_one():
    file = parse("a\nℝx")
    assert [tuple(file.source.position(offset)) for offset in (0, 1, 2, 3, 4, 9)] == [
        *((1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (2, 3)),
    ]
