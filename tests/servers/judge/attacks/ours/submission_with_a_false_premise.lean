import JudgeProblem

theorem submission {wrong : False} : Goal := wrong.elim
