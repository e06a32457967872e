import Mathlib
import Architect

set_option linter.all false
set_option maxHeartbeats 500000

@[blueprint "thm:the-main_goal"
  (statement := /-- Truth holds. -/)
  (proof := /-- Clear. -/)
  (title := /-- Goal -/)
  (latexEnv := "theorem")]
theorem the_main_goal : True := by
  sorry
