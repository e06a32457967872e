import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

theorem submission : Goal := by
  let m : Magma (Fin 1) := { op := finOpTable "[[0]]" }
  refine ⟨Fin 1, m, ?_⟩
  decideFin!
