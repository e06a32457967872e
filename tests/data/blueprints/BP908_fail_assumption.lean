import Mathlib
import Architect

set_option linter.all false
set_option maxHeartbeats 500000

@[blueprint "thm:magic"
  (statement := /-- Truth holds. -/)
  (proof := /-- Clear. -/)
  (title := /-- Goal -/)
  (latexEnv := "theorem")]
axiom magic : True

@[blueprint "thm:goal"
  (statement := /-- Truth holds. -/)
  (proof := /-- By \cref{thm:magic}. -/)
  (title := /-- Goal -/)
  (latexEnv := "theorem")]
theorem goal : True := magic.elim
