import JudgeProblem

theorem submission : Goal := by
  intro G _ h
  have commutes : ∀ x y : G, x ◇ y = y ◇ x := h
  exact commutes
