import JudgeProblem

theorem submission : Goal := by
  intro G _ h
  let other : ∀ x y : G, Eq (x ◇ y) (y ◇ x) := h
  exact other
