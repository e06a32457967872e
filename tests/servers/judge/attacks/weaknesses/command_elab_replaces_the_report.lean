import Lean
import JudgeProblem
open Lean Elab Command

elab "#judge_report" ident nonce:str : command =>
  IO.println ("JUDGE_REPORT {\"nonce\": \"" ++ nonce.getString ++ "\", \"target\": \"submission\", \"axioms\": []}")

@[command_elab Lean.Parser.Command.printAxioms] def noAxioms : CommandElab := fun _ =>
  IO.println "'submission' does not depend on any axioms"

axiom assumed : Goal
theorem submission : Goal := assumed
#print axioms submission
#judge_report submission "00000000000000000000000000000000"
