import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  rw [← h x y, ← h x z]
