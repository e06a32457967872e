"""Reading Lean answers back: what is read, and what is left to Lean."""

# printed answers have long lines

from __future__ import annotations

import itertools
import re
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ekiden_magma import (
    CayleyTable,
    Certificate,
    CertificateError,
    EquationalProof,
    Law,
    Refutation,
    ResidueModel,
    check,
    named_models,
    parse_law,
    parse_term,
    to_json,
)
from ekiden_magma.lean import finite_answer, lean_answer
from ekiden_magma.lean_read import read_answer
from servers.magma.strategies import UNIT_FACTORS, holds_in, laws, models, proofs, tables

TABLE = CayleyTable(((0, 0), (1, 1)))
LEFT_ZERO, NOT_COMMUTATIVE = parse_law("x ◇ y = x"), parse_law("x ◇ y = y ◇ x")
COLLAPSE = parse_law("x = (((y ◇ y) ◇ z) ◇ x) ◇ w")


def verdict_on(code: str, law1: Law | str, law2: Law | str, verdict: Literal["true", "false"]) -> str:
    """Tell what the exact reading and checking of an answer comes to."""
    law1, law2 = (parse_law(law) if isinstance(law, str) else law for law in (law1, law2))
    certificate = read_answer(code, law1, law2, verdict)
    if certificate is None:
        return "undecided"
    if isinstance(certificate, EquationalProof) != (verdict == "true"):
        return "the opposite"
    try:
        check(certificate)
    except CertificateError as error:
        return str(error)
    return "right"


@given(laws(), laws(), tables(1, 12) | tables(13, 17))
@settings(deadline=None)
def test_a_printed_table_reads_back_and_is_judged_as_by_brute_force(law1: Law, law2: Law, table: CayleyTable):
    assignment = table.counterexample(law2) or dict.fromkeys(law2.variables, 0)
    code = lean_answer(Refutation(law1, law2, table, assignment))
    certificate = read_answer(code, law1, law2, "false")
    assert isinstance(certificate, Refutation)
    assert certificate.model == table
    if table.order < 5:
        right = holds_in(law1, table) and not holds_in(law2, table)
        assert (verdict_on(code, law1, law2, "false") == "right") == right


@given(st.data())
def test_a_changed_text_of_many_instances_is_left_undecided(data: st.DataObject):
    table = CayleyTable(tuple(tuple((i + 2 * j) % 11 for j in range(11)) for i in range(11)))
    law1, law2 = parse_law("x ◇ (y ◇ z) = x ◇ (y ◇ z)"), NOT_COMMUTATIVE
    code = lean_answer(Refutation(law1, law2, table, {"x": 0, "y": 1}))
    place = data.draw(st.integers(0, len(code) - 1))
    new = data.draw(st.sampled_from([*"0a ()x⟩\n", ""]).filter(lambda sign: sign != code[place]))
    changed = code[:place] + new + code[place + 1 :]
    certificate = read_answer(changed, law1, law2, "false")
    assert certificate is None or lean_answer(certificate) == changed


SHORT_LAWS = [
    Law(left, right)
    for left, right in itertools.product(
        map(parse_term, ("x", "x ◇ y", "y ◇ x", "x ◇ (y ◇ x)", "(x ◇ x) ◇ y")), repeat=2
    )
]


@given(models(3, UNIT_FACTORS) | models(2), st.data())
@settings(deadline=None)
def test_a_printed_model_reads_back(model: ResidueModel, data: st.DataObject):
    broken = [law for law in SHORT_LAWS if not model.satisfies(law)]
    law1 = data.draw(st.sampled_from([law for law in SHORT_LAWS if law not in broken]))
    law2 = data.draw(st.sampled_from(broken))
    refutation = Refutation(law1, law2, model, model.counterexample(law2) or {})
    assert read_answer(lean_answer(refutation), law1, law2, "false") == refutation
    assert read_answer(lean_answer(refutation), law1, law2.swapped(), "false") is None
    assert read_answer(lean_answer(refutation) + " ", law1, law2, "false") is None


@given(proofs())
@settings(deadline=None)
def test_a_printed_proof_reads_back_as_a_right_proof(proof: EquationalProof):
    code = lean_answer(proof)
    assert verdict_on(code, proof.law1, proof.law2, "true") == "right"
    assert verdict_on(code.replace("def", "theorem", 1), proof.law1, proof.law2, "true") == "right"


@given(proofs())
@settings(deadline=None)
def test_a_certificate_in_json_is_an_answer(proof: EquationalProof):
    assert read_answer("\n " + to_json(proof), proof.law1, proof.law2, "true") == proof


def test_an_answer_in_broken_json_is_left_undecided():
    for code in ('{"certificate":"proof"}', "{" * 100_000, '{"a":' + "9" * 5000 + "}"):
        assert read_answer(code, LEFT_ZERO, LEFT_ZERO, "true") is None


def test_a_certificate_of_the_opposite_is_returned_for_the_caller_to_compare():
    assert verdict_on(finite_answer(TABLE), LEFT_ZERO, NOT_COMMUTATIVE, "true") == "the opposite"


# False answers: ordinary variations, and what is not read.

HEAD = "import JudgeProblem\nimport JudgeDecide.DecideBang\nimport JudgeFinOp.MemoFinOp\nopen MemoFinOp\n\n"
BODY = """\
def submission : Goal := by
  let m : Magma (Fin 2) := { op := finOpTable "[[0,0],[1,1]]" }
  refine ⟨Fin 2, m, ?_⟩
  decideFin!
"""


def test_ordinary_variations_of_the_standard_shape_are_read():
    inline = '⟨Fin 2, { op := finOpTable "[[0,0],[1,1]]" }, '
    codes = [
        HEAD + BODY,
        HEAD + BODY.replace("def ", "theorem "),
        HEAD + BODY.replace("let ", "letI "),
        HEAD + BODY.replace("let m", "let inst").replace("m, ?_", "inst, ?_"),
        HEAD + BODY.replace('{ op := finOpTable "[[0,0],[1,1]]" }', '⟨finOpTable "[[0, 0], [1, 1]]"⟩'),
        HEAD + BODY.replace("{ op := ", "{\n    op := (").replace(']]" }', ']]")\n  }'),
        HEAD + BODY.replace("refine", "exact").replace("?_", "by decideFin!").replace("\n  decideFin!", ""),
        HEAD + f"theorem submission : Goal := by\n  refine {inline}?_⟩\n  decideFin!\n",
        HEAD + f"theorem submission : Goal := by exact {inline}by decideFin!⟩",
        HEAD + "-- a comment\n/- another /- nested -/ ⟨∀ ϕ -/" + BODY.replace("refine ", "refine /- in between -/ "),
        HEAD + BODY.replace(" }\n  refine", " }; refine"),
    ]
    assert [verdict_on(code, LEFT_ZERO, NOT_COMMUTATIVE, "false") for code in codes] == ["right"] * len(codes)


def test_a_wrong_table_is_read_and_found_wrong():
    assert verdict_on(HEAD + BODY, "x ◇ x = y ◇ y", NOT_COMMUTATIVE, "false") == snapshot(
        "Law 1 fails in the model: under {'x': 0, 'y': 1} its sides are 0 and 1."
    )
    assert verdict_on(HEAD + BODY, LEFT_ZERO, "x ◇ x = x", "false") == snapshot(
        "Law 2 holds under {'x': 0}: both sides are 0."
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("import JudgeProblem\n", ""),
        ("import JudgeDecide.DecideBang\n", ""),
        ("import JudgeFinOp.MemoFinOp\n", ""),
        ("open MemoFinOp\n", ""),
        ("open MemoFinOp\n", "-- open MemoFinOp\n"),
        ("open MemoFinOp\n", "open MemoFinOp Lean\n"),
        ("import JudgeProblem\n", "import JudgeProblem\nimport Lean\n"),
        ("import JudgeProblem\n", "import JudgeProblem\nimport JudgeProblem\n"),
        ("def submission", "set_option maxRecDepth 100000 in\ndef submission"),
        ("def submission", "/-- documented -/ def submission"),
        ("def submission", "/-! documented -/ def submission"),
        ("def submission", "@[simp] def submission"),
        ("def submission", "private def submission"),
        ("def submission", "axiom a : False\ndef submission"),
        ("def submission", "namespace A\ndef submission"),
        ("def submission", 'macro "decideFin!" : tactic => `(tactic| trivial)\ndef submission'),
        ("def submission", "def Submission"),
        ("def submission :", "def submission (G : Type) :"),
        (": Goal :=", ": True :="),
        ("  decideFin!\n", "  decideFin!\n\ndef submission : Goal := by decideFin!\n"),
        ("  decideFin!\n", "  decideFin!\n  decideFin!\n"),
        ("  decideFin!\n", "  decideFin!\n/- not closed"),
        ("  decideFin!\n", "  decideFin!\n/- not /- closed -/"),
        ("  decideFin!\n", "  native_decide\n"),
        ("  decideFin!\n", "  trivial; decideFin!\n"),
        ("  decideFin!\n", "   decideFin!\n"),
        ("  decideFin!\n", " decideFin!\n"),
        ("  decideFin!\n", "decideFin!\n"),
        ("  decideFin!\n", "\tdecideFin!\n"),
        ("  decideFin!\n", "  decideFin!\r\n"),
        ("  decideFin!\n", "  decideFin!\r"),
        ("  decideFin!\n", "  decideFin!\0"),
        ("  decideFin!\n", "  decideFin! -- \u2028\n"),
        ("  decideFin!\n", "  decideFin! -- \u202e\n"),
        ("  decideFin!\n", "  decideFin! -- \ud800\n"),
        ("  decideFin!\n", ""),
        ("  refine ⟨Fin 2, m, ?_⟩\n", ""),
        ("m, ?_", "n, ?_"),
        ("m, ?_", "_, ?_"),
        ("⟨Fin 2, m", "⟨Fin 3, m"),
        ("(Fin 2)", "(Fin 02)"),
        ("(Fin 2)", "(Fin 0)"),
        ("(Fin 2)", "(Fin 2.0)"),
        ("(Fin 2)", "Fin 2"),
        ("let ", "have "),
        ("Magma (Fin 2)", "Magma(Fin 2)"),
        ("{ op := finOp", "{ op :=\n    finOp"),
        ("finOpTable ", "finOpTable"),
        ("finOpTable", "finОpTable"),
        ("[[0,0],[1,1]]", "[[0,0],[1,2]]"),
        ("[[0,0],[1,1]]", "[[0,0],[1]]"),
        ("[[0,0],[1,1]]", "[[0,0],[1,1]"),
        ("[[0,0],[1,1]]", "[0,0,1,1]"),
        ("[[0,0],[1,1]]", "0011"),
        ("[[0,0],[1,1]]", "[[0,0],[1,1,1]]"),
        ("[[0,0],[1,1]]", "[[0,0],[1,\\u0031]]"),
        ("[[0,0],[1,1]]", "[[0,0],\n[1,1]]"),
    ],
)
def test_what_lean_may_refuse_or_read_differently_is_left_undecided(old: str, new: str):
    code = HEAD + BODY
    assert old in code
    changed = code.replace(old, new, 1)
    assert verdict_on(changed, LEFT_ZERO, NOT_COMMUTATIVE, "false") == "undecided"


@given(tables(2, 3), st.integers(0, 400), st.sampled_from([*' \n0123,[]-/"{}⟨⟩!_.:=m', "", "/-", "--", "\r", "\u2028"]))
@settings(deadline=None, max_examples=300)
def test_one_changed_character_never_makes_a_false_answer_right_that_is_not(table: CayleyTable, place: int, new: str):
    code = finite_answer(table)
    place %= len(code)
    changed = code[:place] + new + code[place + 1 :]
    for law1, law2 in ((LEFT_ZERO, NOT_COMMUTATIVE), (NOT_COMMUTATIVE, LEFT_ZERO)):
        if verdict_on(changed, law1, law2, "false") == "right":
            digits = re.findall("[0-9]", changed[changed.index('"') : changed.rindex('"')])
            read = CayleyTable.from_flat([int(digit) for digit in digits])
            assert holds_in(law1, read)
            assert not holds_in(law2, read)


def test_a_law_that_takes_too_long_to_break_is_left_undecided():
    constant = CayleyTable(((0,) * 10,) * 10)
    wide = parse_law("(x ◇ y) ◇ (z ◇ (w ◇ (u ◇ v))) = (x ◇ z) ◇ (y ◇ (w ◇ (u ◇ v)))")
    assert read_answer(finite_answer(constant), LEFT_ZERO, wide, "false") is None


# True answers.

START = "import JudgeProblem\n\ntheorem submission : Goal := by\n  intro G _ h\n"
SQUARES = parse_law("x ◇ x = x ◇ y")

READ: list[tuple[Law, str, str]] = [
    (
        COLLAPSE,
        "x ◇ y = z",
        "  intro x y z\n  exact (congrArg (fun t => t ◇ y) (h x x (x ◇ x) z)).trans (h z (x ◇ x) x y).symm\n",
    ),
    (
        COLLAPSE,
        "x ◇ (y ◇ z) = (w ◇ w) ◇ u",
        """\
  have l1 : ∀ a b c : G, a ◇ b = c := fun a b c =>
    Eq.trans (congrArg (fun t => t ◇ b) (h a a (a ◇ a) c)) (Eq.symm (h c (a ◇ a) a b))
  have l2 : ∀ a b c d : G, a ◇ b = c ◇ d := fun p q r s => l1 p q (r ◇ s)
  intro x y z w u
  exact l2 x (y ◇ z) (w ◇ w) u
""",
    ),
    (
        SQUARES,
        "x ◇ (x ◇ x) = x ◇ (y ◇ z)",
        """\
  intro x y z
  calc x ◇ (x ◇ x)
    _ = x ◇ x := (h x (x ◇ x)).symm -- the same
    _ = x ◇ (y ◇ z) := h x (y ◇ z)
""",
    ),
    (
        SQUARES,
        "x ◇ (x ◇ x) = x ◇ (y ◇ z)",
        """\
  intro x y z
  exact calc
    x ◇ (x ◇ x) = x ◇ x := by_symm
    _ = x ◇ (y ◇ z) := h x (y ◇ z)
""".replace("by_symm", "Eq.symm (h x (x ◇ x))"),
    ),
    (
        SQUARES,
        "x ◇ (x ◇ x) = x ◇ (y ◇ z)",
        """\
  intro x y z
  have e : x ◇ x = x ◇ (x ◇ x) := by
    exact h x (x ◇ x)
  have f (a : G) : a ◇ a = a ◇ (y ◇ z) := h a (y ◇ z)
  exact e.symm.trans (f x)
""",
    ),
    (
        SQUARES,
        "x ◇ (x ◇ x) = x ◇ (y ◇ z)",
        """\
  have key : ∀ (a b : G), ∀ c : G, a ◇ b = a ◇ c := by
    intro a b; intro c
    have e := h a b
    exact (e.symm).trans (h a c)
  intro a b c
  exact key a (a ◇ a) (b ◇ c)
""",
    ),
    (SQUARES, "x ◇ y = x ◇ z", "  exact fun x y => fun z ↦ Eq.trans (Eq.symm (h x y)) (h x z)\n"),
    (SQUARES, "x ◇ y = x ◇ y", "  intro _ _; exact rfl\n"),
    (SQUARES, "y ◇ (x ◇ x) = y ◇ (x ◇ z)", "  intro a b c\n  exact congrArg (a ◇ ·) (h b c)\n"),
    (SQUARES, "(x ◇ x) ◇ (x ◇ x) = (x ◇ y) ◇ (x ◇ y)", "  intro a b\n  exact congrArg (fun t : G => t ◇ t) (h a b)\n"),
    (SQUARES, "x ◇ x = x ◇ y", "  intro h1 h2\n  exact h h1 h2\n"),
    (SQUARES, "x ◇ x = x ◇ y", "  intro G1 h'; exact (((h) G1 h'))\n".replace("(h)", "h")),
]


@pytest.mark.parametrize(("law1", "law2", "body"), READ)
def test_proof_terms_are_read(law1: Law, law2: str, body: str):
    assert verdict_on(START + body, law1, law2, "true") == "right"


def test_a_lemma_may_use_what_surrounds_it():
    # `e` is about the goal's own x; the lemma's variables must not be taken for it.
    body = """\
  intro x y
  have l : ∀ a : G, a ◇ a = a ◇ x := by
    intro b
    have m : ∀ a c : G, a ◇ a = a ◇ c := h
    exact h b x
  exact (l x).symm.trans (h x y)
"""
    assert verdict_on(START + body, SQUARES, "x ◇ x = x ◇ y", "true") == "undecided"
    read = body.replace(
        "    have m : ∀ a c : G, a ◇ a = a ◇ c := h\n", "    have m : ∀ a c : G, b ◇ b = b ◇ c := fun p q => h b q\n"
    )
    assert verdict_on(START + read.replace("h b x\n", "m x x\n"), SQUARES, "x ◇ x = x ◇ y", "true") == "right"


@pytest.mark.parametrize(
    ("law2", "body", "expected"),
    [
        ("x ◇ y = x ◇ z", "  intro x y z\n  exact Eq.trans (Eq.symm (h x y)) (h z x)\n", "wrong"),
        ("x ◇ y = x ◇ z", "  intro x y z\n  exact Eq.trans (h x y) (h x z)\n", "wrong"),
        ("x ◇ x = y ◇ x", "  intro x y\n  exact h x y\n", "wrong"),
        ("x ◇ x = y ◇ x", "  intro x y\n  exact rfl\n", "wrong"),
        # The steps themselves would lead from side to side, but Lean sees terms that do not fit.
        ("(x ◇ x) ◇ z = (x ◇ y) ◇ z", "  intro x z y\n  exact congrArg (fun t => t ◇ y) (h x y)\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  exact h x\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  exact h x y y\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x\n  exact h x x\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y z\n  exact h x y\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  exact h x y\n  exact h x y\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n", "undecided"),
        ("x ◇ x = x ◇ y", "  exact h\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  exact h _ _\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x fun\n  exact h x fun\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  simp [h x y]\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  exact h x(y)\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  exact h x\n  y\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  exact (h x y) .symm\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  exact h x y.symm\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  exact @h x y\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  exact h x y -- \x0b\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro х y\n  exact h х y\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  exact Eq.symm (Eq.symm h x y)\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  have e : y = y := rfl\n  exact e\n", "wrong"),
        ("x ◇ x = x ◇ y", "  intro x y\n  have e : x = y := h x y\n  exact h x y\n", "wrong"),
        ("x ◇ x = x ◇ y", "  intro x y\n  calc x ◇ x\n       _ = x ◇ y := h x y\n", "right"),
        ("x ◇ x = x ◇ y", "  intro x y\n  calc x ◇ x\n        _ = x ◇ y := h x y\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  calc x ◇ x\n  _ = x ◇ y := h x y\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  calc x ◇ x\n", "undecided"),
        ("x ◇ x = x ◇ y", "  intro x y\n  calc x ◇ x = x ◇ y := h x y\n       _ = x ◇ x := (h x y).symm\n", "wrong"),
        ("(x ◇ x) ◇ x = (x ◇ y) ◇ x", "  intro x y\n  have e : x ◇ x ◇ x = x := h x y\n  exact e\n", "undecided"),
        ("x ◇ (x ◇ x) = x ◇ (x ◇ y)", "  intro x y\n  exact congrArg (x ◇ (·)) (h x y)\n", "undecided"),
        ("x ◇ (x ◇ x) = x ◇ (x ◇ y)", "  intro x y\n  exact congrArg (fun t => (x ◇ t) (h x y)\n", "undecided"),
        (
            "(x ◇ x) ◇ (x ◇ x) = (x ◇ y) ◇ (x ◇ y)",
            "  intro x y\n  exact congrArg (fun t => t ◇ t) (h x y)\n",
            "undecided",
        ),
    ],
)
def test_proofs_that_do_not_fit_are_never_right(law2: str, body: str, expected: str):
    found = verdict_on(START + body, SQUARES, law2, "true")
    assert (found if found in ("right", "undecided") else "wrong") == expected


@given(proofs(), laws(), st.data())
@settings(deadline=None, max_examples=200)
def test_one_changed_character_never_proves_what_fails_somewhere(
    proof: EquationalProof, other: Law, data: st.DataObject
):
    small = [CayleyTable.from_flat(cells) for cells in itertools.product(range(2), repeat=4)]
    code = lean_answer(proof)
    place = data.draw(st.integers(0, len(code) - 1))
    new = data.draw(st.sampled_from([*" \n()◇=.,xyzhatbe10:fun⟨·-/", "", "/-", "--", "\r"]))
    changed = code[:place] + new + code[place + 1 :]
    for law1, law2 in itertools.product((proof.law1, other), (proof.law2, other, proof.law2.swapped())):
        if verdict_on(changed, law1, law2, "true") == "right":
            assert all(holds_in(law2, table) for table in small if holds_in(law1, table))


@given(
    st.text(max_size=300) | st.text(alphabet='{}[]()◇=fun calc_:hxyG\n "0', max_size=300),
    st.sampled_from(["true", "false"]),
)
@settings(deadline=None)
def test_any_text_is_read_without_an_exception(code: str, verdict: Literal["true", "false"]):
    for text in (code, HEAD + code, START + code, START + "  intro x y\n  exact " + code):
        certificate: Certificate | None = read_answer(text, SQUARES, SQUARES, verdict)
        assert certificate is None or verdict == "true"


@pytest.mark.parametrize(
    "opening", ["(", "Eq.symm (", "(h x y).trans (", "calc x = x := (", "congrArg (fun t => (", "/- "]
)
def test_deep_nesting_is_left_undecided(opening: str):
    code = START + "  intro x y\n  exact " + opening * 20_000
    assert read_answer(code, SQUARES, SQUARES, "true") is None


def test_proofs_that_grow_without_bound_are_left_undecided():
    doubled = "h x y"
    for _ in range(40):
        doubled = f"congrArg (fun t : G => t ◇ t) ({doubled})"
    assert read_answer(START + f"  intro x y\n  exact {doubled}\n", SQUARES, SQUARES, "true") is None


def test_every_named_model_can_be_printed_and_read():
    for model in named_models().values():
        law1 = parse_law("x ◇ y = x ◇ y")
        witness = model.counterexample(parse_law("x = y ◇ x"))
        assert witness is not None
        refutation = Refutation(law1, parse_law("x = y ◇ x"), model, witness)
        assert read_answer(lean_answer(refutation), law1, refutation.law2, "false") == refutation
