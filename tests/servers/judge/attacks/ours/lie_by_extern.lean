import JudgeProblem

@[extern "lean_nat_dec_eq"] def differs (a b : @& Nat) : Bool := !(Nat.beq a b)

theorem lie : differs 1 1 = true := by native_decide
theorem submission : Goal := absurd lie (by decide)
