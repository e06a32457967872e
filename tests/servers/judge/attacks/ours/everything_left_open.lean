import JudgeProblem

namespace Poison
universe u v
section
open Classical Nat
variable (G : Type u) [Magma G] (wrong : False)
include wrong
set_option maxRecDepth 40
set_option pp.all true
set_option autoImplicit true
abbrev Goal : Prop := False
instance (priority := high) : Magma (Fin 2) := ⟨fun _ _ => 0⟩
@[simp] axiom poison (a b : Nat) : (a = b) = True
attribute [-instance] instDecidableAnd instDecidableNot
set_option maxHeartbeats 1
theorem submission : Goal := by
  intro G _ h x y z
  exact Eq.trans (Eq.symm (h x y)) (h x z
