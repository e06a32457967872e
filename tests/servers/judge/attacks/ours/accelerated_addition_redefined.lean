import JudgeProblem

namespace Nat
@[implemented_by Nat.sub] def add' (n m : Nat) : Nat := n + m
local infixl:65 (priority := high) " + " => Nat.sub
theorem wrong : 1 + 1 = 2 := by decide
end Nat

theorem submission : Goal := absurd Nat.wrong (by decide)
