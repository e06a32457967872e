import JudgeProblem

universe u
unif_hint (G : Type u) (m : Magma G) (x y z : G) where
  ⊢ m.op x y =?= m.op x z

theorem submission : Goal := by
  intro G m h x y z
  exact (rfl : m.op x y = m.op x z)
