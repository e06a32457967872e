"""The judge's modules and policies in front of a real Lean: one batch of honest and dishonest answers."""

from typing import NamedTuple

import pytest

from ekiden_config import load_settings
from ekiden_judge import CheckItem, CheckResult, Problem, ProofPolicy
from ekiden_judge.lean_checker import LeanChecker
from ekiden_judge.verdict import CheckCode, Claim
from ekiden_lean import LeanLimits, LeanMissingError, ProofChecker, find_toolchain
from ekiden_magma import CayleyTable, EquationalProof, Law, Refutation, Step, Variable, lean_answer, named_models
from ekiden_magma.lean import finite_answer

pytestmark = [pytest.mark.lean, pytest.mark.timeout(1800)]

STRICT = ProofPolicy()
ONE_AXIOM = ProofPolicy(allowed_axioms=("propext",))


def problem(law1: str | Law, law2: str | Law, policy: ProofPolicy | None = None) -> Problem:
    asked = Problem(id="p", eq1_id=0, eq2_id=0, equation1=str(law1), equation2=str(law2))
    return asked if policy is None else asked.model_copy(update={"proof_policy": policy})


FALSE = ("x = x ◇ y", "x = y ◇ (x ◇ (y ◇ x))")
TRUE = ("x ◇ x = x ◇ y", "x ◇ y = x ◇ z")
PROOF = lean_answer(
    EquationalProof(
        problem(*TRUE).law1,
        problem(*TRUE).law2,
        (Step(0, (Variable("x"), Variable("y")), reverse=True), Step(0, (Variable("x"), Variable("z")))),
    )
)
LEFT_ZERO = finite_answer(CayleyTable(((0, 0), (1, 1))))
SUCCESSOR = problem("x ◇ y = x ◇ z", "x ◇ y = x")
MODEL = lean_answer(Refutation(SUCCESSOR.law1, SUCCESSOR.law2, named_models()["left-successor"], {"x": 0, "y": 0}))
HEAD = "import JudgeProblem\n"
COMMUTES = ("x ◇ y = y ◇ x", "x = x ◇ x")


def ring(order: int) -> str:
    """Print x ◇ y = x + y + 1 mod n, which commutes and is not idempotent."""
    table = CayleyTable(tuple(tuple((i + j + 1) % order for j in range(order)) for i in range(order)))
    return lean_answer(Refutation(problem(*COMMUTES).law1, problem(*COMMUTES).law2, table, {"x": 0}))


def proved_by(tactic: str) -> str:
    return f"{HEAD}\ntheorem submission : Goal := by\n  intro G _ h\n  {tactic}\n"


class Case(NamedTuple):
    code: str
    expected: CheckCode
    laws: tuple[str | Law, str | Law] = TRUE
    claim: Claim = "true"
    policy: ProofPolicy | None = None
    says: str = ""


CASES = {
    "a proof": Case(PROOF, "ACCEPTED", policy=STRICT, says="no axiom"),
    "a table of digits": Case(LEFT_ZERO, "ACCEPTED", FALSE, "false", STRICT, "no axiom"),
    "a table of order 10": Case(ring(10), "ACCEPTED", COMMUTES, "false", STRICT, "no axiom"),
    "a table of order 11": Case(ring(11), "ACCEPTED", COMMUTES, "false", STRICT, "no axiom"),
    "an infinite model": Case(MODEL, "ACCEPTED", ("x ◇ y = x ◇ z", "x ◇ y = x"), "false", STRICT, "no axiom"),
    "a table as a list": Case(
        f"{HEAD}import JudgeMagma.Magma\n\ndef submission.table : Magma (Fin 2) := magmaFin 2 [0, 0, 1, 1]\n\n"
        "theorem submission : Goal := ⟨Fin 2, submission.table, by decide⟩\n",
        "ACCEPTED",
        FALSE,
        "false",
    ),
    "an instance outside the proof": Case(
        f"{HEAD}import JudgeFinOp.MemoFinOp\n\ninstance submission.table : Magma (Fin 2) :=\n"
        '  ⟨MemoFinOp.finOpTable "[[0,0],[1,1]]"⟩\n\n'
        "theorem submission : Goal := ⟨Fin 2, submission.table, by decide⟩\n",
        "ACCEPTED",
        FALSE,
        "false",
    ),
    "a wrong table": Case(LEFT_ZERO.replace("[[0,0],[1,1]]", "[[0,1],[1,0]]"), "LEAN_REJECTED", FALSE, "false"),
    "a proof of something else": Case(PROOF, "LEAN_REJECTED", ("x ◇ x = x ◇ y", "x ◇ y = z ◇ y")),
    "a refutation for the claim true": Case(LEFT_ZERO, "LEAN_REJECTED", FALSE),
    "simp, no axiom allowed": Case(
        proved_by("intro x y z\n  simp [← h x]"), "DISALLOWED_AXIOMS", policy=STRICT, says="propext"
    ),
    "simp, propext allowed": Case(proved_by("intro x y z\n  simp [← h x]"), "ACCEPTED", policy=ONE_AXIOM),
    "simp in a helper, as in the tracks": Case(
        proved_by("intro x y z\n  simp [← h x]").replace("submission", "submission.main")
        + "\ntheorem submission : Goal := submission.main\n",
        "ACCEPTED",
    ),
    "simp, whose constants count": Case(
        proved_by("intro x y z\n  simp [← h x]"), "DISALLOWED_DECLARATIONS", says="congr"
    ),
    "a table that is not written out": Case(
        f'{HEAD}import JudgeFinOp.MemoFinOp\n\ndef submission.table := "[[0,0],[1,1]]"\n\n'
        "theorem submission : Goal := ⟨Fin 2, ⟨MemoFinOp.finOpTable submission.table⟩, by decide⟩\n",
        "ACCEPTED",
        FALSE,
        "false",
    ),
    "excluded middle, no axiom allowed": Case(
        proved_by(
            "intro x y z\n  exact (Classical.em True).elim (fun _ => (h x y).symm.trans (h x z)) (fun _ => "
            "(h x y).symm.trans (h x z))"
        ),
        "DISALLOWED_AXIOMS",
        policy=STRICT,
    ),
    "an axiom of its own": Case(f"{HEAD}axiom cheat : Goal\ntheorem submission : Goal := cheat\n", "DISALLOWED_AXIOMS"),
    "a helper with a plain name": Case(
        f"{HEAD}theorem helper : Goal := by\n  intro G _ h x y z\n  exact (h x y).symm.trans (h x z)\n\n"
        "theorem submission : Goal := helper\n",
        "DISALLOWED_DECLARATIONS",
        says="helper",
    ),
    "a helper of its own namespace": Case(
        f"{HEAD}theorem submission.helper : Goal := by\n  intro G _ h x y z\n  exact (h x y).symm.trans (h x z)\n\n"
        "theorem submission : Goal := submission.helper\n",
        "ACCEPTED",
    ),
    "an error elsewhere in the file": Case(f"{PROOF}\ntheorem other : False := by decide\n", "LEAN_REJECTED"),
    "no submission": Case(PROOF.replace("submission", "mission"), "LEAN_REJECTED"),
    "a library that is not here": Case(f"import Mathlib\n{PROOF}", "NEEDS_LEAN"),
    "a law of 150 operations": Case(
        proved_by("exact h"),
        "ACCEPTED",
        ("(" * 149 + "x" + " ◇ x)" * 149 + " ◇ x = y", "(" * 149 + "x" + " ◇ x)" * 149 + " ◇ x = y"),
    ),
}


@pytest.fixture(scope="module")
def findings() -> dict[str, CheckResult]:
    """What Lean says of all cases, in one batch."""
    try:
        toolchain = find_toolchain(load_settings().lean)
    except LeanMissingError as missing:
        pytest.skip(str(missing))
    items = [CheckItem(problem(*case.laws, case.policy), case.claim, case.code) for case in CASES.values()]
    with ProofChecker(toolchain, LeanLimits(cpu_s=60.0)) as prover:
        results = LeanChecker(prover, toolchain=toolchain.identity).check_batch(items)
    return dict(zip(CASES, results, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_lean_and_the_policy_decide(name: str, findings: dict[str, CheckResult]):
    case, result = CASES[name], findings[name]
    assert result.error_code == case.expected, result
    assert case.says in result.message


def test_a_refusal_names_the_place_in_the_answers_own_text(findings: dict[str, CheckResult]):
    places = [(d.line, d.severity) for d in findings["an error elsewhere in the file"].diagnostics]
    assert (PROOF.count("\n") + 2, "error") in places
