"""Cayley tables: their three texts, and what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_magma import CayleyTable, MagmaError, parse_law
from servers.magma.strategies import tables


@given(tables(1, 12))
def test_a_table_reads_back_from_rows_and_from_a_flat_list(table: CayleyTable):
    flat = json.dumps([value for row in table.rows for value in row])
    assert CayleyTable.parse(table.to_json()) == CayleyTable.parse(flat) == table


@given(tables(1, 10))
def test_a_table_up_to_order_10_reads_back_from_digits(table: CayleyTable):
    assert CayleyTable.parse("".join(str(value) for row in table.rows for value in row)) == table


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[0,1],[1]]", "Row 1 of the table has 1 entries; a table of order 2 needs 2."),
        ("[[0,2],[1,0]]", "The product 0 ◇ 1 is 2; a table of order 2 holds 0..1."),
        ("[[0,true],[1,0]]", "The product 0 ◇ 1 is True; a table of order 2 holds 0..1."),
        ("[[0,-1],[1,0]]", "The product 0 ◇ 1 is -1; a table of order 2 holds 0..1."),
        ("[[0,1.0],[1,0]]", "The product 0 ◇ 1 is 1.0; a table of order 2 holds 0..1."),
        ("[0,1,1]", "A table has n * n cells; 3 is no square number."),
        ("010", "A table has n * n cells; 3 is no square number."),
        (f"[[{10**4000}]]", "The product 0 ◇ 0 is a huge number; a table of order 1 holds 0..0."),
    ],
)
def test_a_text_that_is_no_table_is_refused_by_its_cell(text: str, message: str):
    with pytest.raises(MagmaError) as caught:
        CayleyTable.parse(text)
    assert str(caught.value) == message


@given(st.text(max_size=40) | st.sampled_from(["[" * 100_000, "9" * 5000, "[" + "9" * 5000 + "]", "\ud800", "٣", "²"]))
def test_any_text_is_a_table_or_a_magma_error(text: str):
    try:
        table = CayleyTable.parse(text)
    except MagmaError:
        return
    assert CayleyTable.parse(table.to_json()) == table


@pytest.mark.parametrize("assignment", [{"x": 0}, {"x": 0, "y": 2}, {"x": 0, "y": True}, {"x": 0, "y": -1}])
def test_an_assignment_must_give_every_variable_an_element(assignment: dict[str, int]):
    with pytest.raises(MagmaError, match=r"The variable 'y' is .*; it needs a value in 0..1."):
        CayleyTable.parse("0110").evaluate(parse_law("x = y"), assignment)
