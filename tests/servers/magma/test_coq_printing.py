import re

import pytest
from inline_snapshot import snapshot

from ekiden_magma import (
    CayleyTable,
    CertificateError,
    EquationalProof,
    Law,
    Lemma,
    Product,
    Refutation,
    ResidueModel,
    Step,
    Variable,
    parse_law,
)
from ekiden_magma.coq import CoqTask, coq_certificate, coq_file, coq_statement, coq_theory

LEFT = parse_law("x ◇ y = x")
COMMUTES = parse_law("x ◇ y = y ◇ x")
X, Y, Z = map(Variable, "xyz")


def task(certificate: Refutation | EquationalProof) -> CoqTask:
    return CoqTask(certificate.law1, certificate.law2, certificate)


def table_refutation(**assignment: int) -> Refutation:
    return Refutation(LEFT, COMMUTES, CayleyTable.parse("0011"), assignment)


def test_a_table_is_printed_as_an_operation_on_a_type_of_its_order():
    printed = coq_certificate(7, task(table_refutation(x=0, y=1)))
    assert printed == snapshot("""\
Definition op7 (x y : F2) : F2 :=
  match x with
  | e2_0 => match y with e2_0 => e2_0 | e2_1 => e2_0 end
  | e2_1 => match y with e2_0 => e2_1 | e2_1 => e2_1 end
  end.
Definition law7 : forall x y : F2, (op7 x y) = x :=
  let passed :=
    (eq_refl true <: every all2 (fun x => every all2 (fun y => same_number (place2 (op7 x y)) (place2 x))) = true) in
  fun x y => equal_places listed2 (for_all listed2 (for_all listed2 passed x) y).
Definition fails7 : ~ (forall x y : F2, (op7 x y) = (op7 y x)) :=
  fun law => different_places place2
    (eq_refl false <: same_number (place2 (op7 e2_0 e2_1)) (place2 (op7 e2_1 e2_0)) = false)
    (law e2_0 e2_1 : (op7 e2_0 e2_1) = (op7 e2_1 e2_0)).
Definition answer7 : exists (G : Type) (op : G -> G -> G),
  (forall x y : G, (op x y) = x) /\\ ~ (forall x y : G, (op x y) = (op y x)) :=
  @ex_intro Type _ F2 (ex_intro _ op7 (conj law7 fails7)).
Print Assumptions answer7.
""")


def test_the_type_of_an_order_is_printed_once_for_all_tables():
    refutation = table_refutation(x=0, y=1)
    theory = coq_theory([refutation, refutation])
    assert theory[theory.index("Inductive F2") :] == snapshot("""\
Inductive F2 : Set := e2_0 | e2_1.
Definition all2 : list F2 := (cons e2_0 (cons e2_1 nil)).
Definition place2 (x : F2) : nat :=
  match x with
  | e2_0 => 0
  | e2_1 => 1
  end.
Definition listed2 (x : F2) : element_at all2 (place2 x) = Some x :=
  match x with
  | e2_0 => eq_refl
  | e2_1 => eq_refl
  end.
""")


def test_a_model_is_printed_as_rules_for_the_verified_decision():
    model = ResidueModel.from_value("left-parity-walk")
    printed = coq_certificate(0, task(Refutation(parse_law("x = y ◇ (y ◇ x)"), LEFT, model, {"x": 0, "y": 3})))
    assert printed == snapshot("""\
Definition rules0 : list (list affine) :=
  [[Affine 0 1 1 0; Affine 0 1 1 0]; [Affine 0 1 0 1; Affine 0 1 0 1]].
Definition op0 (x y : N) : N := product 2 rules0 x y.
Eval vm_compute in decided 2 rules0 2 (V 0) (P (V 1) (P (V 1) (V 0))).
Definition done0 : decided 2 rules0 2 (V 0) (P (V 1) (P (V 1) (V 0))) = Holds :=
  (eq_refl Holds <: decided 2 rules0 2 (V 0) (P (V 1) (P (V 1) (V 0))) = Holds).
Definition law0 (sound : decided_sound_statement)
    (op : N -> N -> N) (equal : forall x y : N, op x y = product 2 rules0 x y) :
    forall x y : N, x = (op y (op y x)) :=
  fun x y => sound _ _ _ _ _ done0 op equal [x; y] eq_refl.
Definition fails0 : ~ (forall x y : N, (op0 x y) = x) :=
  fun law => unequal_numbers (eq_refl false <: N.eqb (op0 0%N 3%N) 0%N = false)
    (law 0%N 3%N : (op0 0%N 3%N) = 0%N).
Definition given0 (sound : decided_sound_statement) : exists (G : Type) (op : G -> G -> G),
  (forall x y : G, x = (op y (op y x))) /\\ ~ (forall x y : G, (op x y) = x) :=
  @ex_intro Type _ N (ex_intro _ op0 (conj (law0 sound op0 (fun x y => eq_refl)) fails0)).
Definition answer0 : exists (G : Type) (op : G -> G -> G),
  (forall x y : G, x = (op y (op y x))) /\\ ~ (forall x y : G, (op x y) = x) :=
  given0 decided_sound.
Print Assumptions given0.
""")


def test_a_proof_is_printed_as_steps_for_the_verified_checker():
    law2 = parse_law("a ◇ (b ◇ c) = (c ◇ b) ◇ a")
    a, b, c = map(Variable, "abc")
    lemma = Lemma(parse_law("u ◇ v = v ◇ u"), (Step(0, (Variable("u"), Variable("v"))),))
    proof = EquationalProof(
        COMMUTES, law2, (Step(1, (a, Product(b, c))), Step(0, (c, b), path="l", reverse=True)), (lemma,)
    )
    assert coq_certificate(3, task(proof)) == snapshot("""\
Definition premise3 : rule := Rule 2 (P (V 0) (V 1)) (P (V 1) (V 0)).
Definition goal3 : rule := Rule 3 (P (V 0) (P (V 1) (V 2))) (P (P (V 2) (V 1)) (V 0)).
Definition lemmas3 : list (rule * list step) :=
  [(Rule 2 (P (V 0) (V 1)) (P (V 1) (V 0)), [Step 0 [(V 0); (V 1)] nil Forward])].
Definition steps3 : list step :=
  [Step 1 [(V 0); (P (V 1) (V 2))] nil Forward;
   Step 0 [(V 2); (V 1)] [L] Backward].
Definition done3 : proves_all [premise3] lemmas3 goal3 steps3 = true :=
  (eq_refl true <: proves_all [premise3] lemmas3 goal3 steps3 = true).
Definition answer3 : forall (G : Type) (op : G -> G -> G),
  (forall x y : G, (op x y) = (op y x)) -> forall a b c : G, (op a (op b c)) = (op (op c b) a) :=
  fun G op law a b c => proved_by done3 op (fun v : nat -> G => law (v 0) (v 1)) (entry a [a; b; c]).
Print Assumptions answer3.
""")


def test_the_statement_is_that_of_the_problem_and_not_of_the_certificate():
    other = parse_law("(z ◇ z) ◇ y = z")
    printed = coq_certificate(0, CoqTask(other, COMMUTES, table_refutation(x=0, y=1)))
    assert coq_statement(other, COMMUTES, implied=False) in printed
    assert coq_statement(LEFT, COMMUTES, implied=False) not in printed


def test_both_statements_speak_of_all_magmas_of_any_type():
    statements = [coq_statement(LEFT, COMMUTES, implied=implied) for implied in (True, False)]
    assert statements == snapshot(
        [
            """\
forall (G : Type) (op : G -> G -> G),
  (forall x y : G, (op x y) = x) -> forall x y : G, (op x y) = (op y x)\
""",
            """\
exists (G : Type) (op : G -> G -> G),
  (forall x y : G, (op x y) = x) /\\ ~ (forall x y : G, (op x y) = (op y x))\
""",
        ]
    )


def test_a_wrong_certificate_is_printed_as_it_is():
    wrong = EquationalProof(LEFT, COMMUTES, (Step(9, (Variable("q"),), path="llr"),))
    assert "Step 9 [(V 2)] [L; L; R] Forward" in coq_certificate(0, task(wrong))


@pytest.mark.parametrize("assignment", [{}, {"x": 0}, {"x": 0, "y": 0, "z": 0}, {"x": 0, "y": 2}])
def test_an_assignment_that_gives_no_element_to_each_variable_cannot_be_printed(assignment: dict[str, int]):
    with pytest.raises(CertificateError, match=r"assignment is for|needs a value in"):
        coq_certificate(0, task(table_refutation(**assignment)))


@pytest.mark.parametrize("name", ["", "xy", "X", "é", "x). Axiom a : False. Check (a", "1"])
def test_nothing_but_a_lower_case_letter_is_printed_for_a_variable(name: str):
    law = Law(Variable(name), X)
    with pytest.raises(CertificateError, match="single lower-case letters"):
        coq_statement(law, COMMUTES, implied=True)


def test_a_file_holds_only_the_theory_that_its_certificates_need():
    finite = coq_file([task(table_refutation(x=0, y=1))])
    proof = coq_file([task(EquationalProof(LEFT, LEFT, (Step(0, (X, Y)),)))])
    assert "Inductive F2" in finite
    assert "Require" not in finite + proof
    assert "Inductive term" in proof
    assert "Inductive term" not in finite


def test_certificates_of_a_file_share_no_name():
    text = coq_file([task(table_refutation(x=0, y=1))] * 3)
    names = re.findall(r"^(?:Definition|Inductive|Fixpoint|Lemma) (\w+)", text, re.MULTILINE)
    assert len(names) == len(set(names))
    assert [f"answer{k}" in names for k in range(4)] == [True, True, True, False]


def test_terms_far_deeper_than_pythons_stack_are_printed():
    deep = X
    for _ in range(5000):
        deep = Product(deep, Y)
    steps = (Step(0, (deep, Y)),)
    assert coq_certificate(0, task(EquationalProof(LEFT, LEFT, steps))).count("(P ") > 5000
