(* Equational proofs: chains of rewriting steps, checked by computation. *)

Fixpoint same_variable (m n : nat) : bool :=
  match m, n with
  | O, O => true
  | S m, S n => same_variable m n
  | _, _ => false
  end.

Fixpoint same_term (t u : term) : bool :=
  match t, u with
  | V m, V n => same_variable m n
  | P a b, P c d => if same_term a c then same_term b d else false
  | _, _ => false
  end.

Lemma same_variable_sound (m : nat) : forall n, same_variable m n = true -> m = n.
Proof.
  induction m as [|m sound]; intros [|n]; simpl; intro same; try discriminate; trivial.
  rewrite (sound n same); trivial.
Qed.

Lemma same_term_sound (t : term) : forall u, same_term t u = true -> t = u.
Proof.
  induction t as [m|a sound_a b sound_b]; intros [n|c d]; simpl; intro same; try discriminate.
  - rewrite (same_variable_sound m n same); trivial.
  - destruct (same_term a c) eqn:same_ac; [|discriminate].
    rewrite (sound_a c same_ac), (sound_b d same); trivial.
Qed.

(* A rule is an equation in the variables with the numbers below `arity`. *)
Record rule : Set := Rule { arity : nat; left_side : term; right_side : term }.

(* One step: the rule's number, the terms put for its variables, the path to the rewritten subterm, the direction. *)
Inductive turn : Set := L | R.
Inductive direction : Set := Forward | Backward.
Record step : Set := Step {
  rule_number : nat; arguments : list term; path : list turn; towards : direction }.

Fixpoint below (m n : nat) : bool :=
  match m, n with
  | O, S _ => true
  | S m, S n => below m n
  | _, O => false
  end.

Fixpoint variables_below (bound : nat) (t : term) : bool :=
  match t with
  | V variable => below variable bound
  | P one two => if variables_below bound one then variables_below bound two else false
  end.

Fixpoint all_below (bound : nat) (terms : list term) : bool :=
  match terms with
  | nil => true
  | cons first rest => if variables_below bound first then all_below bound rest else false
  end.

Fixpoint rule_at (rules : list rule) (number : nat) : option rule :=
  match rules, number with
  | nil, _ => None
  | cons first _, O => Some first
  | cons _ rest, S number => rule_at rest number
  end.

Fixpoint substituted (images : nat -> term) (t : term) : term :=
  match t with
  | V variable => images variable
  | P one two => P (substituted images one) (substituted images two)
  end.

Fixpoint rewritten (source target t : term) (path : list turn) {struct path} : option term :=
  match path, t with
  | nil, _ => if same_term t source then Some target else None
  | cons L path, P one two =>
      match rewritten source target one path with Some one => Some (P one two) | None => None end
  | cons R path, P one two =>
      match rewritten source target two path with Some two => Some (P one two) | None => None end
  | cons _ _, V _ => None
  end.

Definition images (terms : list term) : nat -> term := entry (V O) terms.

(* The steps of an equation in `bound` variables, from `t` on. *)
Fixpoint derived (rules : list rule) (bound : nat) (t : term) (steps : list step) : option term :=
  match steps with
  | nil => Some t
  | cons (Step number terms path towards) rest =>
      match rule_at rules number with
      | None => None
      | Some (Rule arity lhs rhs) =>
          if same_variable (length terms) arity then
            if all_below bound terms then
              let lhs := substituted (images terms) lhs in
              let rhs := substituted (images terms) rhs in
              let next := match towards with
                          | Forward => rewritten lhs rhs t path
                          | Backward => rewritten rhs lhs t path
                          end in
              match next with Some t => derived rules bound t rest | None => None end
            else None
          else None
      end
  end.

Definition proves (rules : list rule) (goal : rule) (steps : list step) : bool :=
  match derived rules (arity goal) (left_side goal) steps with
  | Some t => same_term t (right_side goal)
  | None => false
  end.

(* Lemmas are proved one after the other; each joins the rules. *)
Fixpoint proves_all (rules : list rule) (lemmas : list (rule * list step)) (goal : rule) (steps : list step) : bool :=
  match lemmas with
  | nil => proves rules goal steps
  | cons (lemma, its_steps) rest =>
      if proves rules lemma its_steps then proves_all (app rules (cons lemma nil)) rest goal steps else false
  end.

Section Soundness.

Variables (G : Type) (op : G -> G -> G).

Definition holds (r : rule) : Prop :=
  forall assigned : nat -> G, value op assigned (left_side r) = value op assigned (right_side r).

Fixpoint all_hold (rules : list rule) : Prop :=
  match rules with
  | nil => True
  | cons first rest => holds first /\ all_hold rest
  end.

Lemma value_substituted (images : nat -> term) (assigned : nat -> G) (t : term) :
  value op assigned (substituted images t) = value op (fun variable => value op assigned (images variable)) t.
Proof. induction t as [|a equal_a b equal_b]; simpl; [|rewrite equal_a, equal_b]; trivial. Qed.

Lemma rewritten_sound (assigned : nat -> G) (source target : term) (path : list turn) :
  value op assigned source = value op assigned target ->
  forall t u, rewritten source target t path = Some u -> value op assigned t = value op assigned u.
Proof.
  intro equal. induction path as [|[] path sound]; intros t u done.
  - simpl in done. destruct (same_term t source) eqn:same; [|discriminate].
    injection done as done. rewrite (same_term_sound _ _ same), <- done. exact equal.
  - destruct t as [|one two]; [discriminate|]. simpl in done.
    destruct (rewritten source target one path) as [next|] eqn:found; [|discriminate].
    injection done as done. rewrite <- done. simpl. rewrite (sound _ _ found). trivial.
  - destruct t as [|one two]; [discriminate|]. simpl in done.
    destruct (rewritten source target two path) as [next|] eqn:found; [|discriminate].
    injection done as done. rewrite <- done. simpl. rewrite (sound _ _ found). trivial.
Qed.

Lemma rule_at_holds (rules : list rule) : all_hold rules ->
  forall number r, rule_at rules number = Some r -> holds r.
Proof.
  induction rules as [|first rest sound]; simpl; [discriminate|].
  intros [first_holds rest_hold] [|number] r found.
  - injection found as found. rewrite <- found. exact first_holds.
  - exact (sound rest_hold number r found).
Qed.

Lemma derived_sound (rules : list rule) : all_hold rules ->
  forall bound steps t u, derived rules bound t steps = Some u ->
  forall assigned, value op assigned t = value op assigned u.
Proof.
  intros all bound steps. induction steps as [|[number terms path towards] rest sound];
    simpl; intros t u done assigned.
  - injection done as done. rewrite done. trivial.
  - destruct (rule_at rules number) as [[arity lhs rhs]|] eqn:found; [|discriminate].
    destruct (same_variable (length terms) arity); [|discriminate].
    destruct (all_below bound terms); [|discriminate].
    pose proof (rule_at_holds rules all number _ found) as rule_holds.
    assert (equal : value op assigned (substituted (images terms) lhs)
                  = value op assigned (substituted (images terms) rhs)).
    { rewrite !value_substituted. apply rule_holds. }
    destruct towards.
    + destruct (rewritten _ _ t path) as [next|] eqn:rewriting; [|discriminate].
      rewrite (rewritten_sound _ _ _ _ equal _ _ rewriting). exact (sound _ _ done assigned).
    + destruct (rewritten _ _ t path) as [next|] eqn:rewriting; [|discriminate].
      rewrite (rewritten_sound _ _ _ _ (eq_sym equal) _ _ rewriting). exact (sound _ _ done assigned).
Qed.

Lemma proves_sound (rules : list rule) (goal : rule) (steps : list step) :
  all_hold rules -> proves rules goal steps = true -> holds goal.
Proof.
  unfold proves. intros all done assigned.
  destruct (derived rules (arity goal) (left_side goal) steps) as [t|] eqn:derivation; [|discriminate].
  rewrite <- (same_term_sound _ _ done). exact (derived_sound rules all _ _ _ _ derivation assigned).
Qed.

Lemma all_hold_with (rules : list rule) (r : rule) : all_hold rules -> holds r -> all_hold (app rules (cons r nil)).
Proof. induction rules as [|first rest sound]; simpl; [|intros []]; auto. Qed.

Lemma proves_all_sound (goal : rule) (steps : list step) (lemmas : list (rule * list step)) :
  forall rules, all_hold rules -> proves_all rules lemmas goal steps = true -> holds goal.
Proof.
  induction lemmas as [|[lemma its_steps] rest sound]; simpl; intros rules all done.
  - exact (proves_sound rules goal steps all done).
  - destruct (proves rules lemma its_steps) eqn:lemma_done; [|discriminate].
    apply (sound (app rules (cons lemma nil))); [|exact done].
    apply all_hold_with; [exact all|]. exact (proves_sound rules lemma its_steps all lemma_done).
Qed.

End Soundness.

(* From a first rule that holds, with its lemmas, to the goal. *)
Definition proved_by {law goal : rule} {lemmas : list (rule * list step)} {steps : list step}
    (done : proves_all (cons law nil) lemmas goal steps = true)
    {G : Type} (op : G -> G -> G) (law_holds : holds G op law) : holds G op goal :=
  proves_all_sound G op goal steps lemmas (cons law nil) (conj law_holds I) done.
