import Lean
import JudgeProblem

def say (text : String) : IO Unit := do
  let out ← IO.FS.Handle.mk "/dev/stdout" .append
  out.putStrLn text
  out.flush

def huge : String := "".pushn '9' 6000

def lines : String :=
  "message error " ++ huge ++ " 1 " ++ huge ++ " 1 x\ty\nmessage\nmessage fatal 1 1 1 1 x\t\\\nmessage error ² ٣ - - x\ty\n" ++
  "found\nn s 999999 a\nu m -1\ne b " ++ huge ++ "\ne c\nd thm 0 0\nfound\nend"

run_cmd IO.FS.writeFile "0.out" lines
run_cmd say "\ndone 0"
run_cmd IO.Process.exit 0

theorem submission : Goal := by
  intro G _ h x y z
  exact h x y
