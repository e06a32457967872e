import JudgeProblem

theorem submission : Goal := by
  intro G _ h x y z
  have same : (fun _ : Unit => x ◇ y) = fun _ => x ◇ z :=
    congrArg (fun q => Quot.lift (fun (f : Unit → G) (u : Unit) => f u)
      (fun _ _ (e : ∀ u, _ = _) => by cases Quot.sound (r := fun _ _ : Unit => True) (a := ()) (b := ()) trivial; exact funext e) q)
      (Quot.sound (r := fun (f g : Unit → G) => ∀ u, f u = g u) fun _ => Eq.trans (Eq.symm (h x y)) (h x z))
  exact congrFun same ()
