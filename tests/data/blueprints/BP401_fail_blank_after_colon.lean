import Mathlib
import Architect

set_option linter.all false
set_option maxHeartbeats 500000

@[blueprint "thm: goal"
  (statement := /-- Truth holds. -/)
  (proof := /-- Clear. -/)
  (title := /-- Goal -/)
  (latexEnv := "theorem")]
theorem goal : True := by
  sorry
