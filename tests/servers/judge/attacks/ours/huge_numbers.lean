import JudgeProblem

theorem huge : Nat.shiftLeft 1 (Nat.shiftLeft 1 40) = 0 := by decide +kernel

theorem submission : Goal := by
  intro G _ h x y z
  exact absurd huge (by decide)
