import JudgeProblem

def yes : Bool := true
@[implemented_by yes] def no : Bool := false

theorem lie : no = true := by native_decide
theorem submission : Goal := absurd lie (by decide)
