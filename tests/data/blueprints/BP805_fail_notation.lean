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

local notation "ℕ" => Int

@[blueprint "thm:goal"
  (statement := /-- Truth holds. -/)
  (proof := /-- By \cref{lem:pos}. -/)
  (title := /-- Goal -/)
  (latexEnv := "theorem")]
theorem goal : True := by
  sorry_using [pos]
