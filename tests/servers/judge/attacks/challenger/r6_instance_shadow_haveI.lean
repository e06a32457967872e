import JudgeProblem

theorem submission : Goal := by
  intro G _ h
  haveI : Magma G := ⟨fun a _ => a⟩
  have flat : ∀ x y z : G, x ◇ y = x ◇ z := fun _ _ _ => rfl
  exact flat
