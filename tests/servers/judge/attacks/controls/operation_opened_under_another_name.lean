import JudgeProblem
open Magma renaming op → dot

theorem submission : Goal := by
  intro G _ h x y z
  have key : ∀ b : G, dot x x = dot x b := h x
  exact Eq.trans (Eq.symm (key y)) (key z)
