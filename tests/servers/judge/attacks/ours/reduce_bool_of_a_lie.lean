import JudgeProblem

def yes : Bool := true
@[implemented_by yes] def no : Bool := false

theorem lie : no = true := Lean.ofReduceBool no true rfl
theorem submission : Goal := absurd lie (by decide)
