"""The judge's modules as Lean texts: laws come from what was parsed, never from a problem's own text."""

import re

from hypothesis import given
from hypothesis import strategies as st

from ekiden_judge import Problem
from ekiden_judge.lean_modules import judge_modules, problem_module
from ekiden_judge.verdict import Claim
from ekiden_magma import Law, Product, Variable


def problem(law1: str, law2: str) -> Problem:
    return Problem(id="p", eq1_id=0, eq2_id=0, equation1=law1, equation2=law2)


def test_the_problem_module_states_both_laws_and_the_goal():
    assert (
        problem_module(problem("x=z*( x\n* y )", "u = t"), "true").text
        == """\
set_option maxRecDepth 100000 in
/-- Law 1. -/
@[reducible] def EquationLHS.{u} (G : Type u) [Magma G] : Prop := ∀ x z y : G, x = z ◇ (x ◇ y)

set_option maxRecDepth 100000 in
/-- Law 2. -/
@[reducible] def EquationRHS.{u} (G : Type u) [Magma G] : Prop := ∀ u t : G, u = t

/-- What `submission` has to prove. -/
abbrev Goal : Prop := ∀ (G : Type) [Magma G], EquationLHS G → EquationRHS G
"""
    )


def test_the_goal_of_a_refutation_asks_for_any_magma():
    goal = problem_module(problem("x = x", "x = y"), "false").text.split("abbrev ")[1]
    assert goal == "Goal : Prop := ∃ (G : Type) (_ : Magma G), EquationLHS G ∧ ¬ EquationRHS G\n"


def test_an_answer_may_import_four_modules():
    assert [(module.name, module.imports) for module in judge_modules(problem("x = x", "x = y"), "true")] == [
        ("JudgeMagma.Magma", ()),
        ("JudgeFinOp.MemoFinOp", ()),
        ("JudgeDecide.DecideBang", ()),
        ("JudgeProblem", ("JudgeMagma.Magma",)),
    ]


letters = st.sampled_from("abcdefghijklmnopqrstuvwxyz").map(Variable)
terms = st.recursive(letters, lambda inner: st.builds(Product, inner, inner), max_leaves=8)


@given(st.builds(Law, terms, terms), st.builds(Law, terms, terms), st.sampled_from(["true", "false"]))
def test_the_problem_module_holds_nothing_but_letters_and_products(law1: Law, law2: Law, claim: Claim):
    text = problem_module(problem(str(law1).replace("◇", "*"), str(law2)), claim).text
    statements = re.findall(r"Prop := ∀ ([a-z ]+) : G, ([a-z◇=() ]+)\n", text)
    assert statements == [(" ".join(law.variables), str(law)) for law in (law1, law2)]
