import JudgeProblem

def notes : List String := ["-/ theorem submission : Goal := by", r"
theorem submission : Goal := by
  intro G _ h x y z
  exact Eq.trans (Eq.symm (h x y)) (h x z)
", "/-", s!"{1 + 1}\" theorem"]

theorem submission : Goal := by
  intro G _ h x y z
  exact h x y
