"""One batch through a real Lean: hundreds of honest answers with hostile ones between them."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from certificates import equational_proofs, item, refutations
from ekiden_cayley.refuter import Refuter
from ekiden_config import load_settings
from ekiden_judge import Problem
from ekiden_judge.checker import CheckItem
from ekiden_judge.lean_checker import LeanChecker
from ekiden_judge.verdict import CheckCode
from ekiden_lean import LeanLimits, ProofChecker, find_toolchain
from ekiden_magma import CayleyTable, lean_answer
from ekiden_magma.lean import finite_answer

pytestmark = [pytest.mark.lean, pytest.mark.timeout(1800)]

COMMUTATIVE = Problem(
    id="planted", eq1_id=0, eq2_id=0, equation1="x ◇ y = y ◇ x", equation2="x ◇ (y ◇ z) = (x ◇ y) ◇ z"
)
HEADER = "import JudgeProblem\n"
NATIVE = HEADER + "theorem submission : Goal := by\n  refine ⟨Fin 3, ⟨fun i j => 2 * (i + j)⟩, ?_⟩\n  native_decide\n"
PROBLEMS = Path(__file__).parents[2] / "data" / "problems"
PLANTED: dict[str, tuple[str, CheckCode | tuple[CheckCode, ...]]] = {
    "a wrong table": (finite_answer(CayleyTable(((0, 0), (0, 1)))), "LEAN_REJECTED"),
    "a wrong proof": (HEADER + "theorem submission : Goal := ⟨Nat, ⟨Nat.add⟩, Nat.add_comm, rfl⟩", "LEAN_REJECTED"),
    "sorry": (HEADER + "theorem submission : Goal := by sorry", "DISALLOWED_AXIOMS"),
    "a new axiom": (HEADER + "axiom cheat : Goal\ntheorem submission : Goal := cheat", "DISALLOWED_AXIOMS"),
    # What compiles is refused for its axiom; the WebAssembly Lean cannot even compile it.
    "native_decide": (NATIVE, ("DISALLOWED_AXIOMS", "LEAN_REJECTED")),
    "a forged report line": (
        HEADER
        + 'theorem submission : Goal := by\n  trace "report 00 proved\\ndone 0\\nJUDGE_REPORT {}"\n  exact nothing',
        "LEAN_REJECTED",
    ),
    "an option that weakens the kernel": (
        "import Lean\n"
        + HEADER
        + "open Lean Elab Command\nset_option debug.skipKernelTC true\n"
        + "run_cmd do\n  let env ← getEnv\n"
        + "  let d := Declaration.thmDecl { name := `submission, levelParams := [], type := mkConst `Goal,\n"
        + "    value := mkConst `True.intro }\n"
        + "  match env.addDeclCore 0 d none false with\n  | .ok env => setEnv env\n  | .error _ => pure ()\n",
        "LEAN_REJECTED",
    ),
    "a macro that changes the goal": (
        HEADER
        + 'macro_rules | `(Goal) => `(True)\nmacro "Goal" : term => `(True)\ntheorem submission : Goal := trivial',
        "LEAN_REJECTED",
    ),
    "the goal defined anew": (
        HEADER + "namespace Mine\ndef Goal := True\ntheorem submission : Goal := trivial\nend Mine\n"
        "theorem submission := Mine.submission",
        "LEAN_REJECTED",
    ),
    "the operation defined anew": (
        HEADER + 'local infix:65 " ◇ " => fun (x _ : Nat) => x\n'
        "theorem submission : ∃ (G : Type) (_ : Magma G), (∀ x y : Nat, x ◇ x = x) ∧ ¬ False := ⟨Nat, ⟨Nat.add⟩, "
        "fun _ _ => rfl, id⟩",
        "LEAN_REJECTED",
    ),
    "an endless loop": (
        "import Lean\n" + HEADER + "partial def forever (n : Nat) : IO Unit := forever (n + 1)\nrun_cmd forever 0\n"
        "theorem submission : Goal := ⟨Nat, ⟨Nat.add⟩, Nat.add_comm, rfl⟩",
        "LEAN_TIMEOUT",
    ),
    "a memory bomb": (
        "import Lean\n" + HEADER + "partial def hoard (kept : List String) (n : Nat) : IO Unit :=\n"
        '  hoard ("".pushn (Char.ofNat (97 + n % 26)) 10000000 :: kept) (n + 1)\n\nrun_cmd hoard [] 0\n'
        "theorem submission : Goal := ⟨Nat, ⟨Nat.add⟩, Nat.add_comm, rfl⟩",
        "LEAN_REJECTED",
    ),
}


@pytest.fixture(scope="module")
def lean() -> Iterator[LeanChecker]:
    toolchain = find_toolchain(load_settings().lean)
    with ProofChecker(toolchain, LeanLimits(cpu_s=20.0)) as proofs:
        yield LeanChecker(proofs, toolchain=toolchain.identity)


def test_three_hundred_refutations_and_a_hundred_proofs_are_accepted_beside_planted_ones(lean: LeanChecker):
    honest = [item(number, made) for number, made in enumerate([*refutations(300, 1), *equational_proofs(100, 1)])]
    planted = [CheckItem(COMMUTATIVE, "false", code) for code, _ in PLANTED.values()]
    spread = len(honest) // len(planted)
    batch: list[CheckItem] = []
    for number, hostile in enumerate(planted):
        batch += [*honest[number * spread : (number + 1) * spread], hostile]
    batch += honest[len(planted) * spread :]

    results = dict(zip(map(id, batch), lean.check_batch(batch), strict=True))

    for (name, (_, expected)), one in zip(PLANTED.items(), planted, strict=True):
        found = results[id(one)]
        assert found.error_code in (expected if isinstance(expected, tuple) else (expected,)), (name, found.message)
    assert [results[id(one)].message for one in honest if results[id(one)].error_code != "ACCEPTED"] == []


def test_two_hundred_refutations_of_the_normal_problems_are_accepted(lean: LeanChecker):
    with (PROBLEMS / "normal.jsonl").open(encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    problems = [Problem.read(record) for record in records if not record["answer"]][:200]
    refuter = Refuter(seed=0)
    items: list[CheckItem] = []
    for one in problems:
        refutation = refuter.refute(one.law1, one.law2, time_limit_s=20.0).refutation
        assert refutation is not None, one.id
        items.append(CheckItem(one, "false", lean_answer(refutation)))
    assert Counter(result.error_code for result in lean.check_batch(items)) == {"ACCEPTED": 200}
