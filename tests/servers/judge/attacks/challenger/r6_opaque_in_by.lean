import JudgeProblem

opaque hidden : False

theorem submission : Goal := by
  intro G _ h x y z
  opaque inside : False
  exact inside.elim
