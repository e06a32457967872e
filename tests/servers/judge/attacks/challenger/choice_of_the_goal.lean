import JudgeProblem

theorem submission : Goal :=
  Classical.choice ⟨fun G _ h x y z => Eq.trans (Eq.symm (h x y)) (h x z)⟩
