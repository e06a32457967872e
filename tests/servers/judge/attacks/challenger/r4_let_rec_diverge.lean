import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  let rec never (n : Nat) : False := never (n + 1)
  exact (never 0).elim
