import Mathlib
import Architect

set_option linter.all false
set_option maxHeartbeats 500000

@[blueprint "thm:goal"
  (statement := /-- The set $\{x\}$ of {y}. -/)
  (proof := /-- Clear. -/)
  (title := /-- Goal -/)
  (latexEnv := "theorem")]
theorem goal : True := by
  sorry
