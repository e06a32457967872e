import JudgeProblem
import JudgeSupport.Inspect

theorem submission : Goal := by
  intro G _ h x y z
  exact h x y
