import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

theorem submission : Goal := by
  let m : Magma (Fin 2) := { op := finOpTable "[[0,0],[1,1]]" }
  suffices both : EquationLHS (Fin 2) ∧ ¬ EquationRHS (Fin 2) from ⟨Fin 2, m, both⟩
  decideFin!
