"""Hostile answers are refused for what they are, and honest ones between them are accepted.

The cases and what must come of them lie under `attacks/`. Without Lean: the checks of the text, and the exact checker.
With Lean: all cases in one batch, with the scan for banned words switched off, so that Lean and the policy alone must
hold.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from attack_cases import FOLDER, Case, read_cases
from ekiden_config import load_settings
from ekiden_judge import verify_answer
from ekiden_judge.checker import CheckItem, CheckResult
from ekiden_judge.exact import ExactChecker
from ekiden_judge.lean_checker import LeanChecker
from ekiden_lean import LeanLimits, LeanMissingError, ProofChecker, find_toolchain

CASES = read_cases()
FOR_LEAN = [case for case in CASES if case.code is not None]
# Many payloads differ only in what the checks of the text see. Lean gets one of each kind, or all when asked to.
EVERYTHING = bool(os.environ.get("EKIDEN_ALL_ATTACKS"))
ASKED_OF_LEAN = [case for case in FOR_LEAN if EVERYTHING or case.like is None]


def test_the_names_of_the_cases_are_their_own():
    assert len({case.name for case in CASES}) == len(CASES)


def test_every_file_belongs_to_a_case():
    texts = {case.code for case in FOR_LEAN}
    folder = FOLDER
    changed = {"good_proof.lean", "good_table.lean", "deep_parentheses.lean"}
    unused = [p for p in folder.rglob("*.lean") if p.name not in changed and p.read_text(encoding="utf-8") not in texts]
    assert unused == []


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_text_alone_decides_what_it_can_and_the_exact_checker_accepts_no_attack(case: Case):
    verdict = verify_answer(case.problem, case.answer, checker=ExactChecker())
    if case.text is not None:
        assert verdict.error_code == case.text
    elif case.is_attack:
        assert verdict.error_code in ("NEEDS_LEAN", "LEAN_REJECTED")
    else:
        assert verdict.error_code in ("NEEDS_LEAN", "ACCEPTED")


def test_a_case_that_is_like_another_expects_no_less():
    by_name = {case.name: case for case in CASES}
    for case in CASES:
        if case.like is not None:
            assert by_name[case.like].like is None
            assert by_name[case.like].is_attack == case.is_attack


SECRET = "planted-in-our-own-environment"
MARKS = [Path(folder) / "ekiden-was-here" for folder in ("/tmp", "/var/tmp", tempfile.gettempdir(), Path.home())]
LIMITS = LeanLimits(cpu_s=20.0, wall_factor=3.0)


def interleaved(cases: Sequence[Case]) -> list[Case]:
    """Put an honest answer after every few attacks, so that each has hostile neighbours."""
    attacks = [case for case in cases if case.is_attack]
    honest = [case for case in cases if not case.is_attack]
    every = max(1, len(attacks) // max(1, len(honest)))
    mixed: list[Case] = []
    for place in range(0, len(attacks), every):
        mixed += attacks[place : place + every]
        mixed += honest[place // every : place // every + 1]
    return mixed + honest[len(range(0, len(attacks), every)) :]


@pytest.fixture(scope="module")
def findings() -> Iterator[dict[str, CheckResult]]:
    """What Lean says of all cases, in one batch."""
    try:
        toolchain = find_toolchain(load_settings().lean)
    except LeanMissingError as missing:
        pytest.skip(str(missing))
    cases = interleaved(ASKED_OF_LEAN)
    items = [CheckItem(case.problem, case.claim, case.code or "") for case in cases]
    with pytest.MonkeyPatch.context() as patch, ProofChecker(toolchain, LIMITS) as prover:
        patch.setenv("EKIDEN_PLANTED_SECRET", SECRET)
        checker = LeanChecker(prover, toolchain=toolchain.identity, default_policy="strict")
        results = checker.check_batch(items)
    yield {case.name: result for case, result in zip(cases, results, strict=True)}
    for mark in MARKS:
        mark.unlink(missing_ok=True)


@pytest.mark.lean
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("case", [case for case in ASKED_OF_LEAN if case.lean], ids=str)
def test_lean_alone_refuses_attacks_and_accepts_honest_answers(case: Case, findings: dict[str, CheckResult]):
    result = findings[case.name]
    assert result.error_code in case.lean, result.message
    for axiom in case.axioms:
        assert any(axiom in found for found in result.axioms), result.axioms


@pytest.mark.lean
@pytest.mark.timeout(3600)
def test_no_answer_sees_our_environment_or_leaves_a_file_behind(findings: dict[str, CheckResult]):
    said = "\n".join(
        text for result in findings.values() for text in (result.message, *(d.message for d in result.diagnostics))
    )
    assert SECRET not in said
    assert "root:x:" not in said
    assert [mark for mark in MARKS if mark.exists()] == []
