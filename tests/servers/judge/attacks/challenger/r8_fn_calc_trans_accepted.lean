import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  calc x ◇ y
    _ = x ◇ x := Eq.symm (h x y)
    _ = x ◇ z := h x z
