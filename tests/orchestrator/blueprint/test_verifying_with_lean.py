"""What only a real Lean can tell of a change: meanings, holes and axioms behind a text that looks right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from blueprint_graphs import node
from blueprint_repository import BASE, DONE, FINISHED
from ekiden_blueprint import Project, parse
from ekiden_blueprint.changes import compare
from ekiden_blueprint.version import Version
from ekiden_config import load_settings
from ekiden_dag.allowing import allowances_of
from ekiden_orchestrator.blueprint.elaborating import elaborator
from ekiden_orchestrator.blueprint.recording import verdict_of
from ekiden_orchestrator.blueprint.verifying import verify
from ekiden_policies.blueprint_roles import judge_change

if TYPE_CHECKING:
    from ekiden_orchestrator.blueprint.elaborating import Elaborated

pytestmark = [pytest.mark.lean, pytest.mark.timeout(600)]

FOUR_IS_FIVE = node("instance fresh : OfNat Nat 4 := ⟨5⟩")
CHOICE = node("theorem choice (p : Prop) : p ∨ ¬ p", body="exact Classical.em p")
DEEP = node("axiom deep : ∀ n, IsEven n")
HOLE = node("theorem hole : IsEven 6", body="first | done | (have h := deep 6; exact sorryAx _ false)")
WRONG = node("theorem wrong : IsEven 8", body="exact nothing_of_that_name")


def project(text: str) -> Project:
    return Project([parse(text.replace("import Mathlib\nimport Architect\n", ""), "Main.lean")])


def test_lean_sees_what_a_text_hides():
    settings = load_settings()
    allowed = allowances_of(settings.blueprint.model_copy(update={"imports": ()}), ["deep"])
    changed = FINISHED.replace(DONE, f"{FOUR_IS_FIVE}\n{DONE}")
    with elaborator(settings.lean, "required") as ask:
        base, done, other = (ask(project(text)) for text in (BASE, FINISHED, changed))
        more = verify(project("\n".join([FINISHED, CHOICE, DEEP, HOLE, WRONG])), ask, allowed)

    def breaches(text: str, found: Elaborated) -> list[tuple[str, str]]:
        change = compare(Version(project(BASE), base.facts), Version(project(text), found.facts), own="own")
        return [(breach.kind, breach.node) for breach in judge_change("worker", change, own="own")]

    assert breaches(FINISHED, done) == []
    assert breaches(changed, other) == [("meaning", "goal")]
    verdict = verdict_of(more)
    targets = {target.name: target for target in verdict.targets}
    assert targets["goal"].rests_on_sorry is True
    assert targets["choice"].rests_on_sorry is False
    assert targets["hole"].state == "ready"  # Lean's word: its text shows no placeholder
    assert [(one.name, one.present, one.used_by) for one in verdict.assumptions] == [("deep", True, ("hole",))]
    rules = {(name, one.rule) for one in verdict.errors() for name in ("hole", "wrong") if f"{name!r}" in one.message}
    assert rules == {("hole", "BP901"), ("wrong", "BP904")}
    assert "BP101" in {finding.rule for finding in verdict.errors()}
