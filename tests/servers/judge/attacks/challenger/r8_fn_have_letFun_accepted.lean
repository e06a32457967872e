import JudgeProblem

theorem submission : Goal := by
  intro G _ h
  have copy : ∀ x y : G, x ◇ x = x ◇ y := h
  intro x y z
  exact Eq.trans (Eq.symm (copy x y)) (copy x z)
