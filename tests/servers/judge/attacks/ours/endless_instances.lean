import JudgeProblem

set_option maxHeartbeats 0
set_option synthInstance.maxHeartbeats 0
set_option synthInstance.maxSize 1000000000

class Rung (n : Nat) : Prop where
  holds : False
instance (n : Nat) [Rung (n + 1)] : Rung n := ⟨Rung.holds (n + 1)⟩

theorem submission : Goal := by
  intro G _ h x y z
  exact (Rung.holds 0).elim
