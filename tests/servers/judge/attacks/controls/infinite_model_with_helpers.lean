import JudgeProblem

def submission.op : Nat ⊕ Nat → Nat ⊕ Nat → Nat ⊕ Nat
  | .inl p, _ => .inl p
  | .inr p, _ => .inr p

theorem submission.law : @EquationLHS (Nat ⊕ Nat) ⟨submission.op⟩ := by
  intro x y
  cases x with
  | inl x => exact rfl
  | inr x => exact rfl

theorem submission : Goal :=
  ⟨Nat ⊕ Nat, ⟨submission.op⟩, submission.law, fun h => absurd (h (.inl 0) (.inr 1)) (by decide)⟩
