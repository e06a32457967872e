import JudgeProblem

local notation (priority := high) a " ◇ " b => Nat.min a b

theorem submission : Goal :=
  ⟨Nat, ⟨fun a b => a ◇ b⟩, fun _ _ => rfl, fun h => absurd (h 0 1) (by decide)⟩
