"""Printing certificates as Lean answers."""

# ruff: noqa: E501  # printed answers have long lines

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from ekiden_magma import (
    CayleyTable,
    EquationalProof,
    Lemma,
    MagmaError,
    Refutation,
    ResidueModel,
    Step,
    Variable,
    check,
    parse_law,
    parse_term,
)
from ekiden_magma.lean import finite_answer, lean_answer

TABLE = CayleyTable(((0, 0), (1, 1)))
LEFT_ZERO, NOT_COMMUTATIVE = parse_law("x ◇ y = x"), parse_law("x ◇ y = y ◇ x")


def test_a_small_table_is_printed_in_the_standard_shape():
    assert lean_answer(Refutation(LEFT_ZERO, NOT_COMMUTATIVE, TABLE, {"x": 0, "y": 1})) == snapshot("""\
import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

def submission : Goal := by
  let m : Magma (Fin 2) := { op := finOpTable "[[0,0],[1,1]]" }
  refine ⟨Fin 2, m, ?_⟩
  decideFin!
""")


def test_a_table_with_many_instances_is_printed_as_one_number_with_a_loop_over_numbers():
    order = 11
    table = CayleyTable(tuple(tuple((2 * i + j) % order for j in range(order)) for i in range(order)))
    law1 = parse_law("x ◇ (y ◇ x) = (x ◇ y) ◇ (x ◇ x)")
    assert lean_answer(Refutation(law1, LEFT_ZERO, table, {"x": 1, "y": 4})) == snapshot("""\
import JudgeProblem

def submission.op (i j : Nat) : Nat :=
  Nat.mod (Nat.div 0x4c2b83204e0c39c1636c1f59fdcfd85feaf3dff19b04508f412b8622a70a7ce0db50feb61381af05ee13bae988dcf63ca6be48b29
    (Nat.pow 11 (Nat.add (Nat.mul 11 i) j))) 11

def submission.magma : Magma (Fin 11) :=
  ⟨fun i j => ⟨submission.op i.val j.val, Nat.mod_lt _ (Nat.succ_pos _)⟩⟩

def submission.all (p : Nat → Bool) : Nat → Bool
  | 0 => true
  | Nat.succ n => and (p n) (submission.all p n)

theorem submission.all_sound (p : Nat → Bool) (n : Nat) :
    submission.all p n = true → ∀ k, Nat.lt k n → p k = true := by
  induction n with
  | zero => exact fun _ k hk => absurd hk (Nat.not_lt_zero k)
  | succ n ih =>
    intro h k hk
    cases hp : p n with
    | false => exact nomatch (congrArg (fun b => and b (submission.all p n)) hp).symm.trans h
    | true =>
      have h' : submission.all p n = true := (congrArg (fun b => and b (submission.all p n)) hp).symm.trans h
      cases Nat.eq_or_lt_of_le (Nat.le_of_lt_succ hk) with
      | inl e => exact e ▸ hp
      | inr l => exact ih h' k l

theorem submission.law : @EquationLHS (Fin 11) submission.magma := by
  have checked : submission.all (fun x => submission.all (fun y => Nat.beq (submission.op x (submission.op y x)) (submission.op (submission.op x y) (submission.op x x))) 11) 11 = true := by
    decide +kernel
  intro x y
  exact Fin.eq_of_val_eq (Nat.eq_of_beq_eq_true (submission.all_sound _ 11 (submission.all_sound _ 11 (checked) x.val x.isLt) y.val y.isLt))

theorem submission : Goal :=
  ⟨Fin 11, submission.magma, submission.law, fun h => absurd (h ⟨1, Nat.le_of_ble_eq_true rfl⟩ ⟨4, Nat.le_of_ble_eq_true rfl⟩) (by decide)⟩
""")


def test_the_standard_shape_is_refused_to_a_table_that_digits_cannot_express():
    with pytest.raises(MagmaError, match="up to order 10; this one has 11"):
        finite_answer(CayleyTable(((0,) * 11,) * 11))


def test_a_model_that_moves_one_argument_is_printed_as_cases_that_compute():
    model = ResidueModel.from_value({"modulus": 2, "rules": [[0, 1, 3], [0, 1, 3], [0, 1, -3], [0, 0, 2]]})
    law1 = parse_law("x ◇ (y ◇ x) = x ◇ (y ◇ x)")
    assert lean_answer(Refutation(law1, LEFT_ZERO, model, {"x": 1, "y": 4})) == snapshot("""\
import JudgeProblem

-- {"certificate":"refutation","version":1,"law1":"x ◇ (y ◇ x) = x ◇ (y ◇ x)","law2":"x ◇ y = x","model":{"modulus":2,"rules":[[0,1,3],[0,1,3],[0,1,-3],[0,0,2]]},"assignment":{"x":1,"y":4}}
theorem submission.proof : Goal := by
  refine ⟨Sum Nat Nat, ⟨fun
    | .inl _, .inl l => .inr (Nat.add l 1)
    | .inl _, .inr l => .inl (Nat.add l 2)
    | .inr _, .inl l => (match Nat.sub l 1 with | 0 => .inl 0 | n+1 => .inr n)
    | .inr _, .inr _ => .inl 1⟩, ?_, ?_⟩
  · exact fun
      | .inl _, .inl _ => rfl
      | .inl 0, .inr _ => rfl
      | .inl 1, .inr _ => rfl
      | .inl (_+2), .inr _ => rfl
      | .inr _, .inl _ => rfl
      | .inr _, .inr _ => rfl
  · exact fun h => absurd (h (.inr 0) (.inl 2)) (by decide)

theorem submission : Goal := submission.proof
""")


def test_any_other_model_is_printed_with_its_arithmetic():
    model = ResidueModel.from_value({"modulus": 2, "rules": [[1, 1, 0], [1, 1, 0], [1, 1, 0], [1, 1, -2]]})
    law2 = parse_law("(x ◇ y) ◇ y = x ◇ (y ◇ y)")
    assert lean_answer(Refutation(NOT_COMMUTATIVE, law2, model, {"x": 1, "y": 1})) == snapshot("""\
import JudgeProblem

-- {"certificate":"refutation","version":1,"law1":"x ◇ y = y ◇ x","law2":"(x ◇ y) ◇ y = x ◇ (y ◇ y)","model":{"modulus":2,"rules":[[1,1,0],[1,1,0],[1,1,0],[1,1,-2]]},"assignment":{"x":1,"y":1}}
theorem submission.proof : Goal := by
  obtain ⟨op, def_op⟩ : ∃ op : Nat → Nat → Nat, ∀ x y, op x y = if x % 2 = 0 ∧ y % 2 = 0 then 1 * x + 1 * y + 0 else if x % 2 = 0 ∧ y % 2 = 1 then 1 * x + 1 * y + 0 else if x % 2 = 1 ∧ y % 2 = 0 then 1 * x + 1 * y + 0 else 1 * x + 1 * y - 2 := ⟨_, fun _ _ => rfl⟩
  have hop : ∀ x y, (x % 2 = 0 ∧ y % 2 = 0 ∧ op x y = 1 * x + 1 * y + 0) ∨ (x % 2 = 0 ∧ y % 2 = 1 ∧ op x y = 1 * x + 1 * y + 0) ∨ (x % 2 = 1 ∧ y % 2 = 0 ∧ op x y = 1 * x + 1 * y + 0) ∨ (x % 2 = 1 ∧ y % 2 = 1 ∧ op x y = 1 * x + 1 * y - 2) := by
    intro x y
    have hx : x % 2 = 0 ∨ x % 2 = 1 := by omega
    have hy : y % 2 = 0 ∨ y % 2 = 1 := by omega
    rcases hx with hx | hx <;> rcases hy with hy | hy <;> simp [def_op, hx, hy]
  refine ⟨Nat, ⟨op⟩, ?_, ?_⟩
  · intro x y
    show op x y = op y x
    have p0 := hop x y
    have p1 := hop y x
    omega
  · intro h
    have e : op (op 1 1) 1 = op 1 (op 1 1) := h 1 1
    have q0 : op 1 1 = 0 := by exact def_op 1 1
    have q1 : op (op 1 1) 1 = 1 := by rw [q0]; exact def_op 0 1
    have q2 : op 1 (op 1 1) = 1 := by rw [q0]; exact def_op 1 0
    omega

theorem submission : Goal := submission.proof
""")


def test_a_proof_is_printed_with_its_lemmas_and_safe_names():
    lemma = Lemma(parse_law("a ◇ (b ◇ t) = a ◇ (t ◇ b)"), (Step(0, (Variable("b"), Variable("t")), "r"),))
    unused = Lemma(parse_law("a = a"), ())
    steps = (
        Step(1, (Variable("h"), Variable("t"), Variable("z"))),
        Step(0, (parse_term("z ◇ t"), Variable("h")), reverse=True),
    )
    proof = EquationalProof(NOT_COMMUTATIVE, parse_law("h ◇ (t ◇ z) = (z ◇ t) ◇ h"), steps, (lemma, unused))
    check(proof)
    assert lean_answer(proof) == snapshot("""\
import JudgeProblem

def submission : Goal := by
  intro G _ h0
  have e1 : ∀ a b t : G, a ◇ (b ◇ t) = a ◇ (t ◇ b) :=
    fun a b t => congrArg (fun t0 : G => a ◇ t0) (h0 b t)
  intro h t z
  exact Eq.trans (e1 h t z) (Eq.symm (h0 (z ◇ t) h))
""")


def test_a_proof_without_steps_leaves_nothing_named_that_is_not_used():
    law = parse_law("x ◇ y = x ◇ y")
    assert lean_answer(EquationalProof(NOT_COMMUTATIVE, law, ())) == snapshot("""\
import JudgeProblem

def submission : Goal := by
  intro G _ _
  intro _ _
  exact rfl
""")


def test_a_model_with_too_many_cases_cannot_be_printed():
    refutation = Refutation(parse_law("x ◇ y = x ◇ z"), LEFT_ZERO, ResidueModel.uniform(1, 0, -5000), {"x": 1, "y": 1})
    with pytest.raises(MagmaError, match="takes more than 1000 cases"):
        lean_answer(refutation)
