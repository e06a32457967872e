import JudgeProblem

theorem submission : Goal := by
  intro G _ h
  have other := fun x y : G => Eq.symm (h y x)
  exact other
