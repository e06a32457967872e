import JudgeProblem

theorem submission (wrong : False := by contradiction) : Goal := wrong.elim
