import JudgeProblem

set_option hygiene false in
theorem submission : Goal := by
  intro G _ h x y z
  rfl
