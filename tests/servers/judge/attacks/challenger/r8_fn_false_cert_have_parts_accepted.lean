import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

theorem submission : Goal := by
  let m : Magma (Fin 2) := { op := finOpTable "[[0,0],[1,1]]" }
  have holds : EquationLHS (Fin 2) := by decideFin!
  have fails : ¬ EquationRHS (Fin 2) := by decideFin!
  exact ⟨Fin 2, m, holds, fails⟩
