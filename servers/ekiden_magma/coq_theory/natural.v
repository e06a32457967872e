(* Infinite magmas on the naturals: laws decided by cells, by computation.

   A cell gives each variable the numbers `low + pace * k`, k = 0, 1, 2, ... On it every term has a form
   `constant + sum of coefficients * k`, or a question is open that a split of the cell answers. *)

Require Import List NArith Lia.
Open Scope N_scope.

(* The rule max(0, a * x + b * y + up - down). *)
Record affine : Set := Affine { factor_x : N; factor_y : N; up : N; down : N }.

(* The rule for two numbers: a row for each residue of x, in it an entry for each residue of y. *)
Definition rule_for (modulus : N) (rules : list (list affine)) (x y : N) : affine :=
  entry (Affine 0 0 0 0) (entry nil rules (N.to_nat (x mod modulus))) (N.to_nat (y mod modulus)).

Definition applied (r : affine) (x y : N) : N := factor_x r * x + factor_y r * y + up r - down r.

Definition product (modulus : N) (rules : list (list affine)) (x y : N) : N :=
  applied (rule_for modulus rules x y) x y.

Record progression : Set := From { low : N; pace : N }.
Definition cell : Set := list progression.

Record form : Set := Form { constant : N; coefficients : list N }.

Inductive outcome : Set := Found (f : form) | ByResidue (variable : nat) | AtZero (variable : nat).

(* The place of the first two numbers that pass the test. *)
Fixpoint first_place (test : N -> N -> bool) (ps qs : list N) : option nat :=
  match ps, qs with
  | cons p ps, cons q qs =>
      if test p q then Some O
      else match first_place test ps qs with Some place => Some (S place) | None => None end
  | _, _ => None
  end.

Fixpoint combined (r : affine) (ps qs : list N) : list N :=
  match ps, qs with
  | cons p ps, cons q qs => cons (factor_x r * p + factor_y r * q) (combined r ps qs)
  | _, _ => nil
  end.

Definition indivisible (modulus p q : N) : bool := if p mod modulus =? 0 then negb (q mod modulus =? 0) else true.

Definition nonzero (p _ : N) : bool := negb (p =? 0).

Definition form_of_product (modulus : N) (rules : list (list affine)) (one two : form) : outcome :=
  match first_place (indivisible modulus) (coefficients one) (coefficients two) with
  | Some variable => ByResidue variable
  | None =>
      let r := rule_for modulus rules (constant one) (constant two) in
      let sum := factor_x r * constant one + factor_y r * constant two + up r in
      let sums := combined r (coefficients one) (coefficients two) in
      if down r <=? sum then Found (Form (sum - down r) sums)
      else match first_place nonzero sums sums with
           | Some variable => AtZero variable
           | None => Found (Form 0 sums)
           end
  end.

Fixpoint zeros (c : cell) : list N := match c with nil => nil | cons _ rest => cons 0 (zeros rest) end.

(* The form of a variable: its pace stands at its own place. *)
Fixpoint form_of_variable (c : cell) (variable : nat) : form :=
  match c, variable with
  | nil, _ => Form 0 nil
  | cons first rest, O => Form (low first) (cons (pace first) (zeros rest))
  | cons _ rest, S variable =>
      let f := form_of_variable rest variable in Form (constant f) (cons 0 (coefficients f))
  end.

Fixpoint form_of (modulus : N) (rules : list (list affine)) (c : cell) (t : term) : outcome :=
  match t with
  | V variable => Found (form_of_variable c variable)
  | P one two =>
      match form_of modulus rules c one with
      | Found one =>
          match form_of modulus rules c two with
          | Found two => form_of_product modulus rules one two
          | open => open
          end
      | open => open
      end
  end.

Fixpoint same_numbers (ps qs : list N) : bool :=
  match ps, qs with
  | nil, nil => true
  | cons p ps, cons q qs => if p =? q then same_numbers ps qs else false
  | _, _ => false
  end.

Definition same_form (f g : form) : bool :=
  if constant f =? constant g then same_numbers (coefficients f) (coefficients g) else false.

Fixpoint replaced (c : cell) (variable : nat) (part : progression) : cell :=
  match c, variable with
  | nil, _ => nil
  | cons _ rest, O => cons part rest
  | cons first rest, S variable => cons first (replaced rest variable part)
  end.

(* The parts of a progression: by the residues of k, or k = 0 and the rest. *)
Definition residue_classes (modulus : N) (p : progression) : list progression :=
  map (fun j => From (low p + pace p * N.of_nat j) (pace p * modulus)) (seq 0 (N.to_nat modulus)).

Definition first_and_rest (p : progression) : list progression :=
  cons (From (low p) 0) (cons (From (low p + pace p) (pace p)) nil).

Definition parts (c : cell) (variable : nat) (split : progression -> list progression) : list cell :=
  map (replaced c variable) (split (entry (From 0 1) c variable)).

Definition opened (modulus : N) (c : cell) (open : outcome) : list cell :=
  match open with
  | Found _ => cons c nil
  | ByResidue variable => parts c variable (residue_classes modulus)
  | AtZero variable => parts c variable first_and_rest
  end.

(* Decide or split the first waiting cell; None: the law fails on a cell. *)
Definition advanced (modulus : N) (rules : list (list affine)) (lhs rhs : term) (waiting : option (list cell)) :
    option (list cell) :=
  match waiting with
  | Some (cons c rest) =>
      match form_of modulus rules c lhs with
      | Found f =>
          match form_of modulus rules c rhs with
          | Found g => if same_form f g then Some rest else None
          | open => Some (opened modulus c open ++ rest)
          end
      | open => Some (opened modulus c open ++ rest)
      end
  | _ => waiting
  end.

(* 2^rounds times, or until nothing waits. *)
Fixpoint repeated (rounds : nat) (modulus : N) (rules : list (list affine)) (lhs rhs : term)
    (waiting : option (list cell)) : option (list cell) :=
  match rounds with
  | O => advanced modulus rules lhs rhs waiting
  | S rounds =>
      match repeated rounds modulus rules lhs rhs waiting with
      | Some (cons c rest) => repeated rounds modulus rules lhs rhs (Some (cons c rest))
      | settled => settled
      end
  end.

Inductive decision : Set := Holds | Fails | Open.

(* Whether a law in so many variables holds; open when more than 2^17 steps are needed. *)
Definition decided (modulus : N) (rules : list (list affine)) (variables : nat) (lhs rhs : term) : decision :=
  if modulus =? 0 then Open
  else match repeated 17 modulus rules lhs rhs (Some (cons (repeat (From 0 1) variables) nil)) with
       | Some nil => Holds
       | Some (cons _ _) => Open
       | None => Fails
       end.

(* The forms mean what they say. *)

Fixpoint sum (ps ks : list N) : N :=
  match ps, ks with
  | cons p ps, cons k ks => p * k + sum ps ks
  | _, _ => 0
  end.

Definition meaning (f : form) (ks : list N) : N := constant f + sum (coefficients f) ks.

Definition member (n : N) (p : progression) : Prop := exists k, n = low p + pace p * k.

Lemma sum_zeros (c : cell) : forall ks, sum (zeros c) ks = 0.
Proof. induction c as [|p c zero]; intros [|k ks]; simpl; trivial. Qed.

Lemma zeros_length (c : cell) : length (zeros c) = length c.
Proof. induction c as [|p c equal]; simpl; [|rewrite equal]; trivial. Qed.

Lemma variable_length (c : cell) : forall variable, length (coefficients (form_of_variable c variable)) = length c.
Proof.
  induction c as [|p c equal]; intros [|variable]; simpl; trivial.
  - rewrite zeros_length. trivial.
  - rewrite equal. trivial.
Qed.

Lemma combined_length (r : affine) (ps : list N) :
  forall qs, length ps = length qs -> length (combined r ps qs) = length ps.
Proof. induction ps as [|p ps equal]; intros [|q qs]; simpl; intro lengths; auto; discriminate. Qed.

Lemma sum_combined (r : affine) (ps : list N) : forall qs, length ps = length qs ->
  forall ks, sum (combined r ps qs) ks = factor_x r * sum ps ks + factor_y r * sum qs ks.
Proof.
  induction ps as [|p ps equal]; intros [|q qs]; simpl; intro lengths; try discriminate; intros [|k ks]; try lia.
  rewrite equal by congruence. lia.
Qed.

Lemma sum_divisible (modulus : N) : modulus <> 0 -> forall ps qs, length ps = length qs ->
  first_place (indivisible modulus) ps qs = None ->
  forall ks, (exists n, sum ps ks = n * modulus) /\ (exists n, sum qs ks = n * modulus).
Proof.
  intros usable ps. induction ps as [|p ps divisible]; intros [|q qs]; simpl; intros lengths none ks;
    [split; exists 0; trivial|discriminate|discriminate|].
  unfold indivisible in none at 1.
  destruct (p mod modulus =? 0) eqn:p_zero; [|discriminate].
  destruct (q mod modulus =? 0) eqn:q_zero; [|discriminate]. simpl in none.
  apply N.eqb_eq, N.mod_divide in p_zero, q_zero; trivial.
  destruct p_zero as [i p_is], q_zero as [j q_is].
  destruct ks as [|k ks]; [split; exists 0; trivial|].
  destruct (first_place (indivisible modulus) ps qs) eqn:rest; [discriminate|].
  destruct (divisible qs) with (ks := ks) as [[m ps_is] [n qs_is]]; [congruence|trivial|].
  split; [exists (i * k + m); rewrite p_is, ps_is|exists (j * k + n); rewrite q_is, qs_is]; ring.
Qed.

Lemma sum_zero (ps : list N) : first_place nonzero ps ps = None -> forall ks, sum ps ks = 0.
Proof.
  induction ps as [|p ps zero]; simpl; intros none [|k ks]; trivial.
  unfold nonzero in none at 1. destruct (p =? 0) eqn:p_zero; [|discriminate].
  apply N.eqb_eq in p_zero. destruct (first_place nonzero ps ps); [discriminate|].
  rewrite p_zero, zero; trivial.
Qed.

Lemma product_sound (modulus : N) (rules : list (list affine)) (f g h : form) : modulus <> 0 ->
  length (coefficients f) = length (coefficients g) -> form_of_product modulus rules f g = Found h ->
  length (coefficients h) = length (coefficients f) /\
  forall ks, meaning h ks = product modulus rules (meaning f ks) (meaning g ks).
Proof.
  unfold form_of_product, product, meaning. intros usable lengths found.
  destruct (first_place (indivisible modulus) (coefficients f) (coefficients g)) eqn:divisible; [discriminate|].
  set (r := rule_for modulus rules (constant f) (constant g)) in *.
  assert (same_rule : forall ks, rule_for modulus rules (constant f + sum (coefficients f) ks)
                                   (constant g + sum (coefficients g) ks) = r).
  { intro ks. destruct (sum_divisible modulus usable _ _ lengths divisible ks) as [[m f_is] [n g_is]].
    unfold r, rule_for. rewrite f_is, g_is, !N.mod_add; trivial. }
  destruct (down r <=? factor_x r * constant f + factor_y r * constant g + up r) eqn:compared.
  - injection found as found. rewrite <- found. simpl.
    split; [exact (combined_length r _ _ lengths)|]. intro ks.
    rewrite same_rule, (sum_combined r _ _ lengths). unfold applied. apply N.leb_le in compared. lia.
  - destruct (first_place nonzero (combined r (coefficients f) (coefficients g))) eqn:none; [discriminate|].
    injection found as found. rewrite <- found. simpl.
    split; [exact (combined_length r _ _ lengths)|]. intro ks.
    pose proof (sum_zero _ none ks) as zero. rewrite same_rule, zero. rewrite (sum_combined r _ _ lengths) in zero.
    unfold applied. apply N.leb_gt in compared. lia.
Qed.

Lemma form_sound (modulus : N) (rules : list (list affine)) (c : cell) (t : term) : modulus <> 0 ->
  forall f, form_of modulus rules c t = Found f ->
  length (coefficients f) = length c /\
  forall assigned ks, (forall variable, assigned variable = meaning (form_of_variable c variable) ks) ->
  value (product modulus rules) assigned t = meaning f ks.
Proof.
  intro usable. induction t as [variable|t t_sound u u_sound]; simpl; intros f found.
  - injection found as found. rewrite <- found. split; [apply variable_length|]. auto.
  - destruct (form_of modulus rules c t) as [g| |]; try discriminate.
    destruct (form_of modulus rules c u) as [h| |]; try discriminate.
    destruct (t_sound g eq_refl) as [g_length g_value], (u_sound h eq_refl) as [h_length h_value].
    destruct (product_sound modulus rules g h f usable) as [f_length f_value]; [congruence|exact found|].
    split; [congruence|]. intros assigned ks is. rewrite (g_value _ _ is), (h_value _ _ is). symmetry. apply f_value.
Qed.

Lemma same_numbers_sound (ps : list N) : forall qs, same_numbers ps qs = true -> ps = qs.
Proof.
  induction ps as [|p ps sound]; intros [|q qs]; simpl; intro same; try discriminate; trivial.
  destruct (p =? q) eqn:equal; [|discriminate]. apply N.eqb_eq in equal. rewrite equal, (sound qs same). trivial.
Qed.

Lemma same_form_sound (f g : form) : same_form f g = true -> f = g.
Proof.
  destruct f as [p ps], g as [q qs]. unfold same_form. simpl. intro same.
  destruct (p =? q) eqn:equal; [|discriminate]. apply N.eqb_eq in equal.
  rewrite equal, (same_numbers_sound ps qs same). trivial.
Qed.

(* Cells hold what they say, and splits lose nothing. *)

Lemma inside (v : list N) (c : cell) : Forall2 member v c ->
  exists ks, forall variable, entry 0 v variable = meaning (form_of_variable c variable) ks.
Proof.
  induction 1 as [|n p v c [k n_is] _ [ks v_is]]; [exists nil; intros []; trivial|].
  exists (cons k ks). intros [|variable]; unfold meaning; simpl.
  - rewrite sum_zeros, n_is. lia.
  - rewrite v_is. unfold meaning. lia.
Qed.

Definition complete (split : progression -> list progression) : Prop :=
  forall p n, member n p -> exists q, In q (split p) /\ member n q.

Lemma parts_complete (split : progression -> list progression) : complete split ->
  forall v c, Forall2 member v c -> forall variable, exists d, In d (parts c variable split) /\ Forall2 member v d.
Proof.
  intros split_complete v c v_inside variable.
  assert (exists q, In q (split (entry (From 0 1) c variable)) /\ Forall2 member v (replaced c variable q))
    as [q [q_part v_there]].
  { revert variable. induction v_inside as [|n p v c n_inside v_inside there]; intro variable.
    - destruct (split_complete (From 0 1) 0) as [q [q_part _]]; [exists 0; trivial|].
      exists q. destruct variable; simpl; auto.
    - destruct variable as [|variable]; simpl.
      + destruct (split_complete p n n_inside) as [q [q_part n_there]]. exists q. auto.
      + destruct (there variable) as [q [q_part v_there]]. exists q. auto. }
  exists (replaced c variable q). split; [apply in_map; exact q_part|exact v_there].
Qed.

Lemma residue_classes_complete (modulus : N) : modulus <> 0 -> complete (residue_classes modulus).
Proof.
  intros usable p n [k n_is]. exists (From (low p + pace p * (k mod modulus)) (pace p * modulus)). split.
  - apply in_map_iff. exists (N.to_nat (k mod modulus)). rewrite N2Nat.id. split; [trivial|].
    apply in_seq. generalize (N.mod_lt k modulus usable). generalize (k mod modulus). intros; lia.
  - exists (k / modulus). simpl. rewrite n_is. rewrite (N.div_mod k modulus usable) at 1. ring.
Qed.

Lemma first_and_rest_complete : complete first_and_rest.
Proof.
  intros p n [k n_is]. destruct (N.zero_or_succ k) as [zero|[j next]].
  - exists (From (low p) 0). split; [simpl; auto|]. exists 0. simpl. lia.
  - exists (From (low p + pace p) (pace p)). split; [simpl; auto|]. exists j. simpl. lia.
Qed.

Lemma opened_complete (modulus : N) (open : outcome) : modulus <> 0 ->
  forall v c, Forall2 member v c -> exists d, In d (opened modulus c open) /\ Forall2 member v d.
Proof.
  intros usable v c v_inside. destruct open as [f|variable|variable].
  - exists c. simpl. auto.
  - apply parts_complete; [apply residue_classes_complete|]; trivial.
  - apply parts_complete; [apply first_and_rest_complete|]; trivial.
Qed.

Section Decision.

Variables (modulus : N) (rules : list (list affine)) (lhs rhs : term).
Hypothesis usable : modulus <> 0.

Definition holds_in (c : cell) : Prop := forall v, Forall2 member v c ->
  value (product modulus rules) (entry 0 v) lhs = value (product modulus rules) (entry 0 v) rhs.

Definition claimed (waiting : option (list cell)) : Prop :=
  match waiting with Some cells => Forall holds_in cells | None => False end.

Lemma opened_claimed (c : cell) (open : outcome) (rest : list cell) :
  Forall holds_in (opened modulus c open ++ rest) -> Forall holds_in (cons c rest).
Proof.
  intro all. apply Forall_app in all. destruct all as [parts_hold rest_hold]. constructor; [|exact rest_hold].
  intros v v_inside. destruct (opened_complete modulus open usable v c v_inside) as [d [d_part v_there]].
  rewrite Forall_forall in parts_hold. exact (parts_hold d d_part v v_there).
Qed.

Lemma advanced_sound (waiting : option (list cell)) :
  claimed (advanced modulus rules lhs rhs waiting) -> claimed waiting.
Proof.
  destruct waiting as [[|c rest]|]; unfold advanced, claimed; trivial.
  destruct (form_of modulus rules c lhs) as [f| |] eqn:lhs_form; [|apply opened_claimed|apply opened_claimed].
  destruct (form_of modulus rules c rhs) as [g| |] eqn:rhs_form; [|apply opened_claimed|apply opened_claimed].
  destruct (same_form f g) eqn:same; [|intros []]. intro all. constructor; [|exact all].
  intros v v_inside. destruct (inside v c v_inside) as [ks assigned].
  destruct (form_sound modulus rules c lhs usable f lhs_form) as [_ lhs_value].
  destruct (form_sound modulus rules c rhs usable g rhs_form) as [_ rhs_value].
  rewrite (lhs_value _ _ assigned), (rhs_value _ _ assigned), (same_form_sound f g same). trivial.
Qed.

Lemma repeated_sound (rounds : nat) : forall waiting,
  claimed (repeated rounds modulus rules lhs rhs waiting) -> claimed waiting.
Proof.
  induction rounds as [|rounds sound]; intros waiting all; [exact (advanced_sound waiting all)|].
  apply sound. simpl in all.
  destruct (repeated rounds modulus rules lhs rhs waiting) as [[|c rest]|]; trivial. exact (sound _ all).
Qed.

End Decision.

Lemma all_members (v : list N) : Forall2 member v (repeat (From 0 1) (length v)).
Proof. induction v as [|n v all]; simpl; [constructor|]. constructor; [exists n; cbn [low pace]; lia|exact all]. Qed.

Lemma value_ext {G : Type} (op same : G -> G -> G) (equal : forall x y, op x y = same x y)
    (assigned : nat -> G) (t : term) : value op assigned t = value same assigned t.
Proof. induction t as [|t t_equal u u_equal]; simpl; [|rewrite t_equal, u_equal, equal]; trivial. Qed.

(* A decided law holds for all numbers, in every operation that equals the product. *)
Definition decided_sound_statement : Prop :=
  forall (modulus : N) (rules : list (list affine)) (variables : nat) (lhs rhs : term),
  decided modulus rules variables lhs rhs = Holds ->
  forall op : N -> N -> N, (forall x y, op x y = product modulus rules x y) ->
  forall v : list N, length v = variables -> value op (entry 0 v) lhs = value op (entry 0 v) rhs.

Theorem decided_sound : decided_sound_statement.
Proof.
  intros modulus rules variables lhs rhs holds op equal v lengths.
  rewrite !(value_ext op (product modulus rules) equal). unfold decided in holds.
  destruct (modulus =? 0) eqn:zero; [discriminate|]. apply N.eqb_neq in zero.
  assert (all : claimed modulus rules lhs rhs (Some (cons (repeat (From 0 1) variables) nil))).
  { apply (repeated_sound _ _ _ _ zero 17).
    destruct (repeated 17 _ _ _ _ _) as [[|]|]; [constructor|discriminate|discriminate]. }
  simpl in all. apply Forall_inv in all. apply all. rewrite <- lengths. apply all_members.
Qed.

Lemma same_positive (p : positive) : Pos.eqb p p = true.
Proof. induction p; simpl; trivial. Qed.

Definition unequal_numbers {x y : N} (different : N.eqb x y = false) (equal : x = y) : False.
Proof.
  rewrite equal in different. destruct y as [|p]; simpl in different; [discriminate|].
  rewrite same_positive in different. discriminate.
Qed.

Close Scope N_scope.

(* The certificates below take this theorem as a premise; its own assumptions are the same for all of them. *)
Print Assumptions decided_sound.
