import JudgeProblem

set_option exponentiation.threshold 100000000000000
set_option maxRecDepth 100000

theorem huge : 2 ^ (2 ^ 40) % 2 = 1 := by decide

theorem submission : Goal := by
  intro G _ h x y z
  exact absurd huge (by decide)
