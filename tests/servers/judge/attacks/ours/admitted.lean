import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  have key : ∀ a b : G, a = b := by admit
  exact key _ _
