import JudgeProblem

theorem submission : Goal := by
  native_decide
