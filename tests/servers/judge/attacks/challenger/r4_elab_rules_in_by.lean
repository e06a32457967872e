import Lean
import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  elab_rules : tactic
    | `(tactic| rfl) => do (← Lean.Elab.Tactic.getMainGoal).admit
  rfl
