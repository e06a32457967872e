import JudgeProblem

set_option maxHeartbeats 0
set_option maxRecDepth 100000

theorem slow : ∀ a b c d e f : Fin 60, f = f ∨ a = b ∨ b = c ∨ c = d ∨ d = e := by
  decide +kernel

theorem submission : Goal := by
  intro G _ h x y z
  exact Eq.trans (Eq.symm (h x y)) (h x z)
