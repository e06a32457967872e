import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  exact (Quot.lcInv (r := fun _ _ : PLift (x ◇ y = x ◇ z) => True) lcUnreachable).down
