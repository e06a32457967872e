import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  have key : ∀ a b : G, a = b := by
    first
      | exact?
      | by?
      | apply?
  exact key _ _
