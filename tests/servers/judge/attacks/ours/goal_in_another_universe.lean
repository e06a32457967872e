import JudgeProblem

theorem submission : ∀ (G : Type 1) [Magma G], EquationLHS G → EquationRHS G := by
  intro G _ h x y z
  exact Eq.trans (Eq.symm (h x y)) (h x z)
