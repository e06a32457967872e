import JudgeProblem

set_option maxRecDepth 0

theorem submission : Goal := by
  intro G _ h x y z
  exact h x y
