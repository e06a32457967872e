"""Certificates: the checker, the JSON form, and chains written down as proofs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from ekiden_magma import (
    CayleyTable,
    Certificate,
    CertificateError,
    EquationalProof,
    Law,
    Lemma,
    MagmaError,
    Product,
    Refutation,
    ResidueModel,
    Step,
    Term,
    Variable,
    check,
    from_json,
    named_models,
    parse_law,
    parse_term,
    steps_along,
    to_json,
)
from ekiden_magma.errors import CertificateLimitError
from servers.magma.strategies import holds_in, laws, models, proofs, sides, tables

COMMUTATIVE = parse_law("x ◇ y = y ◇ x")
SWAP = Step(0, (Variable("x"), Variable("y")))


def accepts(certificate: Certificate) -> bool:
    try:
        check(certificate)
    except CertificateError:
        return False
    return True


def refusal(certificate: Certificate) -> str:
    with pytest.raises(CertificateError) as caught:
        check(certificate)
    return str(caught.value)


@given(laws(), laws(), tables(1, 3), st.lists(st.integers(0, 2), min_size=3, max_size=3))
@settings(deadline=None)
def test_a_refutation_by_a_table_is_accepted_exactly_if_brute_force_agrees(
    law1: Law, law2: Law, table: CayleyTable, values: list[int]
):
    assignment = {name: value % table.order for name, value in zip(law2.variables, values, strict=False)}
    left, right = sides(law2, lambda x, y: table.rows[x][y], assignment)
    assert accepts(Refutation(law1, law2, table, assignment)) == (holds_in(law1, table) and left != right)


@given(laws(), laws(), models(), st.lists(st.integers(0, 5), min_size=3, max_size=3))
@settings(deadline=None)
def test_a_refutation_by_an_infinite_model_needs_law_1_and_a_failing_assignment(
    law1: Law, law2: Law, model: ResidueModel, values: list[int]
):
    assignment = dict(zip(law2.variables, values, strict=False))
    left, right = sides(law2, model.product, assignment)
    assert accepts(Refutation(law1, law2, model, assignment)) == (model.satisfies(law1) and left != right)


@given(proofs(), tables(1, 3))
@settings(deadline=None)
def test_a_proof_by_random_rewriting_is_accepted_and_its_laws_follow(proof: EquationalProof, table: CayleyTable):
    check(proof)
    if table.satisfies(proof.law1):
        assert table.satisfies(proof.law2)
        assert all(table.satisfies(lemma.law) for lemma in proof.lemmas)


@st.composite
def damaged_proofs(draw: st.DrawFn) -> EquationalProof:
    """A proof of which one thing was changed; it may still be right."""
    proof = draw(proofs())
    if not proof.steps:
        return replace(proof, law2=draw(laws()))
    place = draw(st.integers(0, len(proof.steps) - 1))
    step = proof.steps[place]
    changes = [
        replace(step, reverse=not step.reverse),
        replace(step, path=step.path[:-1]),
        replace(step, path=step.path + draw(st.sampled_from("lr"))),
        replace(step, rule=draw(st.integers(-1, 3))),
        replace(step, arguments=step.arguments[1:]),
        replace(step, arguments=tuple(Product(term, term) for term in step.arguments)),
        replace(step, arguments=step.arguments[::-1]),
    ]
    steps = (*proof.steps[:place], draw(st.sampled_from(changes)), *proof.steps[place + 1 :])
    return draw(st.sampled_from([replace(proof, steps=steps), replace(proof, law2=proof.law2.swapped())]))


@given(damaged_proofs(), tables(1, 2))
@settings(deadline=None, max_examples=200)
def test_a_damaged_proof_is_refused_wherever_its_conclusion_fails(proof: EquationalProof, table: CayleyTable):
    if table.satisfies(proof.law1) and not table.satisfies(proof.law2):
        assert not accepts(proof)


def proof_of(law2: str, *steps: Step, lemmas: tuple[Lemma, ...] = ()) -> EquationalProof:
    return EquationalProof(COMMUTATIVE, parse_law(law2), steps, lemmas)


@pytest.mark.parametrize(
    ("proof", "message"),
    [
        (
            proof_of("x ◇ (y ◇ z) = (y ◇ z) ◇ x", SWAP),
            "Step 1 for law 2 expects 'x ◇ y' at '' (law 1, left side), but finds 'x ◇ (y ◇ z)' there.",
        ),
        (
            proof_of("x ◇ y = y ◇ y", SWAP),
            "The 1 steps for law 2 lead from its left side to 'y ◇ x', not to its right side 'y ◇ y'.",
        ),
        (
            proof_of("x ◇ y = y ◇ x", replace(SWAP, path="lr")),
            "Step 1 for law 2 has the path 'lr', but 'l' leads to a variable.",
        ),
        (
            proof_of("x ◇ y = y ◇ x", replace(SWAP, path="lx")),
            "Step 1 for law 2 has the path 'lx'; a path is a word of the letters l and r.",
        ),
        (
            proof_of("x ◇ y = y ◇ x", replace(SWAP, path="x")),
            "Step 1 for law 2 has the path 'x'; a path is a word of the letters l and r.",
        ),
        (
            proof_of("x ◇ y = y ◇ x", replace(SWAP, rule=1)),
            "Step 1 for law 2 uses rule 1; only rules 0..0 are known here.",
        ),
        (
            proof_of("x ◇ y = y ◇ x", replace(SWAP, arguments=(Variable("x"),))),
            "Step 1 for law 2 gives 1 terms to law 1, which has 2 variables: x, y.",
        ),
        (
            proof_of("x ◇ y = y ◇ x", replace(SWAP, arguments=(Variable("x"), Variable("z")))),
            "Step 1 for law 2 uses the variable 'z'; only x, y are known here.",
        ),
        (
            proof_of("x ◇ y = y ◇ x", Step(1, SWAP.arguments), lemmas=(Lemma(COMMUTATIVE, ()),)),
            "The 0 steps for lemma 1 lead from its left side to 'x ◇ y', not to its right side 'y ◇ x'.",
        ),
        (
            proof_of("x ◇ y = y ◇ x", SWAP, lemmas=(Lemma(COMMUTATIVE, (replace(SWAP, rule=1),)),)),
            "Step 1 for lemma 1 uses rule 1; only rules 0..0 are known here.",
        ),
        (
            proof_of("x ◇ y = y ◇ x", replace(SWAP, arguments=(Variable("hole"), Variable("x")))),
            "Step 1 for law 2 names a variable 'hole'; variables are single lower-case letters.",
        ),
    ],
)
def test_a_refused_proof_names_the_step_and_what_it_found(proof: EquationalProof, message: str):
    assert refusal(proof) == message


def test_a_refused_refutation_says_what_holds_and_what_fails():
    xor = CayleyTable.parse("0110")
    law2 = parse_law("x = y")
    assert [
        refusal(Refutation(COMMUTATIVE, law2, xor, {"x": 1, "y": 1})),
        refusal(Refutation(COMMUTATIVE, law2, xor, {"x": 1})),
        refusal(Refutation(COMMUTATIVE, law2, xor, {"x": 1, "y": 2})),
        refusal(Refutation(parse_law("x ◇ x = x"), law2, xor, {"x": 1, "y": 0})),
        refusal(Refutation(COMMUTATIVE, law2, named_models()["left-successor"], {"x": 1, "y": 0})),
    ] == snapshot(
        [
            "Law 2 holds under {'x': 1, 'y': 1}: both sides are 1.",
            "The assignment is for ['x'], but the variables of law 2 are x, y.",
            "The assignment does not fit the model: The variable 'y' is 2; it needs a value in 0..1.",
            "Law 1 fails in the model: under {'x': 1} its sides are 0 and 1.",
            "Law 1 fails in the model: under {'x': 0, 'y': 1} its sides are 1 and 2.",
        ]
    )


def test_what_is_too_large_to_check_is_told_from_what_is_wrong():
    order = 65
    constant = CayleyTable(((0,) * order,) * order)
    wide = parse_law("(x ◇ y) ◇ (z ◇ (w ◇ (u ◇ v))) = (x ◇ z) ◇ (y ◇ (w ◇ (u ◇ v)))")
    doubling = parse_law("x = x ◇ x")
    term: Term = Variable("x")
    growing: list[Step] = []
    for _ in range(12):
        growing.append(Step(0, (term,)))
        term = Product(term, term)
    far = ResidueModel.uniform(1, 0, -900_000)
    too_large: list[Certificate] = [
        Refutation(wide, parse_law("x = y"), constant, {"x": 0, "y": 1}),
        Refutation(parse_law("x ◇ y = (x ◇ z) ◇ w"), parse_law("x = y"), far, {"x": 0, "y": 1}),
        EquationalProof(doubling, Law(Variable("x"), term), tuple(growing)),
        EquationalProof(COMMUTATIVE, COMMUTATIVE, (SWAP,) * 10_001),
    ]
    for certificate in too_large:
        with pytest.raises(CertificateLimitError):
            check(certificate)


def test_a_chain_of_terms_becomes_steps_with_places_and_directions():
    chain = [parse_term(text) for text in ("x ◇ (y ◇ z)", "x ◇ (z ◇ y)", "(z ◇ y) ◇ x")]
    steps = steps_along([COMMUTATIVE], chain, [(0, _two("z", "y")), (0, _two("x", "z ◇ y"))])
    proof = EquationalProof(COMMUTATIVE, Law(chain[0], chain[-1]), steps)
    check(proof)
    assert [(step.path, step.reverse) for step in steps] == [("r", True), ("", False)]
    with pytest.raises(MagmaError, match="Step 2 of the chain is not one rewriting by the given instance of rule 0"):
        steps_along([COMMUTATIVE], chain, [(0, _two("z", "y")), (0, _two("x", "y"))])
    with pytest.raises(MagmaError, match="A chain of 1 instances has 2 terms; found 3"):
        steps_along([COMMUTATIVE], chain, [(0, _two("z", "y"))])


def _two(left: str, right: str) -> tuple[Term, ...]:
    return parse_term(left), parse_term(right)


@given(proofs())
@settings(deadline=None)
def test_a_proof_reads_back_from_json(proof: EquationalProof):
    assert from_json(to_json(proof), proof.law1, proof.law2) == proof


@given(laws(), laws(), tables(1, 12) | models(), st.dictionaries(st.sampled_from("xyz"), st.integers(0, 99)))
@settings(deadline=None)
def test_a_refutation_reads_back_from_json(
    law1: Law, law2: Law, model: CayleyTable | ResidueModel, assignment: dict[str, int]
):
    refutation = Refutation(law1, law2, model, assignment)
    assert from_json(to_json(refutation), law1, law2) == refutation


def test_the_json_forms():
    lemma = Lemma(COMMUTATIVE, (SWAP,))
    proof = proof_of("z ◇ (x ◇ y) = z ◇ (y ◇ x)", Step(1, _two("y", "x"), "r", reverse=True), lemmas=(lemma,))
    refutation = Refutation(COMMUTATIVE, parse_law("x = y"), CayleyTable.parse("0110"), {"x": 0, "y": 1})
    infinite = replace(refutation, model=named_models()["sum"])
    assert [json.loads(to_json(certificate)) for certificate in (proof, refutation, infinite)] == snapshot(
        [
            {
                "certificate": "proof",
                "version": 1,
                "law1": "x ◇ y = y ◇ x",
                "law2": "z ◇ (x ◇ y) = z ◇ (y ◇ x)",
                "lemmas": [{"law": "x ◇ y = y ◇ x", "steps": [{"rule": 0, "terms": ["x", "y"]}]}],
                "steps": [{"rule": 1, "terms": ["y", "x"], "at": "r", "reverse": True}],
            },
            {
                "certificate": "refutation",
                "version": 1,
                "law1": "x ◇ y = y ◇ x",
                "law2": "x = y",
                "table": [[0, 1], [1, 0]],
                "assignment": {"x": 0, "y": 1},
            },
            {
                "certificate": "refutation",
                "version": 1,
                "law1": "x ◇ y = y ◇ x",
                "law2": "x = y",
                "model": {"modulus": 1, "rules": [[1, 1, 0]]},
                "assignment": {"x": 0, "y": 1},
            },
        ]
    )


GOOD: dict[str, Any] = {
    "certificate": "refutation",
    "version": 1,
    "table": [[0, 1], [1, 0]],
    "assignment": {"x": 0, "y": 1},
}
PROOF: dict[str, Any] = {
    "certificate": "proof",
    "version": 1,
    "steps": [{"rule": 0, "terms": ["x", "y"]}],
}


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in GOOD.items() if name != key}


def step(**changes: object) -> dict[str, Any]:
    return PROOF | {"steps": [PROOF["steps"][0] | changes]}


NO_CERTIFICATES: list[tuple[object, str]] = [
    ([], 'A certificate is a JSON object with "certificate": "refutation" or "proof".'),
    ({"certificate": ["proof"]}, 'A certificate is a JSON object with "certificate": "refutation" or "proof".'),
    (without("version"), "The key 'version' is missing in the certificate."),
    (GOOD | {"version": True}, "The certificate has version True; this program reads 1."),
    (GOOD | {"version": 2}, "The certificate has version 2; this program reads 1."),
    (GOOD | {"steps": []}, "Unknown key 'steps' in the certificate;"),
    (GOOD | {"model": "sum"}, "A refutation has either a 'table' or a 'model'."),
    (without("table"), "A refutation has either a 'table' or a 'model'."),
    (GOOD | {"table": [0, 1, 1, 0]}, "The table must be a list of rows such as [[0,1],[1,0]]."),
    (GOOD | {"table": [[0, False], [1, 0]]}, "In the refutation: The product 0 ◇ 1 is False;"),
    (GOOD | {"table": [[0]] * 300}, "The table has 300 rows; orders up to 256 are read."),
    (without("table") | {"model": "moon"}, "In the refutation: No model is named 'moon';"),
    (GOOD | {"assignment": []}, "Expected an object such as {'x': 0} for the assignment, found []."),
    (GOOD | {"assignment": {"x": True}}, "The assignment gives 'x' the value True; it needs a natural number."),
    (GOOD | {"assignment": {"\ud800": -1}}, "The assignment gives '\\ud800' the value -1;"),
    (GOOD | {"law1": "x = y"}, "The certificate is about law1 'x = y', not 'x ◇ y = y ◇ x'."),
    (GOOD | {"law1": "x ="}, "In law1: Cannot read the law 'x ='"),
    (GOOD | {"law2": 5}, "Expected the text of a law for law2, found 5."),
    (PROOF | {"steps": {}}, "Expected a list for the steps of the proof, found {}."),
    (PROOF | {"steps": ["x"]}, "Expected a JSON object for step 1 of the proof, found 'x'."),
    (step(rule="0"), "The rule of step 1 of the proof is '0'; it is 0 for law 1 or the number of a lemma."),
    (step(rule=False), "The rule of step 1 of the proof is False;"),
    (step(rule=-1), "The rule of step 1 of the proof is -1;"),
    (step(at="lxr"), "The path of step 1 of the proof is 'lxr'; it is a word of the letters l and r."),
    (step(at=1), "The path of step 1 of the proof is 1;"),
    (step(reverse=1), "The value of 'reverse' in step 1 of the proof is 1; it is true or false."),
    (step(terms="xy"), "Expected a list for the terms of step 1 of the proof, found 'xy'."),
    (step(terms=["x", 3]), "Expected the text of a term in step 1 of the proof, found 3."),
    (step(terms=["x", "\ud800"]), "In step 1 of the proof: Cannot read the law '\\ud800'"),
    (step(terms=["x", "(" * 500]), "In step 1 of the proof: Cannot read the law"),
    (PROOF | {"lemmas": [{"law": "x = x"}]}, "The key 'steps' is missing in lemma 1."),
    (
        PROOF | {"lemmas": [{"law": "x = x", "steps": [1]}]},
        "Expected a JSON object for step 1 of lemma 1, found 1.",
    ),
]


@pytest.mark.parametrize(("value", "message"), NO_CERTIFICATES)
def test_json_that_is_no_certificate_is_refused_by_its_place(value: object, message: str):
    with pytest.raises(CertificateError) as caught:
        from_json(json.dumps(value), COMMUTATIVE, parse_law("x = y"))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "The certificate is not JSON: "),
        ("[" * 200_000, "The certificate is nested too deeply."),
        ('{"a":' * 200_000, "The certificate is nested too deeply."),
        ("9" * 5000, "The certificate holds a number of 5000 digits; at most 30 are read."),
        ("1e999", "The certificate holds the number '1e999'; all its numbers are whole numbers."),
        ("NaN", "The certificate holds the number 'NaN'; all its numbers are whole numbers."),
        ('{"version":1,"version":1}', "The certificate holds the key 'version' twice in one object."),
        (" " * 4_000_001, "The certificate has 4000001 characters; at most 4000000 are read."),
    ],
    ids=["empty", "deep list", "deep object", "digits", "float", "NaN", "double key", "long"],
)
def test_hostile_text_is_a_certificate_error(text: str, message: str):
    with pytest.raises(CertificateError) as caught:
        from_json(text, COMMUTATIVE, COMMUTATIVE)
    assert str(caught.value).startswith(message)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["x", "x ◇ y", "lr"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*GOOD, *PROOF, "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.sampled_from([GOOD, PROOF]), st.dictionaries(st.sampled_from([*GOOD, *PROOF, "lemmas", "model"]), json_values)
)
@settings(deadline=None)
def test_any_json_is_a_certificate_or_a_certificate_error(base: dict[str, Any], changes: dict[str, Any]):
    try:
        certificate = from_json(json.dumps(base | changes), COMMUTATIVE, parse_law("x = y"))
        check(certificate)
    except CertificateError:
        return
    assert isinstance(certificate, Refutation)
