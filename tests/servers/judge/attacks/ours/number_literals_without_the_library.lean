prelude

inductive Nat where
  | zero : Nat
  | succ (n : Nat) : Nat

def Nat.add (n _ : Nat) : Nat := n

inductive Same : Nat → Nat → Prop where
  | refl (n : Nat) : Same n n

theorem lie : Same (Nat.add (nat_lit 1) (nat_lit 1)) (nat_lit 2) := Same.refl (nat_lit 2)

inductive Goal : Prop where
  | intro : Goal

theorem submission : Goal := Goal.intro
