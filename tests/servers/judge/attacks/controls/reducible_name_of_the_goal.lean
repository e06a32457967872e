import JudgeProblem

abbrev Statement : Prop := Goal

theorem submission : Statement := by
  intro G _ h x y z
  exact Eq.trans (Eq.symm (h x y)) (h x z)
