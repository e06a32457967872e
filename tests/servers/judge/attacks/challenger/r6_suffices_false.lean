import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  suffices wrong : False by exact wrong.elim
  exact this
