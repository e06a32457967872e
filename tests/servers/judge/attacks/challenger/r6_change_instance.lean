import JudgeProblem

theorem submission : Goal := by
  intro G _ h
  change @EquationRHS G ⟨fun a _ => a⟩
  intro x y z
  rfl
