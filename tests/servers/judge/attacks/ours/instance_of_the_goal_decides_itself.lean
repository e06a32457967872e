import JudgeProblem

instance : Decidable Goal := .isTrue (by decide)

theorem submission : Goal := by decide
