import JudgeProblem

theorem submission.{u} : Goal := by
  intro G _ h x y z
  have _unused : PUnit.{u + 1} := ⟨⟩
  exact Eq.trans (Eq.symm (h x y)) (h x z)
