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
  (statement := /-- By \cref{lem:pos}. -/)
  (title := /-- Twice -/)
  (latexEnv := "definition")]
def twice (n : Nat) : Nat := n + n

@[blueprint "thm:goal"
  (statement := /-- On \cref{def:twice}. -/)
  (proof := /-- By \cref{lem:pos}. -/)
  (title := /-- Goal -/)
  (latexEnv := "theorem")]
theorem goal : True := trivial
