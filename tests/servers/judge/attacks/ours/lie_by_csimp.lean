import JudgeProblem

def no (_ : Unit) : Bool := false
def yes (_ : Unit) : Bool := true
axiom hidden : no = yes
@[csimp] theorem no_eq_yes : no = yes := hidden

theorem lie : no () = true := by native_decide
theorem submission : Goal := absurd lie (by decide)
