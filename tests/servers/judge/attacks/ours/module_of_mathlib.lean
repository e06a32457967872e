import Mathlib
import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  exact (h x y).symm.trans (h x z)
