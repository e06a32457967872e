import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  let rec never (n : Nat) : False := never (n + 1)
    termination_by n
    decreasing_by exact Nat.lt_succ_self n
  exact (never 0).elim
