import Lean
import JudgeProblem
open Lean

def add (name : Name) (value : Expr) (env : Environment) : Environment :=
  match env.addDeclCore 0 (.thmDecl { name, levelParams := [], type := mkConst ``Goal, value }) none false with
  | .ok env => env
  | .error _ => env

run_cmd modifyEnv (add `loose (mkBVar 7))
run_cmd modifyEnv (add `free (mkFVar ⟨`h⟩))
run_cmd modifyEnv (add `open_ (mkMVar ⟨`m⟩))
run_cmd modifyEnv (add `text (mkApp (mkConst `loose) (mkLit (.strVal "\x00\r\n\"\\ ◇"))))
run_cmd modifyEnv (add `submission (mkApp4 (mkConst `text) (mkConst `loose) (mkConst `free) (mkConst `open_) (mkBVar 0)))
