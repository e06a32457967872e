"""The exact checker against brute force, against mutated answers, and against answers made to take for ever."""

import itertools
from collections.abc import Iterator, Sequence
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ekiden_judge import Problem, ProofPolicy, judge_answer
from ekiden_judge.exact import MAX_PRODUCTS, ExactChecker
from ekiden_judge.problem import STANDARD_AXIOMS, TRACK_PREFIXES
from ekiden_judge.verdict import Claim, Verdict
from ekiden_magma import CayleyTable, Law, Product, Term, Variable, named_models, parse_law
from ekiden_magma.certificate import EquationalProof, Refutation, Step, to_json
from ekiden_magma.lean import finite_answer, lean_answer

ORDER_2 = [CayleyTable.from_flat(cells) for cells in itertools.product(range(2), repeat=4)]
LEFT_ZERO = CayleyTable(((0, 0), (1, 1)))


def question(law1: Law | str, law2: Law | str, policy: ProofPolicy | None = None) -> Problem:
    fields = {"id": "q", "eq1_id": 0, "eq2_id": 0, "equation1": str(law1), "equation2": str(law2)}
    return Problem.model_validate(fields | ({"proof_policy": policy} if policy else {}))


def judged(problem: Problem, verdict: Claim, code: str, *, max_products: int = MAX_PRODUCTS) -> Verdict:
    return judge_answer(problem, verdict, code, checker=ExactChecker(max_products))


def terms(letters: str) -> st.SearchStrategy[Term]:
    return st.recursive(
        st.sampled_from([Variable(x) for x in letters]), lambda t: st.builds(Product, t, t), max_leaves=5
    )


laws = st.builds(Law, terms("xyz"), terms("xyz"))
small_tables = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.integers(0, n - 1), min_size=n * n, max_size=n * n).map(CayleyTable.from_flat)
)


def holds(table: CayleyTable, law: Law) -> bool:
    """Evaluate a law by plain recursion, sharing nothing with the checker."""

    def value(term: Term, at: dict[str, int]) -> int:
        return at[term.name] if isinstance(term, Variable) else table.rows[value(term.left, at)][value(term.right, at)]

    points = itertools.product(range(table.order), repeat=len(law.variables))
    return all(
        value(law.left, at) == value(law.right, at)
        for at in (dict(zip(law.variables, point, strict=True)) for point in points)
    )


@given(laws, laws, small_tables)
def test_a_table_is_accepted_exactly_if_brute_force_agrees(law1: Law, law2: Law, table: CayleyTable):
    verdict = judged(question(law1, law2), "false", finite_answer(table))
    expected = "accepted" if holds(table, law1) and not holds(table, law2) else "incorrect"
    assert (verdict.status, verdict.checker, verdict.certificate) == (expected, "exact", "table")


def consequence(seed: int) -> EquationalProof:
    """Make a law, and a few random rewritings by which it proves another law."""
    random = Random(seed)

    def term(depth: int, letters: Sequence[str]) -> Term:
        if not depth or random.random() < 0.4:
            return Variable(random.choice(letters))
        return Product(term(depth - 1, letters), term(depth - 1, letters))

    law1 = Law(term(2, "xyz"), term(2, "xyz"))
    images = {name: term(1, "xyzw") for name in law1.variables}
    start = here = Product(law1.substitute(images).left, term(1, "xyzw"))
    letters = Law(start, start).variables
    steps: list[Step] = []
    for _ in range(6):
        reverse = random.random() < 0.5
        source, target = (law1.right, law1.left) if reverse else (law1.left, law1.right)
        path, found = random.choice(list(places(here)))
        images = match(source, found, {})
        if images is not None:
            images = {name: images.get(name) or term(1, letters) for name in law1.variables}
            steps.append(Step(0, tuple(images[name] for name in law1.variables), path, reverse))
            here = put(here, path, Law(target, target).substitute(images).left)
    return EquationalProof(law1, Law(start, here), tuple(steps))


def places(term: Term) -> Iterator[tuple[str, Term]]:
    yield "", term
    if isinstance(term, Product):
        yield from (("l" + path, found) for path, found in places(term.left))
        yield from (("r" + path, found) for path, found in places(term.right))


def put(term: Term, path: str, image: Term) -> Term:
    if not path:
        return image
    assert isinstance(term, Product)
    if path[0] == "l":
        return Product(put(term.left, path[1:], image), term.right)
    return Product(term.left, put(term.right, path[1:], image))


def match(pattern: Term, term: Term, images: dict[str, Term]) -> dict[str, Term] | None:
    if isinstance(pattern, Variable):
        return images | {pattern.name: term} if images.get(pattern.name, term) == term else None
    if isinstance(term, Variable):
        return None
    halfway = match(pattern.left, term.left, images)
    return None if halfway is None else match(pattern.right, term.right, halfway)


@given(st.integers())
def test_a_proof_made_of_true_steps_is_accepted(seed: int):
    proof = consequence(seed)
    verdict = judged(question(proof.law1, proof.law2), "true", lean_answer(proof))
    assert (verdict.status, verdict.certificate) == ("accepted", "equational_proof")


@given(st.integers(), laws)
def test_a_proof_of_one_law_is_no_proof_of_a_law_that_does_not_follow(seed: int, other: Law):
    proof = consequence(seed)
    assume(any(holds(table, proof.law1) and not holds(table, other) for table in ORDER_2))
    assert judged(question(proof.law1, other), "true", lean_answer(proof)).status in {"incorrect", "undecided"}


@given(st.integers(), small_tables)
def test_no_table_refutes_what_has_a_proof(seed: int, table: CayleyTable):
    proof = consequence(seed)
    assert judged(question(proof.law1, proof.law2), "false", finite_answer(table)).status == "incorrect"


TRUE = question("x ◇ x = x ◇ y", "x ◇ y = x ◇ z")
TRUE_PROOF = lean_answer(
    EquationalProof(
        TRUE.law1,
        TRUE.law2,
        (Step(0, (Variable("x"), Variable("y")), reverse=True), Step(0, (Variable("x"), Variable("z")))),
    )
)
FALSE = question("x = x ◇ y", "x = y ◇ (x ◇ (y ◇ x))")
FALSE_TABLE = finite_answer(LEFT_ZERO)
alphabet = st.sampled_from(
    [*" \n\t\r.:=()⟨⟩◇[]{},_'\"-/|·∀∃→fun", "h", "x", "y", "0", "1", "2", "exact ", "intro ", "rfl", "Eq."]
)


@given(st.sampled_from([TRUE_PROOF, FALSE_TABLE]), st.data())
@settings(max_examples=300)
def test_no_change_to_a_good_answer_makes_a_wrong_claim_accepted(code: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(code)))
    end = data.draw(st.integers(start, min(len(code), start + 12)))
    changed = code[:start] + "".join(data.draw(st.lists(alphabet, max_size=4))) + code[end:]
    assert judged(FALSE, "true", changed).status != "accepted"
    assert judged(TRUE, "false", changed).status != "accepted"


@given(st.text(max_size=200), st.sampled_from(["true", "false"]))
def test_any_text_is_judged_without_an_exception(code: str, verdict: Claim):
    assert judged(FALSE, verdict, code).status != "accepted"


def test_an_infinite_model_is_accepted_where_it_refutes():
    problem = question("x = y", "x = x")
    model = named_models()["left-successor"]
    law1, law2 = parse_law("x ◇ y = x ◇ z"), parse_law("x ◇ y = x")
    code = lean_answer(Refutation(law1, law2, model, {"x": 0, "y": 0}))
    verdict = judged(question(law1, law2), "false", code)
    assert (verdict.status, verdict.certificate, verdict.message) == (
        "accepted",
        "residue_model",
        "Law 1 holds in an infinite magma on the naturals, and law 2 fails in it at x = 0, y = 0.",
    )
    assert judged(problem, "false", code).status in {"incorrect", "undecided"}


def test_each_variable_of_law_1_is_an_argument_in_order_of_first_appearance():
    swapped = TRUE_PROOF.replace("h x z", "h z x")
    assert swapped != TRUE_PROOF
    assert judged(TRUE, "true", swapped).model_dump(include={"error_code", "message"}) == {
        "error_code": "LEAN_REJECTED",
        "message": "Step 2 for law 2 expects 'z ◇ z' at '' (law 1, left side), but finds 'x ◇ x' there.",
    }


def test_entries_of_two_digits_are_read_as_lean_reads_them_digit_by_digit():
    # In the shape with a string of digits, `[[10,...` is the entries 1, 0, ...; a table of order 11 cannot be told so.
    order = 11
    rows = [[(i + 1) % order for _ in range(order)] for i in range(order)]
    code = finite_answer(LEFT_ZERO).replace("Fin 2", "Fin 11").replace("[[0,0],[1,1]]", str(rows).replace(" ", ""))
    verdict = judged(question("x ◇ y = x ◇ z", "x ◇ y = x"), "false", code)
    assert verdict.status in {"incorrect", "undecided"}


@pytest.mark.parametrize(
    ("law1", "law2"),
    [
        ("(x ◇ y) ◇ (z ◇ (w ◇ (u ◇ v))) = (x ◇ z) ◇ (y ◇ (w ◇ (u ◇ v)))", "x = x ◇ x"),
        ("x ◇ y = z ◇ w", "(x ◇ y) ◇ (z ◇ (w ◇ (u ◇ v))) = (x ◇ z) ◇ (y ◇ (w ◇ (u ◇ v)))"),
    ],
    ids=["law 1 holds for ever", "law 2 holds for ever"],
)
@pytest.mark.timeout(20)
def test_a_table_of_order_65_and_six_variables_does_not_hold_up_the_judge(law1: str, law2: str):
    order = 65
    constant = CayleyTable(((0,) * order,) * order)
    digits = FALSE_TABLE.replace("Fin 2", f"Fin {order}").replace("[[0,0],[1,1]]", constant.to_json())
    asked = question(law1, law2)
    numbers = lean_answer(Refutation(asked.law1, asked.law2, constant, dict.fromkeys(asked.law2.variables, 0)))
    for code in (numbers, digits):
        verdict = judged(asked, "false", code)
        assert (verdict.status, verdict.error_code) == ("undecided", "NEEDS_LEAN")


def test_a_refusal_says_which_law_a_table_breaks_and_which_it_does_not():
    law2 = parse_law("x = x ◇ (y ◇ x)")
    assert [
        judged(question(FALSE.law1, law2), "false", FALSE_TABLE).message,
        judged(FALSE, "false", finite_answer(CayleyTable(((0, 1), (1, 0))))).message,
    ] == [
        "Law 2 holds in the table of order 2 for all values, so nothing is refuted.",
        "Law 1 fails in the model: under {'x': 0, 'y': 1} its sides are 0 and 1.",
    ]


def test_what_takes_more_products_than_allowed_is_undecided_and_says_so():
    assert judged(FALSE, "false", FALSE_TABLE, max_products=3).model_dump(include={"status", "message"}) == {
        "status": "undecided",
        "message": "Checking law 1 in the table of order 2 takes 4 products; at most 3 are computed for one answer.",
    }
    assert judged(FALSE, "false", FALSE_TABLE, max_products=4).status == "accepted"


STRICT = ProofPolicy(allowed_axioms=tuple(STANDARD_AXIOMS), allowed_declarations=("letFun",))
FULL = STRICT.model_copy(update={"allowed_declaration_prefixes": tuple(TRACK_PREFIXES)})
NO_AXIOMS = ProofPolicy()


def test_a_proof_policy_that_only_lean_can_apply_leaves_right_answers_undecided():
    answers = [("true", TRUE_PROOF, TRUE), ("false", FALSE_TABLE, FALSE)]
    policies = {"none": None, "full": FULL, "strict": STRICT, "no axioms": NO_AXIOMS}
    assert {
        name: [
            judged(question(q.law1, q.law2, policy), "true" if claim == "true" else "false", code).status
            for claim, code, q in answers
        ]
        for name, policy in policies.items()
    } == {
        "none": ["accepted", "accepted"],
        "full": ["accepted", "accepted"],
        "strict": ["undecided", "undecided"],
        "no axioms": ["accepted", "undecided"],
    }


def test_a_certificate_in_json_is_decided_and_told_apart_from_lean():
    laws = (parse_law("x ◇ (y ◇ z) = (x ◇ y) ◇ z"), parse_law("x ◇ y = y ◇ x"))
    certificate = Refutation(*laws, LEFT_ZERO, {"x": 0, "y": 1})
    verdict = judged(question(*laws), "false", to_json(certificate))
    assert (verdict.status, verdict.certificate) == ("accepted", "table")
    assert "needs its Lean text" in verdict.message
