import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

theorem submission : Goal := by
  let m : Magma (Fin 4) := { op := finOpTable "[[0,0,0,0],[1,1,1,1],[2,2,2,2],[3,3,3,3]]" }
  exact ⟨Fin 4, m, by decideFin!⟩
