import JudgeProblem

def dashes : String := "--" run_cmd IO.Process.exit 3

theorem submission : Goal := by
  intro G _ h x y z
  exact h x y
