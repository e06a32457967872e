import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  cases Classical.em (x ◇ y = x ◇ z) with
  | inl yes => exact yes
  | inr no => exact absurd (Eq.trans (Eq.symm (h x y)) (h x z)) no
