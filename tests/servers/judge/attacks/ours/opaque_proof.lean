import JudgeProblem

opaque submission : Goal
