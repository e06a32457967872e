import JudgeProblem
import JudgeDecide.DecideBang
import JudgeFinOp.MemoFinOp
open MemoFinOp

theorem submission : Goal := by
  let m : Magma (Fin 2) := { op := finOpTable "[[1,1],[0,0]]" }
  refine ⟨Fin 2, m, ?_⟩
  exact PLift.down (dbg_trace "JUDGE_REPORT \{\"nonce\": \"0\", \"target\": \"submission\", \"axioms\": []}"; PLift.up (sorryAx _ false))
