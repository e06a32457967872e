"""What only a real Lean can tell of a change: meanings, holes and axioms behind a text that looks right."""

from __future__ import annotations

import pytest

from blueprint_graphs import node
from blueprint_repository import BASE, DONE, EVEN, FINISHED, GOAL, ONE, OWN
from ekiden_blueprint import Project, parse
from ekiden_blueprint.changes import compare
from ekiden_blueprint.version import Version
from ekiden_config import default_settings
from ekiden_dag.allowing import allowances_of
from ekiden_orchestrator.blueprint.elaborating import elaborator
from ekiden_orchestrator.blueprint.recording import verdict_of
from ekiden_orchestrator.blueprint.verifying import verify
from ekiden_policies.blueprint_roles import judge_change

pytestmark = [pytest.mark.lean, pytest.mark.timeout(600)]

HELPER = node("instance fresh : OfNat Nat 4 := ⟨5⟩")
CHOICE = node("theorem choice (p : Prop) : p ∨ ¬ p", body="exact Classical.em p")
CHEAT = node("theorem cheat : 1 = 2", body="exact hole").replace(
    "@[blueprint", "theorem hole : 1 = 2 := by\n  simp [foo]\n\n@[blueprint"
)
TOO_FAR = node("axiom deep : ∀ n, IsEven n")


def plain(text: str) -> str:
    return text.replace("import Mathlib\nimport Architect\n", "")


def project(text: str) -> Project:
    return Project([parse(plain(text), "Main.lean")])


def test_lean_sees_what_texts_hide():
    settings = default_settings()
    allowed = allowances_of(settings.blueprint.model_copy(update={"imports": ()}), ["deep"])
    with elaborator(settings.lean, "required") as ask:
        base, done = ask(project(BASE)), ask(project(FINISHED))
        renumbered = ask(project(FINISHED.replace(DONE, f"{HELPER}\n{DONE}")))
        more = verify(project("\n".join([FINISHED, CHOICE, TOO_FAR, CHEAT])), ask, allowed)

    def breaches(text: str, found: object) -> list[tuple[str, str]]:
        head = Version(project(text), found.facts)  # pyright: ignore[reportAttributeAccessIssue]
        change = compare(Version(project(BASE), base.facts), head, own="own")
        return [(breach.kind, breach.node) for breach in judge_change("worker", change, own="own")]

    assert breaches(FINISHED, done) == []
    assert breaches(FINISHED.replace(DONE, f"{HELPER}\n{DONE}"), renumbered) == [("meaning", "goal")]

    verdict = verdict_of(more)
    targets = {target.name: target for target in verdict.targets}
    assert targets["choice"].axioms is not None
    assert targets["goal"].rests_on_sorry is True
    assert targets["choice"].rests_on_sorry is False
    assert [(one.name, one.present) for one in verdict.assumptions] == [("deep", True)]
    rules = {finding.rule for finding in verdict.errors()}
    assert "BP101" in rules  # `hole` does not compile
    assert "BP205" in rules  # and is no node


def test_the_pieces_are_what_they_are_said_to_be():
    assert all(piece in BASE for piece in (EVEN, ONE, OWN, GOAL))
