import JudgeProblem

set_option maxHeartbeats 0
set_option maxRecDepth 100000

theorem slow : ∀ a b c d e f g k : Fin 50, a = a ∧ b = b ∧ c = c ∧ d = d ∧ e = e ∧ f = f ∧ g = g ∧ k = k := by
  decide +kernel

theorem submission : Goal := by
  intro G _ h x y z
  exact Eq.trans (Eq.symm (h x y)) (h x z)
