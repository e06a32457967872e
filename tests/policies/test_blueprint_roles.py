"""What each role may change, judged on changes written by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_policies.blueprint_merge import (
    Assignment,
    PullRequest,
    Trial,
    assignment_of,
    reasons_against_merging,
    slug_of,
)
from ekiden_policies.blueprint_roles import (
    REMOVED,
    ROLES,
    BlueprintChange,
    BreachKind,
    CommandChange,
    NodeChange,
    Part,
    PathChange,
    Role,
    judge_change,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

DONE = NodeChange("own", "proof", "placeholder", "complete", parts=frozenset({"body"}))
PARTS: tuple[Part, ...] = (
    "attribute", "body", "declaration", "place", "proof", "signature", "statement", "title",
)  # fmt: skip


def kinds(
    role: Role, *nodes: NodeChange, approved: Mapping[str, str] | None = None, rest: BlueprintChange | None = None
) -> list[BreachKind]:
    rest = rest or BlueprintChange(())
    change = BlueprintChange(nodes, rest.paths, rest.commands, rest.declarations)
    return [breach.kind for breach in judge_change(role, change, own="own", approved=approved)]


def old(
    name: str = "other", *parts: Part, before: str = "placeholder", after: str = "placeholder", **more: object
) -> NodeChange:
    return NodeChange(name, "proof", before, after, frozenset(parts), **more)  # pyright: ignore[reportArgumentType]


def new(after: str = "complete", **more: object) -> NodeChange:
    given: dict[str, object] = {"kind": "proof", **more}
    return NodeChange("fresh", before=None, after=after, **given)  # pyright: ignore[reportArgumentType]


def test_a_worker_who_finishes_its_node_with_complete_helpers_may():
    assert kinds("worker", new(is_helper=True), new("none", kind="definition", is_helper=True), DONE, old()) == []


@pytest.mark.parametrize("part", PARTS)
def test_a_worker_changes_its_own_prose_and_body_alone(part: Part):
    own = NodeChange("own", "proof", "placeholder", "complete", frozenset({"body", part}))
    assert kinds("worker", own) == ([] if part in {"body", "proof", "statement", "title"} else ["part"])


@pytest.mark.parametrize("part", PARTS)
def test_a_worker_changes_nothing_of_another_node(part: Part):
    assert kinds("worker", DONE, old("other", part)) == ["part"]


@pytest.mark.parametrize("after", ["placeholder", "broken", "none"])
def test_a_worker_must_finish_its_node(after: str):
    assert kinds("worker", old("own", after=after)) == ["unfinished"]


def test_a_sorry_that_only_lean_finds_leaves_a_node_unfinished():
    assert kinds("worker", old("own", "body", after="complete", sorry=True)) == ["unfinished"]
    assert kinds("worker", DONE, new(is_helper=True, sorry=True)) == ["proof"]


@pytest.mark.parametrize(
    ("node", "kind"),
    [
        (new(), "added"),
        (new("placeholder", is_helper=True), "proof"),
        (new(is_helper=True, is_target=True), "added"),
        (new(kind="assumption", is_helper=True, after="none"), "added"),
        (new(is_helper=True, hazards=("the keyword 'instance'",)), "hazard"),
        (NodeChange("gone", "proof", "complete", None), "removed"),
        (old(meaning="changed"), "meaning"),
    ],
)
def test_what_a_worker_may_not_do(node: NodeChange, kind: BreachKind):
    assert kinds("worker", DONE, node) == [kind]


def test_a_worker_leaves_paths_commands_and_declarations_alone():
    rest = BlueprintChange(
        (),
        (PathChange("Main.lean", "changed", True), PathChange("lakefile.toml", "changed", False)),
        (CommandChange("Main.lean", "open Nat", "added", 3),),
        ("instFoo",),
    )
    assert kinds("worker", DONE, rest=rest) == ["path", "command", "meaning"]


def test_a_link_in_the_place_of_a_file_is_refused_for_every_role():
    rest = BlueprintChange((), (PathChange("Main.lean", "changed", True, is_regular=False),))
    assert [kinds(role, rest=rest) for role in ("blueprinter", "refiner")] == [["file kind"]] * 2


@pytest.mark.parametrize(
    ("node", "found"),
    [
        (old("lemma", "signature", meaning="changed"), []),
        (old("lemma", "body", before="complete"), []),
        (old("lemma", "signature", before="complete", after="complete"), []),
        (old("lemma", "body", before="complete", after="complete"), ["proof"]),
        (old("lemma", "body", after="complete"), ["proof"]),
        (old("lemma", "body", after="broken"), ["proof"]),
        (new("placeholder"), []),
        (new("complete"), ["proof"]),
        (new("none", kind="definition"), []),
        (NodeChange("gone", "proof", "complete", None), []),
        (NodeChange("goal", "proof", "complete", None, is_target=True), ["target"]),
        (old("goal", "signature", meaning="changed", becomes="text:1", is_target=True), ["target"]),
    ],
)
def test_a_refiner_leaves_proofs_untouched_or_as_placeholders(node: NodeChange, found: list[BreachKind]):
    assert kinds("refiner", node) == found


def test_a_target_changes_only_into_what_was_approved():
    goal = old("goal", "signature", meaning="changed", becomes="text:1", is_target=True)
    gone = NodeChange("gone", "proof", "complete", None, is_target=True)
    assert kinds("refiner", goal, gone, approved={"goal": "text:1", "gone": REMOVED}) == []
    assert kinds("refiner", goal, gone, approved={"goal": "text:2", "gone": "text:1"}) == ["target", "target"]


def test_a_blueprinter_writes_placeholders_alone():
    assert kinds("blueprinter", new("placeholder"), new("none", kind="definition")) == []
    assert kinds("blueprinter", new("complete")) == ["proof"]
    assert kinds("blueprinter", old(before="complete", after="complete")) == ["proof"]


nodes = st.builds(
    NodeChange,
    name=st.sampled_from(["own", "a", "b"]),
    kind=st.sampled_from(["proof", "definition", "assumption", "other"]),
    before=st.sampled_from([None, "complete", "placeholder", "broken", "none"]),
    after=st.sampled_from([None, "complete", "placeholder", "broken", "none"]),
    parts=st.frozensets(st.sampled_from(PARTS)),
    meaning=st.sampled_from(["same", "changed"]),
    is_target=st.booleans(),
    is_helper=st.booleans(),
    sorry=st.booleans(),
)


@given(st.sampled_from(list(ROLES)), st.lists(nodes, max_size=4), st.lists(nodes, max_size=2))
def test_more_changes_never_make_a_change_better(role: Role, some: list[NodeChange], more: list[NodeChange]):
    few = judge_change(role, BlueprintChange(tuple(some)), own="own")
    many = judge_change(role, BlueprintChange((*some, *more)), own="own")
    assert many[: len(few)] == few


@given(nodes)
def test_what_a_worker_may_do_to_another_node_leaves_it_as_it_was(node: NodeChange):
    if not judge_change("worker", BlueprintChange((node,)), own="another") and node.before is not None:
        assert node.after is not None
        assert (node.parts, node.meaning) == (frozenset(), "same")


@pytest.mark.parametrize(
    ("branch", "title", "assigned"),
    [
        ("blueprint/init", "Blueprint", Assignment("blueprinter")),
        ("refiner/round-3", "anything", Assignment("refiner")),
        ("blueprint-refiner/round-12", "", Assignment("refiner")),
        ("round-3/two_is_even", "Complete blueprint node: two_is_even", Assignment("worker", "two_is_even")),
        ("round-3/foo", "Complete blueprint node: foo'", Assignment("worker", "foo'")),
        ("round-3/two_is_even", "Complete blueprint node: three_is_odd", None),
        ("round-3/two_is_even", "two_is_even", None),
        ("round-3/two_is_even", "Complete blueprint node: two_is_even\nmore", None),
        ("main", "Blueprint", None),
        ("refiner/round-x", "", None),
        ("round-1/../../main", "Complete blueprint node: main", None),
    ],
)
def test_a_branch_says_whose_change_it_is(branch: str, title: str, assigned: Assignment | None):
    assert assignment_of(branch, title) == assigned


def test_slugs_are_as_branches_have_them():
    assert [slug_of(name) for name in ("a.b_c", "foo'", "«α β»", "φ", "x" * 200)] == [
        "a.b_c", "foo", "node", "node", "x" * 180,
    ]  # fmt: skip


PULL = PullRequest("bot", "round-1/own", "Complete blueprint node: own", "h1", "main", True, True)
GOOD = Trial(True, True, "b1", "h1", "t1", "worker", "own")


def reasons(pull: PullRequest = PULL, trial: Trial = GOOD, base: str = "b1", tree: str = "t1") -> int:
    return len(reasons_against_merging(pull, trial, authors=("bot",), base_branch="main", base=base, tree=tree))


def test_what_was_tested_as_it_would_be_merged_is_merged():
    assert reasons() == 0


@pytest.mark.parametrize(
    "pull",
    [
        replace(PULL, author="eve"),
        replace(PULL, branch="main"),
        replace(PULL, head="h2"),
        replace(PULL, base_branch="release"),
        replace(PULL, same_repository=False),
        replace(PULL, is_open=False),
    ],
)
def test_another_pull_request_is_not_merged(pull: PullRequest):
    assert reasons(pull) == 1


@pytest.mark.parametrize(
    "trial",
    [
        replace(GOOD, passed=False),
        replace(GOOD, passed_again=False),
        replace(GOOD, base="b0"),
        replace(GOOD, head="h0"),
        replace(GOOD, tree="t0"),
        replace(GOOD, role="refiner", node=""),
        replace(GOOD, node="other"),
    ],
)
def test_what_was_not_tested_as_it_would_be_merged_is_not_merged(trial: Trial):
    assert reasons(trial=trial) == 1


def test_a_base_that_moved_asks_for_another_test():
    assert reasons(base="b2", tree="t2") == 1
