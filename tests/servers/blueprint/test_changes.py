"""Two versions of a blueprint, compared as data."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blueprint_graphs import node, text_of
from ekiden_blueprint import Project, parse
from ekiden_blueprint.changes import compare
from ekiden_blueprint.version import Version
from ekiden_policies.blueprint_roles import BlueprintChange, NodeChange, judge_change

EVEN = node("def IsEven (n : Nat) : Prop := ∃ k, n = 2 * k")
ONE = node("lemma one (n : Nat) : IsEven (2 * n)")
OWN = node("lemma own (n : Nat) : let m := 2 * n; IsEven m", "lem:one")
GOAL = node("theorem goal : IsEven 4", "lem:own")
BASE = text_of(EVEN, ONE, OWN, GOAL)
DONE = OWN.replace("  sorry_using [one]", "  intro m\n  exact one n")


@dataclass(frozen=True)
class Fact:
    name: str
    meaning_hash: str = "m"
    type_hash: str = "t"
    kind: str = "theorem"
    own_sorry: bool = False
    uses_type: tuple[str, ...] = ()
    uses_value: tuple[str, ...] = ()
    refusal: str = ""


@dataclass(frozen=True)
class Facts:
    declarations: tuple[Fact, ...]
    outcome: str = field(default="complete")


def version(text: str, *facts: Fact) -> Version:
    return Version(Project([parse(text, "Main.lean")]), Facts(facts) if facts else None)


def changed(head: str, base: str = BASE) -> BlueprintChange:
    return compare(version(base), version(head), own="own")


def changes_of(head: str, base: str = BASE) -> dict[str, NodeChange]:
    return {
        one.name: one
        for one in changed(head, base).nodes
        if one.parts or one.is_new or one.is_gone or one.meaning == "changed"
    }


def breaches(head: str, base: str = BASE) -> list[tuple[str, str]]:
    return [(found.kind, found.node) for found in judge_change("worker", changed(head, base), own="own")]


def test_the_same_text_differs_in_nothing():
    assert changes_of(BASE) == {}
    assert changed(BASE).commands == ()


def test_a_finished_proof_is_a_changed_body_alone():
    found = changes_of(BASE.replace(OWN, DONE))
    assert found == {
        "own": NodeChange("own", "proof", "placeholder", "complete", frozenset({"body"}), becomes=found["own"].becomes)
    }


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("(statement := /-- It holds. -/)", "(statement := /-- It does. -/)", {"statement"}),
        ("(title := /-- A title -/)", "(title := /-- Another -/)", {"title"}),
        ("Use \\cref", "Take \\cref", {"proof"}),
        ("let m := 2 * n", "let m := 3 * n", {"signature"}),
        ('"lem:own"', '"lem:mine"', {"attribute"}),
        ("@[blueprint", "@[simp, blueprint", {"attribute"}),
        ("\nlemma own", "\nprivate lemma own", {"declaration"}),
        ("(title := /-- A title -/)", '(title := "A title")', {"title", "attribute"}),
    ],
)
def test_each_part_of_a_node_is_told_apart(old: str, new: str, parts: set[str]):
    assert changes_of(BASE.replace(OWN, OWN.replace(old, new)))["own"].parts == parts


def test_fresh_lemmas_directly_before_the_own_node_are_helpers():
    helper = node("lemma fresh : True", body="trivial")
    found = changes_of(text_of(EVEN, ONE, helper, helper.replace("fresh", "other"), DONE, GOAL))
    assert {name for name, one in found.items() if one.is_helper} == {"fresh", "other"}
    assert breaches(text_of(EVEN, ONE, helper, DONE, GOAL)) == []
    assert breaches(text_of(EVEN, helper, ONE, DONE, GOAL)) == [("added", "fresh")]
    assert breaches(text_of(EVEN, ONE, DONE, helper, GOAL)) == [("added", "fresh")]


def test_a_node_that_moved_is_named_and_the_others_are_not():
    assert {name: one.parts for name, one in changes_of(text_of(EVEN, GOAL, ONE, OWN)).items()} == {"goal": {"place"}}


def test_a_changed_definition_changes_what_all_state_that_name_it():
    found = changes_of(BASE.replace("n = 2 * k", "n = 1 * k"))
    assert {name for name, one in found.items() if one.meaning == "changed"} == {"IsEven", "one", "own", "goal"}
    assert found["goal"].parts == frozenset()


def test_a_definition_named_in_guillemets_is_followed_too():
    odd = node("def «is even» (n : Nat) : Prop := n = 0").replace("def:«is", "def:x")
    base = text_of(odd, node("theorem goal : «is even» 0"))
    assert changes_of(base.replace("n = 0", "n = n"), base)["goal"].meaning == "changed"


def test_an_instance_counts_for_all():
    base = text_of(node("instance one_way : Inhabited Nat := ⟨0⟩"), GOAL)
    assert changes_of(base.replace("⟨0⟩", "⟨1⟩"), base)["goal"].meaning == "changed"


def test_a_blank_more_or_less_changes_no_meaning():
    assert changes_of(BASE.replace("IsEven 4", "IsEven  4"))["goal"].meaning == "same"


def test_a_target_that_becomes_a_lemma_is_changed():
    found = changes_of(BASE.replace("theorem goal", "lemma goal"))["goal"]
    assert (found.is_target, found.meaning, found.becomes) == (True, "changed", "lemma")


@pytest.mark.parametrize(
    "command",
    [
        'local notation "IsEven" => fun _ => True',
        "open Nat",
        "variable (h : False)",
        "set_option maxRecDepth 5",
        "  axiom cheat : False",
        'macro "x" : tactic => `(tactic| sorry)',
        "attribute [simp] one",
        "end",
    ],
)
def test_a_command_outside_the_nodes_is_seen(command: str):
    head = text_of(EVEN, ONE, command + "\n", DONE, GOAL)
    assert [change.event for change in changed(head).commands] == ["added"]
    assert ("command", "") in breaches(head)
    assert [change.event for change in changed(BASE, head).commands] == ["removed"]


def test_a_command_that_moved_past_a_node_is_seen():
    base, head = text_of(EVEN, "open Nat\n", ONE, OWN), text_of(EVEN, ONE, "open Nat\n", OWN)
    assert [change.event for change in changed(head, base).commands] == ["removed", "added"]


@pytest.mark.parametrize(
    "helper",
    [
        node("instance fresh : Inhabited Nat := ⟨1⟩"),
        node("lemma fresh : 1 = 1", body="rfl").replace("@[blueprint", "@[simp, blueprint"),
        node("lemma fresh : 1 = 1", body="rfl").replace("@[blueprint", "@[simp]\n@[blueprint"),
        node("lemma fresh : 1 = 1", body="rfl").replace("\nlemma", "\nscoped lemma"),
        node("def Foo.IsEven (n : Nat) : Prop := True"),
    ],
)
def test_what_could_change_later_text_is_a_hazard_where_no_lean_looked(helper: str):
    head = text_of(EVEN, ONE, helper, DONE, GOAL)
    assert "hazard" in {kind for kind, _ in breaches(head)}
    names = ["IsEven", "one", "own", "goal", "fresh", "Foo.IsEven", "instInhabitedNat"]
    facts = [Fact(name) for name in names]
    found = compare(version(BASE, *facts[:4]), version(head, *facts), own="own")
    assert judge_change("worker", found, own="own") == []


def test_leans_hashes_win_over_the_text():
    base = version(BASE, *(Fact(name) for name in ("IsEven", "one", "own", "goal")))
    same_text = version(
        BASE, *(Fact(name, "m" if name != "goal" else "x") for name in ("IsEven", "one", "own", "goal"))
    )
    assert [one.name for one in compare(base, same_text).nodes if one.meaning == "changed"] == ["goal"]
    other_text = version(
        BASE.replace("IsEven 4", "(IsEven 4)"), *(Fact(name) for name in ("IsEven", "one", "own", "goal"))
    )
    goal = compare(base, other_text).nodes[-1]
    assert (goal.meaning, goal.parts) == ("same", {"signature"})


def test_a_declaration_that_is_no_node_is_compared_by_lean():
    names = ("IsEven", "one", "own", "goal")
    base = version(BASE, *(Fact(name) for name in names), Fact("inst"), Fact("gone"))
    head = version(BASE, *(Fact(name) for name in names), Fact("inst", "x"), Fact("more"))
    assert compare(base, head).declarations == ("inst", "gone")


def test_facts_of_a_run_that_came_to_no_end_count_for_nothing():
    head = Version(Project([parse(BASE, "Main.lean")]), Facts((Fact("goal", "x"),), "timeout"))
    assert all(one.meaning == "same" for one in compare(version(BASE, Fact("goal")), head).nodes)


PIECES = [
    *(
        "\n",
        " ",
        "  sorry\n",
        "axiom bad : False\n",
        "/-",
        "-/",
        '"',
        "'\"'",
        "let x := 1; ",
        ":=",
        "end\n",
        "open A\n",
    ),
    *("@[simp] ", "@[", "]", "«", "n", "2", "lemma own : True := by\n  trivial\n", "| ", "where\n", "(", ")", "-- "),
    *('notation "IsEven" => True\n', "section\n", "namespace A\n", OWN, DONE, ONE, GOAL),
    node("lemma b : True", body="simp"),
]


@given(st.data())
def test_whatever_passes_as_a_workers_leaves_all_other_nodes_and_commands_as_they_were(data: st.DataObject):
    head = BASE.replace(OWN, data.draw(st.sampled_from([OWN, DONE])))
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(head)))
        end = min(len(head), start + data.draw(st.sampled_from([0, 0, 1, 3, 20])))
        head = head[:start] + data.draw(st.sampled_from(PIECES)) + head[end:]
    before, after = version(BASE), version(head)
    if judge_change("worker", compare(before, after, own="own"), own="own"):
        return
    for name in ("IsEven", "one", "goal"):
        old, new = before.nodes[name], after.nodes[name]
        assert before.text(old, *old.span) == after.text(new, *new.span)
    assert [text for _, text in before.outside["Main.lean"]] == [text for _, text in after.outside["Main.lean"]]
    own = after.nodes["own"]
    assert after.text(own, *own.signature) == before.text(before.nodes["own"], *before.nodes["own"].signature)


BAD = node("def badAdd : Add Nat := ⟨fun a _ => a⟩")
SUM = node("theorem total : 2 + 2 = 4")


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (text_of(SUM), text_of(BAD.replace("@[blueprint", "@[instance, blueprint"), SUM)),
        (text_of(BAD, SUM), text_of(BAD.replace("@[blueprint", "@[instance, blueprint"), SUM)),
        (
            text_of(SUM, BAD.replace("def badAdd", "instance badAdd")),
            text_of(BAD.replace("def badAdd", "instance badAdd"), SUM),
        ),
        (
            text_of(SUM.replace("2 + 2", "foo"), node("def foo : Nat := 3")),
            text_of(node("def foo : Nat := 3"), SUM.replace("2 + 2", "foo")),
        ),
    ],
    ids=["a new instance by attribute", "an old one made one", "an instance moved before", "a name moved before"],
)
def test_what_a_statement_can_mean_changes_with_what_stands_before_it(base: str, head: str) -> None:
    assert changes_of(head, base)["total"].meaning == "changed"


def test_a_tactics_attribute_changes_no_meaning() -> None:
    head = BASE.replace(ONE, ONE.replace("@[blueprint", "@[simp, blueprint"))
    assert changes_of(head).get("goal") is None


@pytest.mark.parametrize("old", ["def IsEven", "IsEven (n", "Prop :=", "theorem goal", "IsEven 4 :="])
@pytest.mark.parametrize("new", ["  ", "\n", " /- told -/ "])
def test_a_worker_leaves_even_the_blanks_of_other_nodes_as_they_are(old: str, new: str) -> None:
    assert {kind for kind, _ in breaches(BASE.replace(OWN, DONE).replace(old, old.replace(" ", new, 1)))} == {"part"}


def test_a_name_whose_guillemets_count_does_not_lend_its_meaning_to_another():
    true, sum_ = node("theorem a.b : 0 = 0"), node("theorem a.b : 1 + 1 = 2")
    base = version(text_of(sum_), Fact("a.b", type_hash="sum"))
    other = node("theorem «a.b» : 1 + 1 = 2")
    head = version(text_of(true, other), Fact("a.b", type_hash="true"), Fact("«a.b»", type_hash="sum"))
    assert {one.name: one.meaning for one in compare(base, head).nodes if not one.is_new} == {"a.b": "changed"}


@pytest.mark.parametrize("name", ["«x y»", "x!", "«x.y»"])
def test_a_new_node_of_any_name_that_a_later_statement_uses_is_a_hazard(name: str):
    goal = node(f"theorem goal : {name} = 4")
    found = compare(version(text_of(OWN, goal)), version(text_of(node(f"lemma {name} : Nat"), OWN, goal)), own="own")
    assert [one.hazards for one in found.nodes if one.is_new] == [("a name that the statement of 'goal' uses",)]


OPENED = "open Opened\n\n"
INNER = [
    "structure Opened where\n  IsEven : True",
    "structure Opened where\n  IsEven ::\n  x : True",
    "inductive Opened\n  | IsEven",
    "def Opened : True := IsEven where\n  IsEven := trivial",
    "lemma Opened : True := IsEven where\n  IsEven := trivial",
]


@pytest.mark.parametrize("declaration", INNER)
def test_what_lies_in_an_opened_namespace_can_take_a_name_of_later_text(declaration: str) -> None:
    helper = node(declaration)
    base, head = OPENED + text_of(ONE, OWN, GOAL), OPENED + text_of(ONE, helper, OWN, GOAL)
    assert changes_of(head, base)["Opened"].hazards == ("the name of a namespace that is opened",)
    assert changes_of(head, base)["goal"].meaning == "changed"
    closed = changes_of(head.removeprefix(OPENED), base.removeprefix(OPENED))
    assert (closed["Opened"].hazards, "goal" in closed) == ((), False)


def test_only_the_command_that_came_or_went_or_changed_places_is_named():
    first, second = "open A", "set_option a true"
    base = text_of(f"{first}\n\n{second}\n\n{ONE}", OWN)
    commands = {
        head: [(one.event, one.text) for one in changed(text_of(f"{head}\n\n{ONE}", OWN), base).commands]
        for head in (f"{first}\n\n{second}", f"open B\n\n{first}\n\n{second}", second, f"{second}\n\n{first}")
    }
    assert list(commands.values()) == [
        [],
        [("added", "open B")],
        [("removed", first)],
        [("added", second), ("removed", second)],
    ]
