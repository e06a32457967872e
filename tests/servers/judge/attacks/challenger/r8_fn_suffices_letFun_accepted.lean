import JudgeProblem

theorem submission : Goal := by
  intro G _ h
  suffices same : ∀ x y : G, x ◇ y = x ◇ x from
    fun x y z => Eq.trans (same x y) (Eq.symm (same x z))
  exact fun x y => Eq.symm (h x y)
