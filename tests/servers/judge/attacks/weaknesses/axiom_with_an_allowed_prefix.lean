import JudgeProblem

axiom Eq.mine {G : Type} [Magma G] (x y z : G) : x ◇ y = x ◇ z
theorem idMine {G : Type} [Magma G] : EquationRHS G := Eq.mine

theorem submission : Goal := fun _ _ _ => idMine
