import JudgeProblem

theorem submission : ∃ (G : Type) (_ : Magma G), EquationLHS G ∧ EquationRHS G :=
  ⟨Nat, ⟨fun _ _ => 0⟩, fun _ _ => rfl, fun _ _ _ => rfl⟩
