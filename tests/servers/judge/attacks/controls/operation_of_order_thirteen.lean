import JudgeProblem

theorem submission : Goal := by
  refine ⟨Fin 13, ⟨fun i _ => ⟨Nat.mod (Nat.add i.val 13) 13, Nat.mod_lt _ (Nat.succ_pos _)⟩⟩, ?_⟩
  decide
