import Mathlib
import Architect

set_option linter.all false
set_option maxHeartbeats 500000

@[blueprint "lem:pos"
  (statement := /-- Truth holds. -/)
  (proof := /-- Clear. -/)
  (title := /-- Pos -/)
  (latexEnv := "lemma")]
lemma pos : True := by
  sorry

@[blueprint "def:twice"
  (statement := /-- Twice. -/)
  (title := /-- Twice -/)
  (latexEnv := "definition")]
def twice (n : Nat) : Nat := pos.elim n

@[blueprint "thm:goal"
  (statement := /-- Truth holds. -/)
  (proof := /-- Clear. -/)
  (title := /-- Goal -/)
  (latexEnv := "theorem")]
theorem goal : True := by
  sorry
