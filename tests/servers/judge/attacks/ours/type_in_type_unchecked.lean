import Lean
import JudgeProblem
open Lean

run_cmd do
  let env ← getEnv
  let small : Declaration := .defnDecl {
    name := `Small, levelParams := [], type := mkSort 1, value := mkSort 1, hints := .abbrev, safety := .safe }
  match env.addDeclCore 0 small none false with
  | .ok env => setEnv env
  | .error _ => IO.println "not added"

theorem submission : Goal := by
  intro G _ h x y z
  exact (fun _ : Small => Eq.trans (Eq.symm (h x y)) (h x z)) (show Small from Nat)
