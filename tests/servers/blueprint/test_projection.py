"""What Lean is given for a blueprint when there is no LeanArchitect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_blueprint import parse
from ekiden_blueprint.projection import Place, joined, prelude, projected

NODE = """@[blueprint "lem:a" (statement := /-- It holds -- "so" ] -/)
  (title := "A, b")]
theorem a : True := trivial
"""


def projection(text: str) -> str:
    return projected(parse(text))


def same_places(text: str, other: str) -> bool:
    """Whether a text is another one with some of its characters blank."""
    return len(text) == len(other) and all(
        one == two or (one == " " and two != "\n") for one, two in zip(other, text, strict=True)
    )


def test_a_lone_blueprint_attribute_is_blank_and_nothing_moves():
    found = projection(NODE)
    assert found.split() == ["theorem", "a", ":", "True", ":=", "trivial"]
    assert found.index("theorem") == NODE.index("theorem")
    assert found.count("\n") == NODE.count("\n")


@pytest.mark.parametrize(
    ("attribute", "left"),
    [
        ('@[blueprint "lem:a"]', ""),
        ('@[ blueprint "lem:a" ]', ""),
        ('@[blueprint "lem:a" -- why, though ]\n]', ""),
        ('@[simp, blueprint "lem:a"]', "@[simp]"),
        ('@[blueprint "lem:a", simp]', "@[simp]"),
        ('@[simp, blueprint "lem:a", ext]', "@[simp,ext]"),
        ('@[simp /- a, b -/, blueprint "lem:a" (title := /-- x, y -/)]', "@[simp/-a,b-/]"),
        ('@[simp] @[blueprint "lem:a"]', "@[simp]"),
        ('@[blueprint "lem:a"] @[simp, ext]', "@[simp,ext]"),
        ('@[deprecated "a, b", blueprint "lem:a"]', '@[deprecated"a,b"]'),
    ],
)
def test_other_attributes_stay_with_the_right_commas(attribute: str, left: str):
    text = f"{attribute}\ntheorem a : True := trivial\n"
    found = projection(text)
    assert "".join(found.partition("theorem")[0].split()) == left
    assert same_places(text, found)


def test_imports_and_options_of_architect_are_blank_and_others_stay():
    text = """import Mathlib.Order.Basic
import Architect
import Architect.Basic
import Architecture
set_option linter.all false
set_option blueprint.checkCyclicUses false
open Architect
theorem a : True := trivial
"""
    found = projection(text)
    assert [line for line in found.splitlines() if line.strip()] == [
        "import Mathlib.Order.Basic",
        "import Architecture",
        "set_option linter.all false",
        "open Architect",
        "theorem a : True := trivial",
    ]
    assert same_places(text, found)


def test_what_only_looks_like_an_attribute_stays():
    text = """/-- `@[blueprint "lem:x"]` is how a node begins. -/
theorem a : True := trivial
-- @[blueprint "lem:y"]
def text := "@[blueprint \\"lem:z\\"] import Architect"
"""
    assert projection(text) == text


def test_letters_beyond_ascii_count_as_one_place_each():
    text = '@[blueprint "lem:α" (statement := /-- ∀ x ∈ 𝕄 -/)]\ntheorem α₁ : True := by\n  sorry_using [β]\n'
    found = projection(text)
    assert found.index("theorem") == text.index("theorem")
    assert same_places(text, found)
    assert "sorry_using [β]" in found


@given(
    st.lists(st.sampled_from([NODE, '@[simp, blueprint "x"]', "/-", "-/", '"', "@[", "]", "\n", "import Architect\n"]))
)
def test_nothing_ever_moves_however_broken_the_text_is(pieces: list[str]):
    text = "".join(pieces)
    assert same_places(text, projection(text))


def test_files_in_one_keep_their_columns_and_tell_their_lines():
    first = parse(
        "import Init.Data\nnamespace Foo\nsection Bar\nvariable (x : Nat)\ntheorem a : True := trivial\n", "P/A.lean"
    )
    second = parse(f"import P.A\nimport Architect\nimport Init.Data\n{NODE}", "P/B.lean")
    found = joined([first, second])
    lines = found.text.splitlines()
    assert lines[0] == "import Init.Data"
    assert [line for line in lines[1:] if line.strip()] == [
        "section",
        "namespace Foo",
        "section Bar",
        "variable (x : Nat)",
        "theorem a : True := trivial",
        "end Bar",
        "end Foo",
        "end",
        "section",
        "theorem a : True := trivial",
        "end",
    ]
    places = [found.place(number) for number, line in enumerate(lines, 1) if line.startswith("theorem")]
    assert places == [Place("P/A.lean", 5), Place("P/B.lean", 6)]


def test_the_prelude_defines_what_the_projection_leaves():
    assert '"sorry_using"' in prelude()
    assert "import" not in prelude().partition("namespace")[2]
