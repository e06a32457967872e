import Mathlib
import Architect

set_option linter.all false
set_option maxHeartbeats 500000

@[blueprint "thm:goal"
  (statement := /-- S. -/)
  (proof := /-- P. -/)
  (title := /-- T -/)
  (latexEnv := "theorem")]
