"""The Coq checker, with a real Coq where the test says so."""

import json
import shutil
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ekiden_cayley.refuter import Refuter
from ekiden_judge import CheckItem, CheckResult, JudgeInfrastructureError, Problem, ProofPolicy
from ekiden_judge.coq_checker import CoqChecker
from ekiden_judge.coq_session import CoqLimits, CoqSession, find_coq
from ekiden_magma import (
    CayleyTable,
    CertificateError,
    CertificateLimitError,
    EquationalProof,
    Law,
    Lemma,
    Product,
    Refutation,
    ResidueModel,
    Step,
    Term,
    Variable,
    check,
    lean_answer,
    named_models,
    parse_law,
    to_json,
)
from servers.magma.strategies import laws, models, proofs, tables

Certificate = Refutation | EquationalProof

PROBLEMS = Path(__file__).parents[2] / "data" / "problems"
LEFT = parse_law("x ◇ y = x")
COMMUTES = parse_law("x ◇ y = y ◇ x")
SAME_ROWS = parse_law("x ◇ y = x ◇ z")
LEFT_TABLE = CayleyTable(((0, 0, 0), (1, 1, 1), (2, 2, 2)))
X, Y, Z, W = map(Variable, "xyzw")
MIRRORED = parse_law("x ◇ (y ◇ z) = (z ◇ y) ◇ x")
STEPS = (Step(0, (X, Product(Y, Z))), Step(0, (Y, Z), "l"))

needs_coq = pytest.mark.skipif(shutil.which("coqtop") is None, reason="no coqtop here: install Debian's package coq")


def problem(law1: Law, law2: Law, policy: ProofPolicy | None = None) -> Problem:
    record: dict[str, object] = {"id": "p", "eq1_id": 1, "eq2_id": 2, "equation1": str(law1), "equation2": str(law2)}
    return Problem.model_validate(record | ({"proof_policy": policy} if policy else {}))


def item(certificate: Certificate, code: str | None = None, policy: ProofPolicy | None = None) -> CheckItem:
    claim = "true" if isinstance(certificate, EquationalProof) else "false"
    return CheckItem(problem(certificate.law1, certificate.law2, policy), claim, code or to_json(certificate))


def proof(*steps: Step, lemmas: tuple[Lemma, ...] = ()) -> EquationalProof:
    return EquationalProof(COMMUTES, MIRRORED, steps, lemmas)


def table(cells: CayleyTable = LEFT_TABLE, **assignment: int) -> Refutation:
    return Refutation(LEFT, COMMUTES, cells, assignment)


def model(rules: ResidueModel, **assignment: int) -> Refutation:
    return Refutation(SAME_ROWS, LEFT, rules, assignment)


GOOD: dict[str, Certificate] = {
    "proof": proof(*STEPS),
    "proof with lemma": proof(
        Step(1, (X, Product(Y, Z))), Step(0, (Z, Y), "l", reverse=True), lemmas=(Lemma(COMMUTES, (Step(0, (X, Y)),)),)
    ),
    "proof without steps": EquationalProof(COMMUTES, parse_law("x = x"), ()),
    "table": table(x=0, y=2),
    "table of one order more": table(CayleyTable(tuple((k,) * 4 for k in range(4))), x=3, y=1),
    "model": model(ResidueModel.uniform(1, 0, -1), x=2, y=3),
    "model with residues": Refutation(
        parse_law("x ◇ y = ((x ◇ x) ◇ (x ◇ x)) ◇ y"), COMMUTES, named_models()["left-parity-walk"], {"x": 0, "y": 1}
    ),
}

WRONG: dict[str, tuple[Certificate, str]] = {
    "step at another place": (proof(STEPS[0], Step(0, (Y, Z), "r")), "steps lead"),
    "step off the term": (proof(Step(0, (X, Product(Y, Z)), "lll"), STEPS[1]), "steps lead"),
    "step by an unknown lemma": (proof(Step(1, (X, Product(Y, Z))), STEPS[1]), "steps lead"),
    "step with a term too few": (proof(Step(0, (X,)), STEPS[1]), "steps lead"),
    "step with a foreign variable": (proof(Step(0, (X, W)), STEPS[1]), "steps lead"),
    "steps that stop early": (proof(STEPS[0]), "steps lead"),
    "wrong lemma": (proof(*STEPS, lemmas=(Lemma(LEFT, ()),)), "steps lead"),
    "law 2 as its own lemma": (proof(Step(1, (X, Y, Z)), lemmas=(Lemma(MIRRORED, (Step(1, (X, Y, Z)),)),)), "steps"),
    "wrong cell": (table(CayleyTable(((0, 0, 0), (1, 1, 1), (2, 2, 0))), x=0, y=2), "law 1 holds in the table"),
    "values that break nothing": (table(x=2, y=2), "law 2 fails in the table"),
    "value outside the table": (table(x=0, y=3), "needs a value in 0..2"),
    "variable without a value": (table(x=0), "assignment is for"),
    "wrong rule": (model(ResidueModel.uniform(1, 1, -1), x=2, y=3), "law 1 holds in the model"),
    "numbers that break nothing": (model(ResidueModel.uniform(1, 0, -1), x=0, y=3), "law 2 fails in the model"),
}


def accepts(certificate: Certificate) -> bool | None:
    """Ask the built-in checker; None where the certificate is too large for it."""
    try:
        check(certificate)
    except CertificateLimitError:
        return None
    except CertificateError:
        return False
    return True


def checked(*certificates: Certificate, **limits: float) -> list[CheckResult]:
    checker = CoqChecker(limits=CoqLimits(cpu_s=limits.get("cpu_s", 60.0)))
    return checker.check_batch([item(certificate) for certificate in certificates])


@pytest.mark.coq
@needs_coq
def test_every_kind_is_accepted_in_json_and_in_lean():
    in_json = [item(certificate) for certificate in GOOD.values()]
    in_lean = [item(certificate, lean_answer(certificate)) for certificate in GOOD.values()]
    results = CoqChecker().check_batch([*in_json, *in_lean])
    assert [result.error_code for result in results] == ["ACCEPTED"] * len(results)
    assert "without any axiom" in results[0].message


@pytest.mark.coq
@needs_coq
def test_wrong_certificates_are_refused_and_harm_no_other():
    batch: list[Certificate] = []
    for (wrong, _), right in zip(WRONG.values(), list(GOOD.values()) * len(WRONG), strict=False):
        batch += [wrong, right]
    results = checked(*batch)
    for (name, (_, words)), result in zip(WRONG.items(), results[::2], strict=True):
        assert (name, result.error_code) == (name, "LEAN_REJECTED")
        assert words in result.message
    assert {result.error_code for result in results[1::2]} == {"ACCEPTED"}


@pytest.mark.coq
@pytest.mark.timeout(300)
@needs_coq
@settings(
    max_examples=2, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(st.data())
def test_coq_and_the_built_in_checker_agree_on_random_certificates(data: st.DataObject):
    names = st.sampled_from("xyz")
    batch: list[Certificate] = []
    for _ in range(15):
        law1, law2 = data.draw(st.one_of(laws(3), laws(2).map(lambda law: Law(law.left, law.left)))), data.draw(laws(4))
        values = dict.fromkeys(law2.variables, 0) | {
            name: data.draw(st.integers(0, 3)) for name in law2.variables if data.draw(st.booleans())
        }
        batch.append(Refutation(law1, law2, data.draw(tables(2, 4)), values))
        batch.append(Refutation(law1, law2, data.draw(models()), values))
        right = data.draw(proofs())
        batch.append(right)
        if right.steps:
            place = data.draw(st.integers(0, len(right.steps) - 1))
            step = right.steps[place]
            other = Step(step.rule, (Variable(data.draw(names)), *step.arguments[1:]), step.path, step.reverse)
            steps = (*right.steps[:place], other, *right.steps[place + 1 :])
            batch.append(EquationalProof(right.law1, right.law2, steps, right.lemmas))
    expected = [accepts(certificate) for certificate in batch]
    found = [result.error_code for result in checked(*batch)]
    codes = {True: "ACCEPTED", False: "LEAN_REJECTED"}
    assert [
        (to_json(certificate), code, known)
        for certificate, code, known in zip(batch, found, expected, strict=True)
        if known is not None and code != codes[known]
    ] == []
    assert {True, False} <= set(expected)


@pytest.mark.coq
@needs_coq
def test_every_named_model_is_accepted_with_the_laws_it_satisfies():
    texts = ("x ◇ y = x ◇ z", "x ◇ y = z ◇ y", "x ◇ y = y ◇ x", "(x ◇ y) ◇ z = (x ◇ z) ◇ y", "x = x", "x = y")
    pool = [parse_law(text) for text in texts]
    batch: list[Certificate] = []
    for rules in named_models().values():
        for law1, law2 in product(pool, repeat=2):
            if rules.satisfies(law1) and (broken := rules.counterexample(law2)) is not None:
                batch.append(Refutation(law1, law2, rules, broken))
    assert len(batch) > 20
    assert {result.error_code for result in checked(*batch)} == {"ACCEPTED"}


@pytest.mark.coq
@pytest.mark.slow
@pytest.mark.timeout(600)
@needs_coq
def test_all_500_refutations_of_the_normal_problems_are_accepted():
    rows = [json.loads(line) for line in (PROBLEMS / "normal.jsonl").read_text(encoding="utf-8").splitlines()]
    problems = [Problem.read(row) for row in rows if not row["answer"]]
    outcomes = Refuter().refute_batch([(p.law1, p.law2) for p in problems])
    items = [
        CheckItem(p, "false", to_json(outcome.refutation))
        for p, outcome in zip(problems, outcomes, strict=True)
        if outcome.refutation
    ]
    results = CoqChecker().check_batch(items)
    assert [result.error_code for result in results] == ["ACCEPTED"] * 500


@pytest.mark.coq
@needs_coq
def test_a_proof_of_hundreds_of_steps_over_deep_terms_is_accepted():
    start: Term = X
    for k in range(60):
        start = Product(start, (Y, Z)[k % 2])
    steps: list[Step] = []
    for path in ("l" * depth for depth in range(50)):
        one, two = _at(start, path)
        steps += [Step(0, (one, two), path), Step(0, (one, two), path, reverse=True)] * 4
    assert len(steps) == 400
    law2 = Law(start, start)
    assert [result.error_code for result in checked(EquationalProof(COMMUTES, law2, tuple(steps)))] == ["ACCEPTED"]


def _at(term: Term, path: str) -> tuple[Term, Term]:
    for _ in path:
        assert isinstance(term, Product)
        term = term.left
    assert isinstance(term, Product)
    return term.left, term.right


@pytest.mark.coq
@needs_coq
def test_a_certificate_that_takes_too_long_is_undecided_and_the_others_get_another_coq():
    big = CayleyTable(tuple((k,) * 16 for k in range(16)))
    slow = Refutation(parse_law("x ◇ y = (x ◇ z) ◇ (w ◇ u)"), COMMUTES, big, {"x": 0, "y": 1})
    told: list[int] = []
    items = [item(certificate) for certificate in (table(x=0, y=2), slow, table(x=0, y=1), slow, table(x=2, y=1))]
    checker = CoqChecker(limits=CoqLimits(cpu_s=0.05, wall_factor=1000))
    results = checker.check_batch(items, done=lambda place, _: told.append(place))
    assert [(result.error_code, result.repeatable) for result in results] == [
        ("ACCEPTED", True),
        ("NEEDS_LEAN", False),
        ("ACCEPTED", True),
        ("NEEDS_LEAN", False),
        ("ACCEPTED", True),
    ]
    assert results[1].message == "Not decided by Coq: Coq did not end in its time, 0.05 processor seconds."
    assert told == [0, 1, 2, 3, 4]


@pytest.mark.coq
@needs_coq
def test_a_certificate_that_takes_too_much_memory_is_undecided():
    big = CayleyTable(tuple((k,) * 16 for k in range(16)))
    slow = Refutation(parse_law("x ◇ y = (x ◇ z) ◇ (w ◇ u)"), COMMUTES, big, {"x": 0, "y": 1})
    [result] = CoqChecker(limits=CoqLimits(memory_bytes=1)).check_batch([item(slow)])
    assert (result.error_code, result.message) == ("NEEDS_LEAN", "Not decided by Coq: Coq needed more than its memory.")


@pytest.mark.coq
@needs_coq
def test_a_right_certificate_under_a_policy_that_only_lean_can_apply_is_undecided():
    strict = ProofPolicy(allowed_axioms=())
    results = CoqChecker().check_batch([item(table(x=0, y=1), policy=strict), item(proof(*STEPS), policy=strict)])
    assert [result.error_code for result in results] == ["NEEDS_LEAN", "ACCEPTED"]


@pytest.mark.coq
@needs_coq
def test_what_holds_no_certificate_or_the_wrong_one_never_reaches_coq():
    p = problem(LEFT, COMMUTES)
    items = [
        CheckItem(p, "false", "theorem submission : Goal := by simp"),
        CheckItem(p, "true", to_json(table(x=0, y=1))),
        CheckItem(p, "false", '{"certificate": "refutation"}'),
        CheckItem(p, "false", to_json(Refutation(COMMUTES, LEFT, LEFT_TABLE, {"x": 0, "y": 1}))),
    ]
    codes = [result.error_code for result in CoqChecker().check_batch(items)]
    assert codes == ["NEEDS_LEAN", "LEAN_REJECTED", "LEAN_REJECTED", "LEAN_REJECTED"]


@pytest.mark.coq
@needs_coq
def test_a_session_outlives_wrong_sentences_and_reads_no_file_of_others(tmp_path: Path):
    secret = tmp_path / "secret.v"
    secret.write_text("Definition leaked := 1.", encoding="utf-8")
    with CoqSession(find_coq(), CoqLimits()) as session:
        assert "Error" in session.read("Definition a : 0 = 1 := eq_refl.").output
        loaded = session.read(f'Load "{secret}".').output
        written = session.read('Redirect "stolen" Print nat.').output
        assert "0 + 0" in session.read("Check (0 + 0).").output
        if session.enforced.files:
            assert "Error" in loaded
            assert "Error" in written


def test_without_coq_the_message_says_how_to_get_it():
    with pytest.raises(
        JudgeInfrastructureError, match=r"'coqtop-of-nowhere' here: install Coq 8\.16 .*`apt-get install"
    ):
        find_coq("coqtop-of-nowhere")


@pytest.fixture
def fake_coq(tmp_path: Path) -> Path:
    program = tmp_path / "bin" / "coqtop"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\ncase "$1" in -print-version) echo 7.0 3.0;; -where) echo /usr/lib;; *) exit 3;; esac\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program


def test_a_coq_that_ends_at_once_is_a_fault_of_the_installation(fake_coq: Path):
    checker = CoqChecker(find_coq(str(fake_coq)))
    with pytest.raises(JudgeInfrastructureError, match=r"Coq 7\.0 does not take Ekiden's theory \(Coq crashed\)"):
        checker.check_batch([item(table(x=0, y=1))])
    assert "coq=7.0" in checker.identity


def test_a_program_that_is_no_coq_is_a_fault_of_the_installation(tmp_path: Path):
    program = tmp_path / "coqtop"
    program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(JudgeInfrastructureError, match="does not work"):
        find_coq(str(program))
