import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

theorem submission : Goal := by
  let m : Magma (Fin 3) := { op := finOpTable "[[0,0,0],[1,1,1],[2,2,2]]" }
  refine ⟨Fin 3, m, ?_⟩
  decideFin!
