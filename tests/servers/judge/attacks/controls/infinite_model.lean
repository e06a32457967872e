import JudgeProblem

theorem submission : Goal :=
  ⟨Nat, ⟨fun a _ => a⟩, fun _ _ => rfl, fun h => absurd (h 0 1) (by decide)⟩
