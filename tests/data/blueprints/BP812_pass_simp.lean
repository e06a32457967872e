import Mathlib
import Architect

set_option linter.all false
set_option maxHeartbeats 500000

@[simp, blueprint "def:twice"
  (statement := /-- Twice. -/)
  (title := /-- Twice -/)
  (latexEnv := "definition")]
def twice (n : Nat) : Nat := n + n
