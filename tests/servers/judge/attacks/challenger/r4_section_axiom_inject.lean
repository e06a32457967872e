import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  section
  axiom assumed : False
  end
  exact assumed.elim
