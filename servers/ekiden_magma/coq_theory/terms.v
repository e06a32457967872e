(* Terms as data, and their values in a magma. *)

Inductive term : Set := V (variable : nat) | P (one two : term).

(* The entry at a place of a list, counted from 0. *)
Fixpoint entry {T : Type} (default : T) (entries : list T) (place : nat) : T :=
  match entries, place with
  | nil, _ => default
  | cons first _, O => first
  | cons _ rest, S place => entry default rest place
  end.

Fixpoint value {G : Type} (op : G -> G -> G) (assigned : nat -> G) (t : term) : G :=
  match t with
  | V variable => assigned variable
  | P one two => op (value op assigned one) (value op assigned two)
  end.

Notation "[ x ; .. ; y ]" := (cons x .. (cons y nil) ..).
