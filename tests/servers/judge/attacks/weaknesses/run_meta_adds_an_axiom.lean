import Lean
import JudgeProblem
open Lean

run_meta addDecl (.axiomDecl { name := `assumed, levelParams := [], type := mkConst ``Goal, isUnsafe := false })

theorem submission : Goal := assumed
