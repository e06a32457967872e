import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  have wrong : False := by native_decide
  exact wrong.elim
