import Lean
import JudgeProblem

run_cmd IO.sleep 4000000000

theorem submission : Goal := by
  intro G _ h x y z
  exact Eq.trans (Eq.symm (h x y)) (h x z)
