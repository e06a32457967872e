import JudgeProblem

def bit : Quot (fun _ _ : Bool => True) → Bool := Quot.lift id lcProof

theorem lie : false = true := congrArg bit (Quot.sound (r := fun _ _ : Bool => True) trivial)
theorem submission : Goal := Bool.noConfusion lie
