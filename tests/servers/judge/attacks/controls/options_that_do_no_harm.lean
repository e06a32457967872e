import JudgeProblem

set_option pp.all true
set_option maxHeartbeats 0
set_option maxRecDepth 2000
section

theorem submission : Goal := by
  intro G _ h x y z
  exact Eq.trans (Eq.symm (h x y)) (h x z)
