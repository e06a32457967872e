import JudgeProblem

local infix:65 (priority := high) " ◇ " => fun a _ => a

theorem submission : Goal := by
  intro G _ h
  exact (fun x y z => rfl : ∀ x y z : G, x ◇ y = x ◇ z)
