import JudgeProblem

local macro "flip " t:term : term => `(Eq.symm $t)

theorem submission : Goal := by
  intro G _ h x y z
  exact Eq.trans (flip (h x y)) (h x z)
