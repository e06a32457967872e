import Mathlib
import Architect

set_option linter.all false
set_option maxHeartbeats 500000

@[blueprint "def:inst"
  (statement := /-- Twice. -/)
  (title := /-- Twice -/)
  (latexEnv := "definition")]
instance: Inhabited Nat := ⟨0⟩
