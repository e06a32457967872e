"""Explanations: the check, the place, the line with its caret, and what would help."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ekiden_judge import Diagnostic, Verdict, explain
from ekiden_judge.verdict import STATUS_OF, ErrorCode

CODE = "import JudgeProblem\n\ntheorem submission : Goal := by\n  intro G _ h\n  exact foo\n"


def refused(message: str, *, line: int = 5, column: int = 9) -> Verdict:
    found = Diagnostic(line=line, column=column, severity="error", message=message)
    return Verdict.of("LEAN_REJECTED", f"Lean refuses the code: {message}", diagnostics=(found,))


def test_an_error_of_lean_is_shown_with_its_line_and_a_caret():
    assert str(explain(refused("unknown identifier 'foo'"), CODE)) == snapshot("""\
Check 10 proof
Lean refuses the code: unknown identifier 'foo'
line 5, column 9
  exact foo
        ^
- A name is unknown: check its spelling, `open` its namespace, and import the module that has it. Only `JudgeProblem`, \
`JudgeMagma.Magma`, `JudgeFinOp.MemoFinOp`, `JudgeDecide.DecideBang` and Lean's own library are sure to be there.
- Correct the proof at the place named.\
""")


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ("Unknown identifier `foo`", "spelling"),
        ("unknown constant 'Nat.foo'", "spelling"),
        ("unknown module prefix 'Mathlib'", "import"),
        ("unexpected token 'end'; expected term", "bracket"),
        ("Type mismatch\n  h x\nhas type\n  x = x ◇ y\nbut is expected to have type\n  y = x", "letter by letter"),
        ("unsolved goals\n⊢ x = y", "introduce"),
        ("Tactic `decide` proved that the proposition\n  False\nis false", "breaks law 1"),
        ("Tactic `decide` failed: its Decidable instance did not reduce to `isTrue`", "stuck"),
        ("maximum recursion depth has been reached", "maxRecDepth"),
        ("(deterministic) timeout at `whnf`, maximum number of heartbeats (200000) has been reached", "maxHeartbeats"),
        ("declaration uses 'sorry'", "hole"),
        ("failed to synthesize\n  Magma G", "instance"),
        ("Tactic `rewrite` failed: Did not find an occurrence of the pattern", "congrArg"),
    ],
)
def test_common_messages_of_lean_come_with_what_helps(message: str, word: str):
    assert any(word in text for text in explain(refused(message)).help)


def test_an_axiom_comes_with_the_tactics_that_bring_it():
    message = "The proof rests on the axioms 'Classical.choice', 'propext', but the policy allows no axiom."
    helped = " ".join(explain(Verdict.of("DISALLOWED_AXIOMS", message), CODE).help)
    assert ("by_contra" in helped, "`simp`" in helped, "funext" in helped) == (True, True, False)


def test_an_accepted_answer_needs_no_help_and_no_place():
    warning = Diagnostic(line=1, column=1, severity="warning", message="unused variable")
    explained = explain(Verdict.of("ACCEPTED", "Good.", diagnostics=(warning,)), CODE)
    assert (explained.check, explained.place, explained.help) == ("13 all passed", "", ())


def test_places_in_the_lean_text_of_a_certificate_in_json_show_no_line_of_the_json():
    assert explain(refused("no"), '{"certificate": "proof"}').place == "line 5, column 9"


def test_of_a_long_line_the_part_around_the_place_is_shown():
    code = f"{'x' * 500}!{'y' * 500}"
    source = explain(refused("no", line=1, column=501), code).source
    assert source is not None
    line, caret = source.split("\n")
    assert (len(line), line[caret.index("^")]) == (166, "!")


@pytest.mark.parametrize("code", list(STATUS_OF))
def test_every_code_names_its_check(code: ErrorCode):
    explained = explain(Verdict.of(code, "why"))
    assert explained.check.split()[0].isdigit()
    assert explained.message == "why"


@given(st.text(), st.integers(1, 20), st.integers(1, 400), st.sampled_from(["LEAN_REJECTED", "BANNED_PLACEHOLDER"]))
def test_any_code_and_place_can_be_explained(code: str, line: int, column: int, error_code: ErrorCode):
    found = Diagnostic(line=line, column=column, severity="error", message="m")
    explained = explain(Verdict.of(error_code, "why", diagnostics=(found,)), code)
    if explained.source is not None:
        assert explained.source.count("\n") == 1
        assert explained.source.endswith("^")
