"""Lean texts joined at random from pieces, which lexer and parser must survive and agree on; and looking into texts."""

from __future__ import annotations

from hypothesis import strategies as st

from ekiden_blueprint import BlueprintNode, Span, parse

HEAD = '@[blueprint "lem:a"]\n'

TOKENS = [
    *("/-", "-/", "/--", "/-!", "--", '"', "'", "'\"'", "\\", "«", "»", 'r#"', '"#', 's!"', "{", "}", "x'", "5'", "<-"),
    *("(", ")", "[", "]", "⟨", "⟩", "|", "//", "@[", "@[simp]", "#eval 1", "..", ".", "`", ",", ":", ":=", "=>", ";"),
    *("theorem", "lemma a : p", "def b := 1", "axiom", "instance", "open A in", "open A", "set_option a true in"),
    *("private", "unsafe", "local", "scoped[N]", "in", "by", "sorry", "sorry_using [a, b]", "let x := 1;", "where"),
    *('@[blueprint "lem:a"]', "blueprint", '(title := "t")', "(statement := /-- s -/)", "attribute [simp", "deriving"),
    *("class", "structure", "mutual", "end", "namespace N", "section", "match x with", "fun", "calc", "ℝ", "x₁", "λ"),
]
SPACES = ["", " ", "\n", "\n  ", "\n\n"]

NODE = r"""@[simp, blueprint "lem:{0}"
  (statement := /-- See \cref{{def:a}}. -/)
  (title := "T{0}")
  (latexEnv := "lemma")]
lemma n{0} (n : Nat) : let y := {0}; y = n := by
  sorry_using [n0]
"""
COMMANDS = [
    *(NODE.format(number) for number in range(4)),
    *("import Mathlib\n", "open Foo in\n", "set_option a true in\n", "variable (x : Nat)\n", "end\n", "axiom e : F\n"),
    *("/-! Notes -/\n", "/-- doc -/\n", "@[simp]\n", "private\n", "noncomputable section\n", "-- a comment\n", "\n\n"),
    *("inductive T\n  | /-- one -/ a\n  | b\n  deriving Repr\n", 'local notation "~" => 1\n', "mutual\n"),
    *("theorem t : True := by\n  open Foo in simp\n  axiom x : False\n", '#eval s!"{1 + 1} {"a"}"\n'),
    *("instance : A B where\n  c := '\"'\n", "attribute [local instance] a b\n", "unsafe def f := unsafe g 1\n"),
    *("deriving instance A for B\n", "namespace N\n", '#eval s!"{\n', 'def s := s!"{x}" }"\n'),
]

token_soup = st.lists(st.tuples(st.sampled_from(TOKENS), st.sampled_from(SPACES)), max_size=25).map(
    lambda parts: "".join(token + space for token, space in parts)
)
files = st.lists(st.sampled_from(COMMANDS), max_size=14).map("".join)
lean_texts = st.one_of(token_soup, files, st.text(max_size=40))


def only_node(text: str) -> BlueprintNode:
    (node,) = parse(text).nodes
    return node


def part(text: str, span: Span | None) -> str | None:
    return None if span is None else text[span.start : span.end]
