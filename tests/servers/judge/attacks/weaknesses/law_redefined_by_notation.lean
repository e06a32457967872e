import JudgeProblem

local notation (priority := high) "EquationRHS" => fun (G : Type) (_ : Magma G) => True

theorem submission : ∀ (G : Type) [m : Magma G], EquationLHS G → EquationRHS G m :=
  fun _ _ _ => trivial
