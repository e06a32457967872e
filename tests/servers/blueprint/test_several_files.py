"""Blueprints of several files: what a file may name, and what a change that touches several files is told."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from blueprint_graphs import HEADER, node
from ekiden_blueprint import Project, parse
from ekiden_blueprint.changes import compare
from ekiden_blueprint.rules import check
from ekiden_blueprint.version import Version
from ekiden_policies.blueprint_roles import judge_change
from servers.blueprint.rule_cases import Declaration, Facts

EVEN = node("def IsEven (n : Nat) : Prop := ∃ k, n = 2 * k")
ONE = node("lemma one (n : Nat) : IsEven (2 * n)")
OWN = node("lemma own (n : Nat) : IsEven (n + n)", "lem:one")
DONE = OWN.replace("  sorry_using [one]", "  exact one n")
GOAL = node("theorem goal : IsEven 4", "lem:own")
LIBRARIES = "import Mathlib\nimport Architect\n"


def file(*nodes: str, imports: str = "") -> str:
    header = HEADER.replace(LIBRARIES, f"import {imports}\n") if imports else HEADER
    return "\n".join([header, *nodes])


FILES = {"A/Base.lean": file(EVEN, ONE), "A/Main.lean": file(OWN, GOAL, imports="A.Base")}


def project(files: dict[str, str]) -> Project:
    return Project([parse(text, path) for path, text in files.items()])


def with_main(*nodes: str, imports: str = "A.Base") -> dict[str, str]:
    return {**FILES, "A/Main.lean": file(*nodes, imports=imports)}


@dataclass(frozen=True)
class Known(Declaration):
    type_hash: str = "t"
    meaning_hash: str = "m"


@dataclass(frozen=True)
class LeanSays(Facts):
    declarations: list[Declaration] = field(
        default_factory=lambda: [
            Known("IsEven", "def"),
            Known("one", uses_type=("IsEven",), own_sorry=True, sorry=True),
            Known("own", uses_type=("IsEven",), uses_value=("one",), own_sorry=True, sorry=True),
            Known("goal", uses_type=("IsEven",), uses_value=("own",), own_sorry=True, sorry=True),
        ]
    )


def errors(files: dict[str, str], facts: Facts | None = None) -> list[tuple[str, str]]:
    found = check(project(files), facts=facts)
    return [(finding.rule, finding.path) for finding in found if finding.severity == "error"]


def breaches(head: dict[str, str]) -> set[tuple[str, str]]:
    base = project(FILES)
    change = compare(Version(base), Version(project(head)), own="own")
    return {(found.kind, found.node) for found in judge_change("worker", change, own="own")}


def test_a_file_rests_on_what_it_imports():
    assert errors(FILES) == errors(FILES, LeanSays()) == []
    between = {**FILES, "A/Mid.lean": file(imports="A.Base"), "A/Main.lean": file(OWN, GOAL, imports="A.Mid")}
    assert errors(between) == errors(between, LeanSays()) == []


def test_a_name_in_a_file_that_is_not_imported_is_reported():
    alone = with_main(OWN, GOAL, imports="")
    assert errors(alone) == [("BP604", "A/Main.lean")]
    assert errors(alone, LeanSays()) == [
        *[("BP605", "A/Main.lean")] * 2,
        ("BP604", "A/Main.lean"),
        ("BP605", "A/Main.lean"),
    ]


@pytest.mark.parametrize("imports", ["A.Main", "A.Third"])
def test_imports_in_a_circle_are_reported(imports: str):
    files = {
        "A/Third.lean": file(imports="A.Main"),
        "A/Base.lean": file(EVEN, ONE).replace(LIBRARIES, f"{LIBRARIES}import {imports}\n"),
        "A/Main.lean": FILES["A/Main.lean"],
    }
    assert ("BP804", "A/Base.lean") in errors(files)


def test_a_file_that_imports_itself_is_reported():
    assert errors({"A.lean": file(EVEN).replace(LIBRARIES, f"{LIBRARIES}import A\n")}) == [("BP804", "A.lean")]


HELPER = node("lemma fresh : True", body="trivial")
EVIL = file(node("instance bad : Add Nat := ⟨fun a _ => a⟩"))


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (with_main(DONE, GOAL), set[tuple[str, str]]()),
        (with_main(HELPER, DONE, GOAL), set[tuple[str, str]]()),
        ({**with_main(DONE, GOAL), "A/Base.lean": file(EVEN, ONE, HELPER)}, {("added", "fresh")}),
        ({**with_main(ONE, DONE, GOAL), "A/Base.lean": file(EVEN)}, {("part", "one")}),
        ({**with_main(GOAL), "A/Base.lean": file(EVEN, ONE, DONE)}, {("part", "own")}),
        (with_main(GOAL, DONE), {("part", "goal")}),
        (
            {"A/Main.lean": file(EVEN, ONE, DONE, GOAL)},
            {("part", "IsEven"), ("part", "one"), ("command", ""), ("meaning", "goal")},
        ),
        (with_main(DONE, GOAL, imports="A.Evil\nimport A.Base"), {("command", ""), ("meaning", "goal")}),
        (
            {"A/Evil.lean": EVIL, **FILES},
            {("added", "bad"), ("command", ""), ("unfinished", "own"), ("hazard", "bad"), ("meaning", "goal")}
            | {("meaning", "own"), ("meaning", "one"), ("meaning", "IsEven")},
        ),
        (
            {"A/Renamed.lean": FILES["A/Base.lean"], "A/Main.lean": file(DONE, GOAL, imports="A.Renamed")},
            {("part", "IsEven"), ("part", "one"), ("command", ""), ("meaning", "goal")},
        ),
        (
            {"A/Main.lean": file(DONE, GOAL, imports="A.Base")},
            {("removed", "IsEven"), ("removed", "one"), ("command", ""), ("meaning", "own"), ("meaning", "goal")},
        ),
        (
            {**with_main(DONE, GOAL), "A/Base.lean": FILES["A/Base.lean"].replace("\n", "\r\n")},
            {("part", "IsEven"), ("part", "one")},
        ),
        (
            {**with_main(DONE, GOAL), "A/Base.lean": f"/-\n{FILES['A/Base.lean'].replace('-/', '')}-/\n"},
            {("removed", "IsEven"), ("removed", "one"), ("command", ""), ("meaning", "own"), ("meaning", "goal")},
        ),
    ],
    ids=[
        *("finished", "with a helper", "helper elsewhere", "frozen node moved", "own node moved", "order", "joined"),
        *("import added", "instance in a new file", "renamed", "deleted", "line ends", "in a comment"),
    ],
)
def test_a_worker_touches_its_own_node_alone_whatever_file_it_writes_to(
    head: dict[str, str], found: set[tuple[str, str]]
):
    assert breaches(head) == found


@pytest.mark.parametrize("text", ["\ufeff", "\ufeff-- a comment\n", "\u200b", "\0"])
def test_signs_that_lean_does_not_read_are_reported_before_the_first_command(text: str):
    assert ("BP811", "A.lean") in errors({"A.lean": text + file(EVEN)})


def test_a_label_or_name_that_two_files_have_is_reported_in_the_second():
    twice = with_main(ONE, OWN, GOAL)
    assert errors(twice) == [("BP501", "A/Main.lean"), ("BP502", "A/Main.lean")]
