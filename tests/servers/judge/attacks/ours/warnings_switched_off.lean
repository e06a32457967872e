import JudgeProblem

set_option warningAsError false
set_option warn.sorry false
set_option linter.all false

theorem submission : Goal := by
  intro G _ h x y z
  exact (show _ from by sorry)
