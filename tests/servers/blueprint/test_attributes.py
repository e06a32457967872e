"""Attribute lists, cut into their entries: by the parser, the rules, the versions and the scopes alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blueprint_graphs import node, text_of
from ekiden_blueprint import Project, lex, masked, parse
from ekiden_blueprint.attributes import attribute_entries
from ekiden_blueprint.changes import compare
from ekiden_blueprint.rules import check
from ekiden_blueprint.version import Version
from ekiden_patch.comparing import attributes_in


def entries(text: str) -> list[tuple[str, str]]:
    code = masked(text, lex(text), strings=True)
    return [(entry.name, text[slice(*entry.span)]) for entry in attribute_entries(code)]


LISTS = {
    "@[]": [],
    "@[a]": ["a"],
    "@[ a , b ]": ["a", "b"],
    "@[a, b (x := 1), c]": ["a", "b", "c"],
    "@[simps (config := .asFn) (a, b), ext]": ["simps", "ext"],
    "@[to_additive (attr := simp, norm_cast) foo, coe]": ["to_additive", "coe"],
    "@[aesop safe [constructors, (cases (cases_patterns := [a, b]))], b]": ["aesop", "b"],
    "@[local simp, scoped instance, -ext, - grind]": ["simp", "instance", "ext", "grind"],
    '@[deprecated "use a, or ] (b" (since := "1, 2"), b]': ["deprecated", "b"],
    '@[deprecated r#"a ", "]"#, b]': ["deprecated", "b"],
    "@[a /- , hidden ] -/, b -- , c ]\n]": ["a", "b"],
    "@[blueprint /-- one, two ] -/, b]": ["blueprint", "b"],
    "@[a ',', b ']', c]": ["a", "b", "c"],
    "@[«a, b», c «d]», e]": ["«a, b»", "c", "e"],
    "@[specialize ⟨a, b⟩, c {d, e}]": ["specialize", "c"],
    "@[a] @[b, c]": ["a", "b", "c"],
    "@[simp 100, Foo.bar]": ["simp", "Foo.bar"],
    "@[a, , b,]": ["a", "b"],
    "@[5]": ["?"],
    "@[a, b": ["?", "?"],
    "@[a @[b, c]]": ["?", "b", "c"],
    "x[a, b] @ [c]": [],
}


@pytest.mark.parametrize("text", LISTS)
def test_a_list_is_cut_at_its_own_commas_alone(text: str) -> None:
    found = [name for name, _ in entries(text)]
    assert found == LISTS[text]
    assert attributes_in(masked(text, lex(text), strings=True)) == tuple(found)


def test_an_entry_is_told_as_it_is_written() -> None:
    assert entries("@[ local simp 5 , b (x := 1, 2) ]") == [("simp", "local simp 5"), ("b", "b (x := 1, 2)")]


EVEN = node("def two : Nat := 2")
GOAL = node("theorem goal : two = 2")


def with_attributes(*names: str) -> str:
    return text_of(*(EVEN.replace("@[blueprint", f"@[{name}, blueprint") for name in names), GOAL)


HARMLESS = ["simps (config := a, b)", 'deprecated "a, ] b"', "aesop safe [x, y]", "simp /- , coe ] -/", "local simp"]


@pytest.mark.parametrize("name", HARMLESS)
def test_a_comma_inside_an_entry_makes_no_attribute_that_changes_meanings(name: str) -> None:
    base, head = (Version(Project([parse(text, "Main.lean")])) for text in (text_of(EVEN, GOAL), with_attributes(name)))
    assert {each.name for each in compare(base, head).nodes if each.meaning == "changed"} == set()
    assert [text for _, text in head.attributes(head.nodes["two"])] == [
        " ".join(name.replace("/- , coe ] -/", "").split())
    ]


@pytest.mark.parametrize("name", ["coe", "instance 100", "simp, reducible", 'foo ",", instance', "to_additive (a, b)"])
def test_an_attribute_that_changes_meanings_is_seen_beside_commas(name: str) -> None:
    base, head = (Version(Project([parse(text, "Main.lean")])) for text in (text_of(EVEN, GOAL), with_attributes(name)))
    assert {each.name for each in compare(base, head).nodes if each.meaning == "changed"} == {"two", "goal"}


def test_a_changed_string_of_an_attribute_changes_meanings() -> None:
    base, head = (Version(Project([parse(with_attributes(f'foo "{x}"'), "Main.lean")])) for x in "ab")
    assert {each.name for each in compare(base, head).nodes if each.meaning == "changed"} == {"two", "goal"}


@pytest.mark.parametrize(
    ("name", "reported"), [("simps (a, foo)", 0), ('foo "," (x, y)', 1), ("foo, bar", 2), ("«foo, bar»", 1)]
)
def test_each_attribute_that_is_not_allowed_is_reported_once(name: str, reported: int) -> None:
    findings = check(Project([parse(with_attributes(name), "Main.lean")]))
    assert [found.rule for found in findings].count("BP812") == reported


@given(
    st.lists(st.sampled_from(["a", "(", ")", "[", "]", "{", "}", "⟨", "⟩", ",", " ", "«", "»", '"', "@["]), max_size=14)
)
def test_the_parser_and_the_rules_cut_alike(pieces: list[str]) -> None:
    text = f'@[blueprint "lem:x", {"".join(pieces)}]\nlemma x : True := by\n  sorry\n'
    file = parse(text)
    if len(file.nodes) == 1 and not file.problems and len(file.commands) == 1 and file.nodes[0].keyword:
        node = file.nodes[0]
        first, *others = attribute_entries(masked(text, file.regions, strings=True), *node.attribute)
        assert (first.name, first.span.start) == ("blueprint", node.blueprint.start)
        assert not any(node.blueprint.holds(other.span) for other in others)
