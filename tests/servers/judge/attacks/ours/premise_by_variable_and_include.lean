import JudgeProblem

variable (wrong : False)
include wrong

theorem submission : Goal := wrong.elim
