import JudgeProblem

theorem submission [wrong : Inhabited (PLift False)] : Goal := wrong.default.down.elim
