import Mathlib
import Architect

set_option linter.all false
set_option maxHeartbeats 500000

@[blueprint "thm:a-b"
  (statement := /-- Truth holds. -/)
  (proof := /-- Clear. -/)
  (title := /-- Goal -/)
  (latexEnv := "theorem")]
theorem a_b : True := by
  sorry

@[blueprint "thm:a_b"
  (statement := /-- Truth holds. -/)
  (proof := /-- Clear. -/)
  (title := /-- Goal -/)
  (latexEnv := "theorem")]
theorem a_b : True := by
  sorry
