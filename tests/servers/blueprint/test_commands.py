"""Commands: where they begin and end, wherever they stand, and what they name."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given

from ekiden_blueprint import parse
from servers.blueprint.lean_texts import lean_texts, part


def kinds(text: str) -> list[str]:
    return [command.kind for command in parse(text).commands]


def keywords(text: str) -> list[str]:
    return [command.keyword for command in parse(text).commands]


@given(lean_texts)
def test_commands_stand_in_order_and_do_not_overlap(text: str):
    commands = parse(text).commands
    assert all(0 <= command.span.start < command.span.end <= len(text) for command in commands)
    assert all(one.span.end <= two.span.start for one, two in itertools.pairwise(commands))


def test_the_command_after_an_attribute_without_declaration_is_one_of_its_own():
    assert keywords("@[blueprint]\nopen Foo\nlemma a : p := q") == ["", "open", "lemma"]


def test_an_unclosed_attribute_hides_no_declaration():
    assert keywords('@[blueprint "a"\nlemma a : p := q\n@[simp]\nlemma b : p := q')[-2:] == ["lemma", "lemma"]


@pytest.mark.parametrize(
    "hidden",
    [
        "  axiom evil : False",
        " axiom evil : False",
        "\n        private axiom evil : False",
        "  /-- doc -/ axiom evil : False",
        "  @[simp] axiom evil : False",
        "  (axiom evil : False",
        "  ⟨axiom evil : False",
        "  5axiom evil : False",
        "  5.axiom evil : False",
        "  f ..axiom evil : False",
        '  "s"axiom evil : False',
        "  «x»axiom evil : False",
        "  '\"'axiom evil : False '\"'",
        "  open Foo in axiom evil : False",
        "  set_option a 1 in axiom evil : False",
        "  x <-- axiom evil : False",
        "  ∑axiom evil : False",
        "  s⁻¹axiom evil : False",
        "  x;axiom evil : False",
    ],
)
def test_an_axiom_is_a_command_wherever_it_stands(hidden: str):
    file = parse(f"theorem a : p := by\n  simp{hidden}")
    assert file.commands[0].kind == "declaration"
    assert file.commands[-1].kind == "axiom"
    assert file.commands[-1].names == ("evil",)


@pytest.mark.parametrize(
    "inside",
    [
        "x.axiom",
        "foo.axiom.bar",
        "axiom'",
        "axiom₁",
        "axiom.foo",
        "my_axiom",
        "h₁axiom",
        "x5axiom",
        "«axiom»",
        "«axiom foo»",
        "`axiom",
        "x.1.def",
        ".def 1",
        '"axiom"',
        "open Foo in simp",
        "open Foo (a b) Bar in\n    simp",
        "set_option a.b true in simp",
        'set_option a "in" in simp',
        "open Foo in set_option a 1 in exact x",
        "unsafe f x",
        "include_str x",
        "@[inline] go",
        "#[1, 2]",
        "#s + 1",
        "/-- doc -/ x",
        "λ x => x",
    ],
)
def test_such_text_is_part_of_a_body(inside: str):
    text = f"theorem a : p := by\n  exact {inside}"
    assert [part(text, command.span) for command in parse(text).commands] == [text]


def test_fields_and_constructors_keep_their_docs_attributes_and_modifiers():
    text = """class A extends B where
  /-- one -/
  protected x : Nat
  @[simp] private y : Nat
  /-- two -/ z : Nat := 1
  deriving Repr

inductive T
/-- one -/
| a
  | @[simp] b
  deriving DecidableEq, Repr

where"""
    assert keywords(text) == ["class", "inductive"]


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("import Mathlib.Data", "import", ("Mathlib.Data",)),
        ("public import Mathlib", "import", ("Mathlib",)),
        ("open Foo Bar.Baz", "open", ("Foo", "Bar.Baz")),
        ("open scoped Foo", "open", ("Foo",)),
        ("open Foo hiding a b", "open", ("Foo",)),
        ("noncomputable section Foo", "section", ("Foo",)),
        ("@[expose] public section", "section", ()),
        ("end Foo.Bar", "end", ("Foo.Bar",)),
        ("namespace Foo", "namespace", ("Foo",)),
        ("variable {α : Type*}", "variable", ()),
        ("universe u v", "variable", ("u", "v")),
        ("include h", "variable", ("h",)),
        ("omit [Fintype α] in", "variable", ()),
        ("set_option linter.all false", "set_option", ("linter.all",)),
        ("attribute [local instance, simp] a b", "attribute", ("a", "b")),
        ('local infixl:65 " ~ " => f', "notation", ()),
        ('scoped[Foo] notation "x" => 1', "notation", ()),
        ("macro_rules | `(x) => `(y)", "macro", ()),
        ("declare_syntax_cat foo", "syntax", ()),
        ("mutual", "mutual", ()),
        ("axiom foo : p", "axiom", ("foo",)),
        ("example : p := q", "example", ()),
        ("private opaque foo : p", "opaque", ("foo",)),
        ("/-! notes -/", "module_doc", ()),
        ("#eval foo", "other", ("foo",)),
        ("#unknown_command foo", "other", ("foo",)),
        ("run_cmd foo", "other", ("foo",)),
        ("initialize foo : A ← b", "other", ("foo",)),
        ("deriving instance A, B for C", "other", ("A",)),
        ("deriving noncomputable instance A for C", "other", ("A",)),
        ("alias foo := bar", "declaration", ("foo",)),
        ("instance : A := b", "declaration", ()),
        ("private def foo := 1", "declaration", ("foo",)),
        ("open Foo in", "open", ("Foo",)),
    ],
)
def test_a_command_is_named_by_its_kind(text: str, kind: str, names: tuple[str, ...]):
    for indent in ("", "theorem a : p := by simp\n  "):
        command = parse(indent + text).commands[-1]
        if not indent or "unknown" not in text:
            assert (command.kind, command.names) == (kind, names)
            assert part(indent + text, command.span) == text


def test_commands_in_one_file_are_cut_in_order():
    text = """import A
/-! # Title -/
open Foo in
/-- doc -/
theorem a : p := by
  open Bar in
  simp
namespace N
  @[simp] def b := 1
  local instance : C := d
end N
attribute [local instance] e
omit [A] in
lemma f : p := q
#print axioms f
"""
    assert kinds(text) == [
        *("import", "module_doc", "open", "declaration", "namespace", "declaration", "declaration", "end"),
        *("attribute", "variable", "declaration", "other"),
    ]


def test_an_open_before_a_modifier_on_the_next_line_takes_none_of_it():
    file = parse("open Foo\nprivate lemma a : p := q")
    assert [(command.kind, command.modifiers) for command in file.commands] == [
        ("open", ()),
        ("declaration", ("private",)),
    ]
