import Lean
import JudgeProblem

partial def forever (n : Nat) : IO Unit := forever (n + 1)

run_cmd forever 0

theorem submission : Goal := by
  intro G _ h x y z
  exact Eq.trans (Eq.symm (h x y)) (h x z)
