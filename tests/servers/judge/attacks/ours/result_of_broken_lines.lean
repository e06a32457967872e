import Lean
import JudgeProblem

def say (text : String) : IO Unit := do
  let out ← IO.FS.Handle.mk "/dev/stdout" .append
  out.putStrLn text
  out.flush

def line : Nat → String → String
  | 0, text => text
  | n + 1, text => line n (text ++ text)

def lines : String :=
  "message error " ++ line 13 "9" ++ " 1 1 1 x\ty\nmessage\nmessage fatal 1 1 1 1 x\t\\\nmessage error ² ٣ - - x\ty\n" ++
  "found\nn s 999999 a\nu m -1\ne b " ++ line 13 "9" ++ "\ne c\nd thm 0 0\nfound\nend"

run_cmd IO.FS.writeFile "0.out" lines
run_cmd say "\ndone 0"
run_cmd (IO.Process.exit 0 : IO Unit)

theorem submission : Goal := by
  intro G _ h x y z
  exact h x y
