import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

theorem submission : Goal := by
  let m : Magma (Fin 6) := { op := finOpTable "[[0,0,0,0,0,0],[1,1,1,1,1,1],[2,2,2,2,2,2],[3,3,3,3,3,3],[4,4,4,4,4,4],[5,5,5,5,5,5]]" }
  exact ⟨Fin 6, m, by decideFin!⟩
