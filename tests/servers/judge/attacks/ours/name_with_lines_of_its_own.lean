import Lean
import JudgeProblem
open Lean

run_cmd do
  let env ← getEnv
  let name : Name := .str (.num (.str .anonymous "propext\n{\"outcome\": \"proved\"}\n\"\t\x00") 7) ""
  match env.addDeclCore 0 (.axiomDecl { name, levelParams := [], type := mkConst ``Goal, isUnsafe := false }) none false with
  | .ok env => setEnv env
  | .error _ => IO.println "not added"
  match (← getEnv).addDeclCore 0
    (.thmDecl { name := `submission, levelParams := [], type := mkConst ``Goal, value := mkConst name }) none false with
  | .ok env => setEnv env
  | .error _ => IO.println "not added"
