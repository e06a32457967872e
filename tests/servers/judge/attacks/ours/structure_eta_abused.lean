import JudgeProblem

theorem submission : Goal := by
  intro G m h x y z
  have same : m = ⟨fun a _ => a⟩ := rfl
  rw [same]
