"""The judge's modules that an answer may import, as Lean texts of our own.

Laws are printed from what was parsed, never copied from a problem's text.
"""

from ekiden_judge.problem import Problem
from ekiden_judge.verdict import Claim
from ekiden_lean.submission import TrustedModule
from ekiden_magma import Law

_MAGMA = """\
/-- A type with one binary operation. -/
class Magma.{u} (G : Type u) where
  op : G → G → G

infix:65 " ◇ " => Magma.op

/-- Entry `k` of a list, 0 behind its end. -/
def Magma.entry : List Nat → Nat → Nat
  | [], _ => 0
  | first :: _, 0 => first
  | _ :: rest, Nat.succ k => Magma.entry rest k

/-- The magma on `Fin n` whose product `i ◇ j` is entry `i * n + j` of a list, modulo `n`; missing entries are 0. -/
@[reducible] def magmaFin (n : Nat) (entries : List Nat) : Magma (Fin n) where
  op i j := ⟨Nat.mod (Magma.entry entries (Nat.add (Nat.mul i.val n) j.val)) n,
    Nat.mod_lt _ (Nat.lt_of_le_of_lt (Nat.zero_le _) i.isLt)⟩
"""

# Lean evaluates texts slowly, and by lemmas that need not be free of axioms. So a table that is written out is read
# while the answer is elaborated, and becomes one number, of which Lean takes digits with ease.
_TABLES = """\
namespace MemoFinOp

/-- The number whose decimal digits, lowest first, are those of a text, whatever stands between them. -/
def number : List Char → Nat
  | [] => 0
  | c :: rest =>
    match Nat.ble 48 c.toNat, Nat.ble c.toNat 57 with
    | true, true => Nat.add (Nat.sub c.toNat 48) (Nat.mul 10 (number rest))
    | _, _ => number rest

/-- The operation on `Fin n` whose value at `i` and `j` is digit `i * n + j` of a number, lowest first, modulo `n`. -/
def ofNumber {n : Nat} (digits : Nat) : Fin n → Fin n → Fin n := fun i j =>
  ⟨Nat.mod (Nat.mod (Nat.div digits (Nat.pow 10 (Nat.add (Nat.mul i.val n) j.val))) 10) n,
    Nat.mod_lt _ (Nat.lt_of_le_of_lt (Nat.zero_le _) i.isLt)⟩

/-- The operation on `Fin n` whose value at `i` and `j` is digit `i * n + j` of a text, modulo `n`. -/
def finOpTable {n : Nat} (table : String) : Fin n → Fin n → Fin n := ofNumber (number table.toList)

macro_rules
  | `(finOpTable $table:str) =>
    `(MemoFinOp.ofNumber $(Lean.Syntax.mkNumLit (Nat.repr (number table.getString.toList))))
  | `(MemoFinOp.finOpTable $table:str) =>
    `(MemoFinOp.ofNumber $(Lean.Syntax.mkNumLit (Nat.repr (number table.getString.toList))))

end MemoFinOp
"""

_DECIDE = """\
/-- Another name for `decide`. -/
macro "decideFin!" : tactic => `(tactic| decide)
"""

_PROBLEM = """\
set_option maxRecDepth 100000 in
/-- Law 1. -/
@[reducible] def EquationLHS.{{u}} (G : Type u) [Magma G] : Prop := {law1}

set_option maxRecDepth 100000 in
/-- Law 2. -/
@[reducible] def EquationRHS.{{u}} (G : Type u) [Magma G] : Prop := {law2}

/-- What `submission` has to prove. -/
abbrev Goal : Prop := {goal}
"""

_GOALS: dict[Claim, str] = {
    "true": "∀ (G : Type) [Magma G], EquationLHS G → EquationRHS G",
    "false": "∃ (G : Type) (_ : Magma G), EquationLHS G ∧ ¬ EquationRHS G",
}

MAGMA = TrustedModule("JudgeMagma.Magma", _MAGMA)
TABLES = TrustedModule("JudgeFinOp.MemoFinOp", _TABLES)
DECIDE = TrustedModule("JudgeDecide.DecideBang", _DECIDE)

NOT_OFFERED = {
    "JudgeSupport.Inspect": "it holds the report command of another judge; this one looks at the proof by itself",
}
"""Modules of the judge's libraries that an answer has no use for, and why they are not here."""


def problem_module(problem: Problem, claim: Claim) -> TrustedModule:
    """Return the module `JudgeProblem` for one problem and verdict: both laws and the `Goal`."""
    text = _PROBLEM.format(law1=_statement(problem.law1), law2=_statement(problem.law2), goal=_GOALS[claim])
    return TrustedModule("JudgeProblem", text, imports=(MAGMA.name,))


def judge_modules(problem: Problem, claim: Claim) -> tuple[TrustedModule, ...]:
    """Return all modules of the judge that an answer to a problem may import."""
    return MAGMA, TABLES, DECIDE, problem_module(problem, claim)


def _statement(law: Law) -> str:
    return f"∀ {' '.join(law.variables)} : G, {law}"
