"""Laws and terms: reading, printing, renaming, mirroring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_magma import CayleyTable, Law, LawSyntaxError, MagmaError, Term, Variable, parse_law, parse_term, read_laws
from servers.magma.strategies import holds_in, laws, tables, terms

if TYPE_CHECKING:
    from pathlib import Path

FAR_NAMES = "xyzwuvqpah"


@given(terms(8, FAR_NAMES))
def test_a_printed_term_reads_back(term: Term):
    assert parse_term(str(term)) == term


@given(laws(6, FAR_NAMES), st.sampled_from(["◇", "*"]), st.sampled_from(["", " ", "\n"]))
def test_a_printed_law_reads_back_whatever_the_sign_and_the_blanks(law: Law, sign: str, blank: str):
    assert parse_law(str(law).replace("◇", sign).replace(" ", blank)) == law


def test_a_chain_without_parentheses_associates_to_the_left():
    assert parse_law("x ◇ y ◇ z = x") == parse_law("(x ◇ y) ◇ z = x")


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("", 0, "the text is empty; a law looks like 'x ◇ y = y ◇ x'"),
        ("x ◇ y", 5, "expected '=' or '◇' here, found the end of the text"),
        ("x = y = z", 6, "a law has exactly one '='"),
        ("x ◇ (y = z", 7, "expected ')' for the '(' at character 5, found '='"),
        ("x ◇ = y", 4, "expected a variable or '(' here, found '='"),
        ("xy = x", 1, "a variable is one lower-case letter; write 'x ◇ y' for a product"),
        ("x = y)", 5, "this ')' has no '('"),
        ("x = X", 4, "expected a variable or '(' here, found 'X'"),
        ("x = " + "(" * 300, 204, "parentheses are nested more than 200 deep"),
    ],
)
def test_a_text_that_is_no_law_is_refused_with_its_position(text: str, position: int, reason: str):
    with pytest.raises(LawSyntaxError) as caught:
        parse_law(text)
    assert (caught.value.position, caught.value.reason) == (position, reason)


@given(laws(6, FAR_NAMES))
def test_renaming_canonically_twice_is_renaming_once(law: Law):
    canonical = law.canonical()
    assert canonical.canonical() == canonical
    assert canonical.variables == tuple("xyzwuvrstabc"[: len(law.variables)])


@given(laws(5, "hba"), tables())
def test_renaming_keeps_the_meaning(law: Law, table: CayleyTable):
    assert table.satisfies(law) == table.satisfies(law.canonical())


@given(laws(6), tables())
def test_the_dual_holds_in_the_transposed_table(law: Law, table: CayleyTable):
    assert law.dual().dual() == law
    assert table.dual().dual() == table
    assert table.satisfies(law) == table.dual().satisfies(law.dual())


@given(laws(), laws())
def test_substituting_is_replacing_all_variables_at_once(law: Law, other: Law):
    images: dict[str, Term] = {"x": other.left, "y": other.right}
    marked = {"x": Variable("p"), "y": Variable("q")}
    one_by_one = law.substitute(marked).substitute({"p": other.left}).substitute({"q": other.right})
    assert law.substitute(images) == one_by_one


@given(laws(), tables(1, 3))
def test_a_table_satisfies_what_brute_force_says_and_shows_a_witness_otherwise(law: Law, table: CayleyTable):
    witness = table.counterexample(law)
    assert (witness is None) == holds_in(law, table)
    if witness is not None:
        left, right = table.evaluate(law, witness)
        assert left != right


def test_laws_are_read_from_a_file_line_by_line(tmp_path: Path):
    path = tmp_path / "laws.txt"
    path.write_text("x = y\nx*y = x\n", encoding="utf-8")
    assert read_laws(path) == [parse_law("x = y"), parse_law("x ◇ y = x")]
    path.write_text("x = y\nx = x *\n", encoding="utf-8")
    with pytest.raises(MagmaError, match=r"laws.txt:2: Cannot read the law 'x = x \*'"):
        read_laws(path)
