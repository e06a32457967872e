import Mathlib
import Architect

set_option linter.all false
set_option maxHeartbeats 500000

@[blueprint "def:twice"
  (statement := /-- Twice. -/)
  (title := /-- Twice -/)
  (latexEnv := "definition")]
@[implemented_by fast] def twice (n : Nat) : Nat := n + n
