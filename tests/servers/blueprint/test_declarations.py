"""Declarations: their names, where the signature ends and the body begins, and what kind of proof it is."""

from __future__ import annotations

import pytest

from ekiden_blueprint import Span, parse
from servers.blueprint.lean_texts import HEAD, only_node, part


def split(declaration: str) -> tuple[str | None, str | None]:
    """The signature and the body of a declaration with a blueprint attribute."""
    text = HEAD + declaration
    node = only_node(text)
    return part(text, node.signature), part(text, node.body)


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


def test_indented_comments_after_a_body_belong_to_it_and_others_do_not():
    text = f"{HEAD}lemma a : p := by\n  simp -- one\n  -- two\n\n-- three\n  -- four\n"
    assert (part(text, only_node(text).body) or "").endswith("-- two")


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
