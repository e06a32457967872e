"""The checker with a real Lean; the hostile answers are in tests/servers/judge."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from inline_snapshot import snapshot

from ekiden_config import load_settings
from ekiden_lean import Checked, Diagnostic, LeanLimits, ProofChecker, Submission, TrustedModule, find_toolchain

pytestmark = [pytest.mark.lean, pytest.mark.timeout(900)]

BASE = TrustedModule("Base", "class Pointed (α : Type) where\n  point : α\n")
QUESTION = TrustedModule("JudgeProblem", "abbrev Goal : Prop := ∀ n : Nat, n + 0 = n\n", ("Base",))
MODULES = (BASE, QUESTION)
HEADER = "import JudgeProblem\n"


def submission(code: str, key: str = "one") -> Submission:
    return Submission(key, HEADER + code, MODULES)


@pytest.fixture(scope="module")
def checker() -> Iterator[ProofChecker]:
    with ProofChecker(find_toolchain(load_settings().lean), LeanLimits(cpu_s=60.0)) as checker:
        yield checker


def test_a_proof_is_proved_with_what_it_rests_on(checker: ProofChecker):
    [found] = checker.check([submission("theorem lem : Goal := fun _ => rfl\ntheorem submission : Goal := lem")])
    assert found == Checked(
        "one", "proved", "The kernel accepts it.", declarations=("Goal", "lem"), seconds=found.seconds
    )


def test_findings_come_in_the_order_given_and_are_told_once_each(checker: ProofChecker):
    told: list[str] = []
    good, bad = "theorem submission : Goal := fun _ => rfl", "theorem submission : Goal := fun _ => nothing"
    batch = [submission(bad if number % 3 == 0 else good, f"{number}") for number in range(9)]
    found = checker.check(batch, done=lambda one: told.append(one.key))
    assert [one.key for one in found] == [str(number) for number in range(9)]
    assert [one.outcome for one in found] == ["refused", "proved", "proved"] * 3
    assert sorted(told) == [str(number) for number in range(9)]


def test_messages_name_places_of_the_submissions_own_text(checker: ProofChecker):
    code = "-- a comment\n\ntheorem submission : Goal := by\n  intro n\n  exact missing n\n"
    [found] = checker.check([submission(code)])
    assert (found.outcome, found.diagnostics) == snapshot(
        (
            "refused",
            (
                Diagnostic(
                    line=6,
                    column=8,
                    end_line=6,
                    end_column=15,
                    severity="error",
                    message="Unknown identifier `missing`",
                    kind="lean.unknownIdentifier._namedError",
                ),
            ),
        )
    )
    assert found.message == "line 6, column 9: Unknown identifier `missing`"


@pytest.mark.parametrize(
    ("code", "outcome", "message"),
    [
        ("theorem other : Goal := fun _ => rfl", "refused", "It defines no constant 'submission'."),
        ("def submission := 1", "refused", "The kernel refuses it"),
        ("theorem submission : ∀ n : Nat, n = n := fun _ => rfl", "proved", "The kernel accepts it."),
        ("theorem submission.{u} : Goal := fun _ => rfl", "refused", "unused universe parameter 'u'"),
        ("import Nowhere.AtAll", "refused", "There is no module 'Nowhere.AtAll' to import."),
        ("import Mathlib.Tactic", "unavailable", "which this Lean does not have"),
        ("import all JudgeProblem", "refused", "import the module plainly"),
    ],
)
def test_what_is_no_proof_is_told_in_words(checker: ProofChecker, code: str, outcome: str, message: str):
    [found] = checker.check([submission(code)])
    assert (found.outcome, message in found.message) == (outcome, True), found.message


def test_a_submission_that_imports_nothing_knows_no_goal(checker: ProofChecker):
    [found] = checker.check([Submission("one", "theorem submission : Goal := fun _ => rfl", MODULES)])
    assert found.outcome == "refused"


def test_axioms_are_told_even_under_a_borrowed_name(checker: ProofChecker):
    cheats = {
        "sorry": "theorem submission : Goal := sorry",
        "own": "axiom cheat : Goal\ntheorem submission : Goal := cheat",
        "borrowed": "axiom «Classical.choice» : Goal\ntheorem submission : Goal := «Classical.choice»",
        "real": "theorem submission : Goal := Classical.choice ⟨fun _ => rfl⟩",
    }
    found = checker.check([submission(code, key) for key, code in cheats.items()])
    assert {one.key: one.axioms for one in found} == {
        "sorry": ("sorryAx",),
        "own": ("cheat",),
        "borrowed": ("«Classical.choice»",),
        "real": ("Classical.choice",),
    }


def test_inductive_types_structures_and_instances_of_a_submission_are_checked(checker: ProofChecker):
    code = """
inductive Tree (α : Type u) | leaf | node (left : Tree α) (value : α) (right : Tree α)
structure Pair where
  left : Tree Nat
  right : Tree Nat
mutual
inductive Even : Nat → Prop | zero : Even 0 | next : Odd n → Even (n + 1)
inductive Odd : Nat → Prop | next : Even n → Odd (n + 1)
end
def size : Tree α → Nat | .leaf => 0 | .node l _ r => size l + 1 + size r
instance : Pointed Pair := ⟨⟨.leaf, .leaf⟩⟩
theorem lem : size (Pointed.point (α := Pair)).left = 0 ∧ Odd 1 := ⟨rfl, .next .zero⟩
theorem submission : Goal := fun _ => have := lem.1; rfl
"""
    [found] = checker.check([submission(code)])
    assert (found.outcome, found.message) == ("proved", "The kernel accepts it.")


def test_a_crash_of_one_leaves_the_others_alone(checker: ProofChecker):
    good = "theorem submission : Goal := fun _ => rfl"
    crash = "theorem submission : Goal := " + "(" * 30_000
    found = checker.check([submission(good, "a"), submission(crash, "b"), submission(good, "c")])
    assert [one.outcome for one in found] == ["proved", "crashed", "proved"]


def test_an_interrupted_batch_ends_its_processes_and_the_next_one_starts_anew(checker: ProofChecker):
    def interrupt(_: Checked) -> None:
        raise KeyboardInterrupt

    good = submission("theorem submission : Goal := fun _ => rfl")
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(KeyboardInterrupt):
        checker.check([good] * 3, done=interrupt)
    assert set(psutil.Process().children(recursive=True)) <= before
    assert [one.outcome for one in checker.check([good])] == ["proved"]


def test_two_batches_at_once_both_end(checker: ProofChecker):
    good = submission("theorem submission : Goal := fun _ => rfl")
    outcomes: list[str] = []
    threads = [
        threading.Thread(target=lambda: outcomes.extend(one.outcome for one in checker.check([good] * 5)))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == ["proved"] * 10


LONELY = """
import sys
from ekiden_config import load_settings
from ekiden_lean import ProofChecker, Submission, TrustedModule, find_toolchain
modules = (TrustedModule("JudgeProblem", "abbrev Goal : Prop := True"),)
header = "import JudgeProblem\\nset_option maxHeartbeats 0\\n"
code = header + "theorem submission : Goal := by\\n  iterate 1000000000 skip\\n"
good = Submission("good", header + "theorem submission : Goal := trivial", modules)
with ProofChecker(find_toolchain(load_settings().lean)) as checker:
    checker.check([good])
    print("running", flush=True)
    checker.check([Submission("endless", code, modules)])
"""


def test_nothing_outlives_a_killed_judge(tmp_path: Path):
    script = tmp_path / "lonely.py"
    script.write_text(LONELY, encoding="utf-8")
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE) as judge:
        assert judge.stdout is not None
        assert judge.stdout.readline() == b"running\n"
        family = psutil.Process(judge.pid).children(recursive=True)
        os.kill(judge.pid, signal.SIGKILL)
        _, alive = psutil.wait_procs(family, timeout=30)
    assert family
    assert alive == []
