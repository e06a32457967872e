import JudgeProblem

theorem submission : Goal := by
  intro G first h
  haveI second : Magma G := ⟨fun a _ => a⟩
  intro x y z
  change second.op x y = second.op x z
  rfl
