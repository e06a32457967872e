import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  replace h : ∀ y : G, x ◇ y = x ◇ x := fun y => Eq.symm (h x y)
  exact Eq.trans (h y) (Eq.symm (h z))
