import JudgeProblem

theorem submission.same {G : Type} [Magma G] (h : EquationLHS G) (x y z : G) : (x ◇ y = x ◇ z) = True :=
  propext ⟨fun _ => trivial, fun _ => Eq.trans (Eq.symm (h x y)) (h x z)⟩

theorem submission : Goal := by
  intro G _ h x y z
  exact of_eq_true (submission.same h x y z)
