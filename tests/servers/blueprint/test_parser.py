"""Commands and nodes: where they begin and end, and what their parts are."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given

from ekiden_blueprint import BlueprintNode, Span, parse
from servers.blueprint.lean_texts import lean_texts

HEAD = '@[blueprint "lem:a"]\n'


def only_node(text: str) -> BlueprintNode:
    (node,) = parse(text).nodes
    return node


def part(text: str, span: Span | None) -> str | None:
    return None if span is None else text[span.start : span.end]


def split(declaration: str) -> tuple[str | None, str | None]:
    """The signature and the body of a declaration with a blueprint attribute."""
    text = HEAD + declaration
    node = only_node(text)
    return part(text, node.signature), part(text, node.body)


def kinds(text: str) -> list[str]:
    return [command.kind for command in parse(text).commands]


def keywords(text: str) -> list[str]:
    return [command.keyword for command in parse(text).commands]


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
def test_commands_stand_in_order_and_do_not_overlap(text: str):
    commands = parse(text).commands
    assert all(0 <= command.span.start < command.span.end <= len(text) for command in commands)
    assert all(one.span.end <= two.span.start for one, two in itertools.pairwise(commands))


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
    ("written", "name"),
    [
        ("foo'", "foo'"),
        ("foo!", "foo!"),
        ("foo?", "foo?"),
        ("Foo.bar.baz", "Foo.bar.baz"),
        ("foo.{u, v}", "foo"),
        ("«foo bar»", "«foo bar»"),
        ("«foo»", "foo"),
        ("Foo.«b r».baz", "Foo.«b r».baz"),
        ("α₁", "α₁"),
        ("été", "été"),
        ("_root_.Foo.bar", "_root_.Foo.bar"),
        ("«axiom»", "axiom"),
    ],
)
def test_names_are_read_whole(written: str, name: str):
    assert only_node(f"{HEAD}theorem {written} : p := q").name == name


@pytest.mark.parametrize(
    ("declaration", "name"),
    [
        ("instance : Foo := ⟨1⟩", ""),
        ("instance (priority := high) : Foo := ⟨1⟩", ""),
        ("instance (priority := 10) foo : Foo := ⟨1⟩", "foo"),
        ("instance [A] : Foo := ⟨1⟩", ""),
        ("instance {a : A} : Foo := ⟨1⟩", ""),
        ("example : True := trivial", ""),
        ("class inductive Foo | a", "Foo"),
        ("class abbrev Foo := A, B", "Foo"),
    ],
)
def test_instances_may_be_anonymous(declaration: str, name: str):
    node = only_node(HEAD + declaration)
    assert node.name == name
    assert node.keyword == declaration.split(maxsplit=1)[0]


@pytest.mark.parametrize(
    ("declaration", "signature", "body"),
    [
        ("lemma a : p := by simp", " : p ", " by simp"),
        ("lemma a : let x := 1; x = 1 := by simp", " : let x := 1; x = 1 ", " by simp"),
        ("lemma a : let x := 1\n  x = 1 := rfl", " : let x := 1\n  x = 1 ", " rfl"),
        ("lemma a : have : p := q; let (x, y) := z; r := s", " : have : p := q; let (x, y) := z; r ", " s"),
        ("lemma a : letI := i; p := q", " : letI := i; p ", " q"),
        ("lemma a : if let some x := y then p else q := r", " : if let some x := y then p else q ", " r"),
        ("lemma a (x : Nat := 1) {y : f (z := 2)} : {a := 1} = b := c", None, " c"),
        ("lemma a : ⟨let x := 1; x⟩ = y := c", None, " c"),
        (
            "lemma a : ∀ n, n = n\n  | 0 => rfl\n  | n + 1 => sorry",
            " : ∀ n, n = n\n  ",
            "| 0 => rfl\n  | n + 1 => sorry",
        ),
        (
            "def a : Nat → Nat\n  | 0 => 1\n  | n => n\ntermination_by n => n",
            " : Nat → Nat\n  ",
            "| 0 => 1\n  | n => n\ntermination_by n => n",
        ),
        ("lemma a : match x with | 0 => p | _ => q := by simp", " : match x with | 0 => p | _ => q ", " by simp"),
        ("lemma a : (match x with | 0 => p | _ => q)\n | 0 => r", None, "| 0 => r"),
        ("lemma a : f = fun | 0 => 1 | n => n := by simp", " : f = fun | 0 => 1 | n => n ", " by simp"),
        ("lemma a : |x| ≤ |y - 1| := by simp", " : |x| ≤ |y - 1| ", " by simp"),
        ("lemma a : f |x| = | y | := by simp", " : f |x| = | y | ", " by simp"),
        ("lemma a : |x| = x | 0 => rfl", " : |x| = x ", "| 0 => rfl"),
        ("lemma a : {x | p x} = {y : Nat | q} := by simp", None, " by simp"),
        ("lemma a : let f : N → N | 0 => 1 | n => n; f = f := by simp", None, " by simp"),
        ("lemma a : p where\n  x := 1", " : p ", "where\n  x := 1"),
        ("instance a : Foo where x := 1", " : Foo ", "where x := 1"),
        (
            "structure A extends B, C where\n  x : Nat := 1\n  deriving Repr",
            " extends B, C ",
            "where\n  x : Nat := 1\n  deriving Repr",
        ),
        ("structure A", "", None),
        ("inductive A | a | b", " ", "| a | b"),
        ("inductive A : Type where\n  | a\n  deriving Repr", " : Type ", "where\n  | a\n  deriving Repr"),
        ("def a := f x where\n  f y := y", " ", " f x where\n  f y := y"),
        ("theorem a.{u} : p := q", ".{u} : p ", " q"),
        ("lemma a : p -- := r\n := q", " : p -- := r\n ", " q"),
        ('lemma a : f ":=" := q', ' : f ":=" ', " q"),
        ("lemma a : (p := q", " : (p := q", None),
        ("lemma a : p", " : p", None),
        ("lemma a : (do let x ← y; pure x) = z := q", None, " q"),
        ("lemma a : x.let := q", " : x.let ", " q"),
    ],
)
def test_the_body_begins_where_lean_s_does(declaration: str, signature: str | None, body: str | None):
    found = split(declaration)
    assert found[1] == body
    assert signature is None or found[0] == signature


@pytest.mark.parametrize(
    ("declaration", "kind"),
    [
        ("lemma a : p := by\n  sorry", "by_sorry"),
        ("lemma a : p := by\n  -- why\n  sorry", "by_sorry"),
        ("lemma a : p :=\n  by\n  sorry", "by_sorry"),
        ("lemma a : p := by sorry", "invalid"),
        ("lemma a : p := sorry", "invalid"),
        ("lemma a : p := by\n  simp\n  sorry", "invalid"),
        ("lemma a : p := by\n  sorry_using [a,\n    b]", "by_sorry_using"),
        ("lemma a : p := by\n  sorry_using [a]\n  sorry_using [b]", "invalid"),
        ("lemma a : p := by\n  admit", "invalid"),
        ("lemma a : p := by\n  exact sorryAx _", "invalid"),
        ("lemma a : p\n  | 0 => sorry", "invalid"),
        ("lemma a : p\n  | 0 => rfl", "complete"),
        ("lemma a : p where\n  x := sorry", "invalid"),
        ("lemma a : p := by\n  simp", "complete"),
        ('lemma a : p := by\n  exact f "sorry" -- sorry', "complete"),
        ("lemma a : p := by\n  exact h.sorry", "complete"),
        ("lemma a : p := by\n  exact sorry_free", "complete"),
        ("lemma a : p :=", "invalid"),
        ("lemma a : p", "invalid"),
        ("def a : p := sorry", ""),
        ("structure A", ""),
        ('lemma a : p := by\n  exact f s!"{(sorry : Nat)}"', "invalid"),
    ],
)
def test_a_proof_is_classified_by_what_is_in_it(declaration: str, kind: str):
    assert only_node(HEAD + declaration).body_kind == kind


@pytest.mark.parametrize(
    ("between", "modifiers", "keyword"),
    [
        ("private ", ("private",), "theorem"),
        ("protected noncomputable ", ("protected", "noncomputable"), "theorem"),
        ("/-- doc -/ @[simp] unsafe partial nonrec\n", ("unsafe", "partial", "nonrec"), "theorem"),
        ("-- comment\n/- another -/ local\n  ", ("local",), "theorem"),
        ("scoped[Foo] ", ("scoped",), "theorem"),
    ],
)
def test_modifiers_docs_and_comments_may_stand_before_the_keyword(
    between: str, modifiers: tuple[str, ...], keyword: str
):
    text = f"{HEAD}{between}theorem foo : p := q"
    node = only_node(text)
    assert (node.modifiers, node.keyword, node.name) == (modifiers, keyword, "foo")
    assert node.span == Span(0, len(text))


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


def test_the_command_after_an_attribute_without_declaration_is_one_of_its_own():
    assert keywords("@[blueprint]\nopen Foo\nlemma a : p := q") == ["", "open", "lemma"]


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


def test_indented_comments_after_a_body_belong_to_it_and_others_do_not():
    text = f"{HEAD}lemma a : p := by\n  simp -- one\n  -- two\n\n-- three\n  -- four\n"
    assert (part(text, only_node(text).body) or "").endswith("-- two")


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


@pytest.mark.parametrize(
    "body", [".sorry", "all_goals .sorry", "iterate 1sorry", "exact (*...sorry).upper", "exact f ..sorry"]
)
def test_a_hole_right_after_a_dot_or_a_number_is_a_hole(body: str) -> None:
    [node] = parse(f'@[blueprint "lem:a"]\nlemma a : P := by\n  {body}\n').nodes
    assert node.body_kind == "invalid"


@pytest.mark.parametrize(
    "statement",
    [
        "Id.run do\n    let mut x := 0\n    x := 5\n    return x = 5",
        "P fun h => by\n    replace h := h.symm\n    exact h",
    ],
)
def test_a_statement_with_steps_keeps_its_end_frozen(statement: str) -> None:
    text = f'@[blueprint "lem:a"]\nlemma a : {statement} := by\n  sorry\n'
    [node] = parse(text).nodes
    assert node.body is None or node.body.start > text.rindex(statement) + len(statement)


@pytest.mark.parametrize("statement", ["Not <| 1 = 2", "1 = 2 |> Not", "a || b", "n <|> m = k", "a ||| b = c"])
def test_an_operator_with_bars_is_no_alternative(statement: str) -> None:
    text = f'@[blueprint "lem:a"]\nlemma a : {statement} := by\n  sorry\n'
    [node] = parse(text).nodes
    assert (node.body_kind, text[node.signature.end :]) == ("by_sorry", ":= by\n  sorry\n")
