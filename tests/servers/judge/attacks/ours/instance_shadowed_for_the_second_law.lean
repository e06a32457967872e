import JudgeProblem

instance constant : Magma (Fin 2) := ⟨fun _ _ => 0⟩

theorem submission : Goal :=
  ⟨Fin 2, ⟨fun a _ => a⟩, fun _ _ => rfl, fun h => absurd (@id (EquationRHS (Fin 2)) h 0 1) (by decide)⟩
