import JudgeProblem

namespace Nat
def sub' (n m : Nat) : Nat := n - m
@[implemented_by sub'] def add' (n m : Nat) : Nat := n + m
local infixl:65 (priority := high) " + " => Nat.sub
theorem wrong : 1 + 1 = 2 := by decide
end Nat

theorem submission : Goal := absurd Nat.wrong (by decide)
