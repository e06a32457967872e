import JudgeProblem

theorem helper {G : Type} [Magma G] (h : EquationLHS G) : EquationRHS G :=
  fun x y z => Eq.trans (Eq.symm (h x y)) (h x z)

theorem submission : Goal := by
  intro G _ h
  exact helper h
