"""What an edit of a node is refused for, decided on data alone."""

import pytest

from ekiden_policies.edit_scope import (
    Change,
    EditableSpan,
    EditScope,
    FileScope,
    HelperCommand,
    HelperRules,
    NodeEdit,
    Oddity,
    Place,
    judge_new_problems,
    judge_node_edit,
    nearest_span,
)

RULES = HelperRules()
HERE = Place(7, 1)
TITLE = EditableSpan("title", 40, 50, Place(4, 11), Place(4, 21))
BODY = EditableSpan("body", 80, 100, Place(6, 1), Place(8, 1))
SPANS = (EditableSpan("helper_area", 10, 11, Place(2, 1), Place(3, 1)), TITLE, BODY)


def change(start: int, end: int, new_text: str = "x") -> Change:
    return Change(start, end, new_text, Place(1, start), Place(1, end))


def codes(edit: NodeEdit, rules: HelperRules = RULES) -> list[str]:
    return [violation.code for violation in judge_node_edit(edit, rules, "target")]


def helper(**parts: object) -> HelperCommand:
    usual = HelperCommand(True, True, "lemma", "aux", ("private",), ("blueprint",), "", HERE)
    return usual._replace(**parts)


def test_an_edit_without_fault_is_allowed() -> None:
    assert codes(NodeEdit(SPANS, (change(40, 50),), helpers=(helper(),))) == []


def test_each_change_of_frozen_text_is_told_with_the_nearest_span() -> None:
    edit = NodeEdit(SPANS, (change(45, 46), change(60, 62), change(79, 79)), frozen=(Oddity("a part", HERE),))
    found = judge_node_edit(edit, RULES, "target")
    assert [(each.code, each.first, each.nearest) for each in found] == [
        ("outside_scope", Place(1, 60), TITLE),
        ("outside_scope", Place(1, 79), BODY),
    ]
    assert found[0].message == (
        "replace at original 1:60-1:62 is outside the editable spans; the nearest editable span is title 4:11-4:21."
    )


def test_frozen_text_that_reads_differently_is_refused_wherever_the_change_is() -> None:
    assert codes(NodeEdit(SPANS, (change(45, 46),), frozen=(Oddity("a part", HERE),))) == ["frozen_changed"]


@pytest.mark.parametrize(("found", "code"), [(0, "node_lost"), (2, "node_repeated")])
def test_a_node_that_is_lost_or_doubled_is_refused(found: int, code: str) -> None:
    assert codes(NodeEdit(SPANS, (change(45, 46),), found=found)) == [code]


def test_new_syntax_problems_are_refused() -> None:
    assert [each.code for each in judge_new_problems([Oddity("unclosed", HERE)])] == ["syntax_problem"]
    assert codes(NodeEdit(SPANS, (), problems=(Oddity("unclosed", HERE),))) == ["syntax_problem"]


@pytest.mark.parametrize(
    ("placeholder", "grows", "rewritten", "expected"),
    [
        (True, False, False, ["appended_after_placeholder"]),
        (True, False, True, ["appended_after_placeholder"]),
        (False, False, False, ["appended_after_proof"]),
        (False, True, False, []),
        (False, False, True, []),
    ],
)
def test_lines_after_a_body_need_a_proof_that_can_grow_or_is_rewritten(
    placeholder: bool, grows: bool, rewritten: bool, expected: list[str]
) -> None:
    edit = NodeEdit(
        SPANS,
        (change(100, 100),),
        after_body=change(100, 100),
        body_is_placeholder=placeholder,
        body_can_grow=grows,
        body_is_rewritten=rewritten,
    )
    assert codes(edit) == expected


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ({"declares": False, "is_node": False, "keyword": "open"}, "helper_command"),
        ({"keyword": "theorem"}, "helper_keyword"),
        ({"is_node": False}, "helper_command"),
        ({"name": ""}, "helper_without_name"),
        ({"captured": "Nat"}, "helper_captures_name"),
        ({"modifiers": ("unsafe",)}, "helper_modifier"),
        ({"attributes": ("blueprint", "simp")}, "helper_attribute"),
    ],
)
def test_a_helper_that_reaches_beyond_itself_is_refused(parts: dict[str, object], code: str) -> None:
    assert codes(NodeEdit(SPANS, (), helpers=(helper(**parts),))) == [code]


def test_a_scope_allows_more_as_data() -> None:
    rules = HelperRules(commands=frozenset({"open", "theorem"}), attributes=frozenset({"simp"}), bare=True)
    opened = helper(declares=False, is_node=False, keyword="open", attributes=())
    bare = helper(keyword="lemma", is_node=False, attributes=("simp",))
    assert codes(NodeEdit(SPANS, (), helpers=(opened, bare, helper(keyword="theorem", attributes=()))), rules) == []


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"continued": (Oddity("lemma a", HERE),)}, "continues_frozen_text"),
        ({"body_commands": (Oddity("axiom", HERE),)}, "command_in_body"),
        ({"unindented": (Oddity("rfl", HERE),)}, "unindented_line"),
        ({"stray": (Oddity("word", HERE),)}, "stray_text"),
        ({"body_attributes": (Oddity("simp", HERE),)}, "helper_attribute"),
    ],
)
def test_what_a_body_or_a_helper_area_must_not_hold_is_refused(facts: dict[str, tuple[Oddity]], code: str) -> None:
    found = judge_node_edit(NodeEdit(SPANS, (), **facts), RULES, "target")  # pyright: ignore[reportArgumentType]  # one fact a case
    assert [(each.code, each.text, each.first) for each in found] == [(code, "new", HERE)]


def test_the_nearest_span_is_the_one_with_the_least_between() -> None:
    assert nearest_span(SPANS, 52, 60) == TITLE
    assert nearest_span(SPANS, 85, 86) == BODY
    assert nearest_span((), 1, 2) is None


@pytest.mark.parametrize(
    ("scope", "flaw"),
    [
        (EditScope((FileScope("a.md", "x"),)), "'a.md' is no Lean file and has no node 'x'."),
        (EditScope((FileScope("A.lean"),), role="worker"), "the scope names none for 'A.lean'."),
        (EditScope(any_file=True, role="worker"), "the scope names none."),
        (EditScope((FileScope("A.lean"), FileScope("A.lean", "x"))), "The scope names 'A.lean' twice."),
    ],
)
def test_a_scope_that_contradicts_itself_says_so(scope: EditScope, flaw: str) -> None:
    assert str(scope.flaw()).endswith(flaw)


def test_a_sound_scope_has_no_flaw() -> None:
    assert EditScope((FileScope("A.lean", "x"), FileScope("docs/state.md")), role="worker").flaw() is None
    assert EditScope((FileScope("A.lean"),), role="refiner").flaw() is None
