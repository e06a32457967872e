import JudgeProblem

@[simp] axiom absorb {G : Type} [Magma G] (x y z : G) : (x ◇ y = x ◇ z) = True

theorem submission : Goal := by
  intro G _ h x y z
  simp
