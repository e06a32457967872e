import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  have same : (x ◇ y = x ◇ z) = True :=
    propext ⟨fun _ => trivial, fun _ => Eq.trans (Eq.symm (h x y)) (h x z)⟩
  exact same ▸ trivial
