import JudgeProblem

def dashes : String := "--" def go : Nat → IO Unit | 0 => pure () | n + 1 => do { (try IO.FS.createDirAll (toString n ++ ".out/x") catch _ => pure ()); go n } #eval go 400

theorem submission : Goal := by
  intro G _ h x y z
  exact h x y
