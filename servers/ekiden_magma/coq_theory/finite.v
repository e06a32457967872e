(* Finite magmas: a boolean check of all elements proves a statement about all elements. *)

Fixpoint every {T : Type} (elements : list T) (test : T -> bool) : bool :=
  match elements with
  | nil => true
  | cons first rest => if test first then every rest test else false
  end.

Fixpoint element_at {T : Type} (elements : list T) (place : nat) : option T :=
  match elements, place with
  | nil, _ => None
  | cons first _, O => Some first
  | cons _ rest, S place => element_at rest place
  end.

Fixpoint same_number (m n : nat) : bool :=
  match m, n with
  | O, O => true
  | S m, S n => same_number m n
  | _, _ => false
  end.

Lemma same_number_sound (m : nat) : forall n, same_number m n = true -> m = n.
Proof.
  induction m as [|m equal_if]; intros [|n]; simpl; intro same; try discriminate; trivial.
  rewrite (equal_if n same); trivial.
Qed.

Lemma every_sound {T : Type} (elements : list T) (test : T -> bool) :
  every elements test = true -> forall place x, element_at elements place = Some x -> test x = true.
Proof.
  induction elements as [|first rest sound]; simpl; intro passed; [discriminate|].
  destruct (test first) eqn:first_passed; [|discriminate].
  intros [|place] x found; simpl in found.
  - injection found as found. rewrite <- found. exact first_passed.
  - exact (sound passed place x found).
Qed.

(* A type whose elements are listed; `place` tells where each stands in the list. *)
Definition for_all {T : Type} {elements : list T} {place : T -> nat}
    (listed : forall x, element_at elements (place x) = Some x)
    {test : T -> bool} (passed : every elements test = true) (x : T) : test x = true :=
  every_sound elements test passed (place x) x (listed x).

Lemma equal_places {T : Type} {elements : list T} {place : T -> nat}
    (listed : forall x, element_at elements (place x) = Some x) {x y : T} :
  same_number (place x) (place y) = true -> x = y.
Proof.
  intro same. assert (both : Some x = Some y); [|injection both; trivial].
  rewrite <- (listed x), <- (listed y), (same_number_sound _ _ same). trivial.
Qed.

Definition different_places {T : Type} (place : T -> nat) {x y : T}
    (different : same_number (place x) (place y) = false) (equal : x = y) : False.
Proof.
  rewrite equal in different. revert different.
  induction (place y) as [|n absurd]; simpl; [discriminate|exact absurd].
Defined.
