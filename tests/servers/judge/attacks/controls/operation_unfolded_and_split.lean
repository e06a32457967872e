import JudgeProblem

def submission.op (x y : Nat) : Nat := if x % 2 = 0 then x + 0 * y else x

theorem submission.law : @EquationLHS Nat ⟨submission.op⟩ := by
  intro x y
  show x = submission.op x y
  unfold submission.op
  split
  · omega
  · rfl

theorem submission.spec (x y : Nat) : submission.op x y = x := by
  simp [submission.op]

theorem submission : Goal :=
  ⟨Nat, ⟨submission.op⟩, submission.law, fun h => absurd (h 0 1) (by decide)⟩
