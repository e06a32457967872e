import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

set_option maxRecDepth 100000 in
theorem submission : Goal := by
  let m : Magma (Fin 11) := { op := finOpTable "[[0,0,0,0,0,0,0,0,0,0,0],[1,1,1,1,1,1,1,1,1,1,1],[2,2,2,2,2,2,2,2,2,2,2],[3,3,3,3,3,3,3,3,3,3,3],[4,4,4,4,4,4,4,4,4,4,4],[5,5,5,5,5,5,5,5,5,5,5],[6,6,6,6,6,6,6,6,6,6,6],[7,7,7,7,7,7,7,7,7,7,7],[8,8,8,8,8,8,8,8,8,8,8],[9,9,9,9,9,9,9,9,9,9,9],[10,10,10,10,10,10,10,10,10,10,10]]" }
  refine ⟨Fin 11, m, ?_⟩
  decideFin!
