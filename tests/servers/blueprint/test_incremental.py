"""A parse after an edit equals a parse from scratch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ekiden_blueprint import BlueprintFile, parse
from servers.blueprint.lean_texts import COMMANDS, NODE, SPACES, TOKENS, files, token_soup

if TYPE_CHECKING:
    from collections.abc import Sequence

BASE = "".join(NODE.format(number) + "\n" for number in range(12))
ENDS = "end\n" * 6
inserts = st.one_of(st.sampled_from([*TOKENS, *SPACES, *COMMANDS, "«a", "\x01", "\x02"]), st.text(max_size=3))
edits = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), inserts), min_size=1, max_size=6)


def edited(text: str, edit: tuple[float, int, str]) -> str:
    where, removed, inserted = edit
    at = int(where * len(text))
    return text[:at] + inserted + text[at + removed :]


def everything(file: BlueprintFile) -> tuple[object, ...]:
    return file.pieces, file.nodes, file.commands, file.regions, file.problems


def assert_parses_alike(text: str, changes: Sequence[tuple[float, int, str]]) -> None:
    file = parse(text, "a.lean")
    for change in changes:
        text = edited(text, change)
        file = parse(text, "a.lean", previous=file)
        assert everything(file) == everything(parse(text, "a.lean"))


@settings(max_examples=400)
@given(st.one_of(files, token_soup, st.just(BASE)), edits)
def test_a_parse_after_edits_equals_a_parse_from_scratch(text: str, changes: list[tuple[float, int, str]]):
    assert_parses_alike(text, changes)


@settings(max_examples=200)
@given(files, files)
def test_a_parse_may_be_given_any_other_file_as_the_previous_one(old: str, new: str):
    assert everything(parse(new, previous=parse(old))) == everything(parse(new))


@pytest.mark.parametrize(
    "inserted", ["/-", "-/", '"', "@[", "private\n", "/-- d -/\n", "open A in\n", "x", "'", 's!"{']
)
def test_an_insertion_at_any_command_s_beginning_or_end_is_seen(inserted: str):
    file = parse(BASE)
    for command in file.commands:
        for at in command.span:
            text = BASE[:at] + inserted + BASE[at:]
            assert everything(parse(text, previous=file)) == everything(parse(text))


def test_unchanged_nodes_are_taken_over():
    before = parse(BASE)
    after = parse(BASE.replace("let y := 6", "let y := 66"), previous=before)
    kept = [new.parts is old.parts for new, old in zip(after.nodes, before.nodes, strict=True)]
    assert kept.count(False) <= 5
    assert kept[0]
    assert kept[-1]
    assert not kept[6]


def test_nodes_after_an_edit_have_their_new_place_and_path():
    before = parse(BASE, "a.lean")
    text = "-- more\n" + BASE
    node = parse(text, "b.lean", previous=before).nodes[-1]
    assert node.path == "b.lean"
    assert text[node.name_span.start : node.name_span.end] == node.name == "n11"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@[ private\nend\nattribute [simp] b\nend\n", "@[ private\nend\nset_option a true in\nb] b\nend\n"),
        ("lemma a : q @[\n" + ENDS + "open A\n" + ENDS, "lemma a : q @[\n" + ENDS + "open A ]\n" + ENDS),
        ("lemma a : q\n" + ENDS + "open A ]\n" + ENDS, "lemma a : q @[\n" + ENDS + "open A ]\n" + ENDS),
        ("attribute [a\nend\nopen [A]\nend\n", "attribute [a\nend\nopen A]\nend\n"),
        ('def a := s!"{1\nend\nend\nend\nend\nx}"\nend\nend\n', 'def a := s!"{1\nend\nend\nend\nend\ny}"\nend\nend\n'),
        (
            "open A in\nopen B in\nopen C in\nopen D in\nlemma a : p\n",
            "open A in\nopen B in\nopen C in\nopen D in\nx\n",
        ),
        (
            "  open A in\n  open B in\n  open C in\n  end\nend\nend\n",
            "  open A in\n  open B in\n  open C in\n  x\nend\nend\n",
        ),
    ],
)
def test_what_a_far_edit_changes_is_seen(old: str, new: str):
    before = "def x := 1\n" * 6
    assert everything(parse(before + new, previous=parse(before + old))) == everything(parse(before + new))
