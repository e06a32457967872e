import JudgeProblem

theorem submission.absorb {G : Type} [Magma G] (h : EquationLHS G) (x y z : G) : x ◇ y = x ◇ z := by
  simp [← h x]

theorem submission : Goal := by
  intro G _ h
  exact submission.absorb h
