import JudgeProblem

local infixl:65 " ∘∘ " => Magma.op
local notation "pair(" a ", " b ")" => a ∘∘ b

theorem submission : Goal := by
  intro G _ h x y z
  have key : ∀ b : G, pair(x, x) = pair(x, b) := h x
  exact Eq.trans (Eq.symm (key y)) (key z)
