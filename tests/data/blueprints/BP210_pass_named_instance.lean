import Mathlib
import Architect

set_option linter.all false
set_option maxHeartbeats 500000

@[blueprint "def:inst"
  (statement := /-- Twice. -/)
  (title := /-- Twice -/)
  (latexEnv := "definition")]
local instance inst : Inhabited Nat := ⟨0⟩
