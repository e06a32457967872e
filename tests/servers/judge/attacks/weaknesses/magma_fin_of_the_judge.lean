import JudgeProblem

theorem submission : Goal :=
  ⟨Fin 2, magmaFin 2 [0, 0, 1, 1], by decide⟩
