import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  simp [← h x]
