import JudgeProblem

set_option maxHeartbeats 0
set_option maxRecDepth 1000000000

theorem submission : Goal := by
  intro G _ h x y z
  repeat (exact absurd rfl (h x y ▸ id)) <;> skip
  iterate 1000000000 skip
  exact h x y
