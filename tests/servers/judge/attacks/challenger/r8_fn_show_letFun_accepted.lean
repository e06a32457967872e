import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  show x ◇ y = x ◇ z
  exact show x ◇ y = x ◇ z from Eq.trans (Eq.symm (h x y)) (h x z)
