"""All small magmas, and all small laws, each once."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ekiden_cayley.errors import CayleyError
from ekiden_cayley.law_list import all_laws
from ekiden_cayley.small_orders import all_magmas
from ekiden_magma import Law, read_laws

EQUATIONS = Path(__file__).parents[2] / "data" / "problems" / "equations.txt"


def first_of_class(cells: tuple[int, ...], order: int) -> tuple[int, ...]:
    """The isomorphic table whose cells come first, by definition."""
    renamed: list[tuple[int, ...]] = []
    for images in itertools.permutations(range(order)):
        table = {(images[i], images[j]): images[cells[i * order + j]] for i in range(order) for j in range(order)}
        renamed.append(tuple(table[place] for place in itertools.product(range(order), range(order))))
    return min(renamed)


@pytest.mark.parametrize(("order", "classes"), [(1, 1), (2, 10), (3, 3330)])
def test_magmas_are_counted_up_to_isomorphism(order: int, classes: int) -> None:
    tables = [tuple(table.ravel().tolist()) for table in all_magmas(order)]
    assert len(set(tables)) == classes
    assert tables == sorted(tables)
    assert all(table == first_of_class(table, order) for table in tables)


@given(st.integers(1, 3).flatmap(lambda n: st.tuples(*[st.integers(0, n - 1)] * (n * n))))
def test_every_small_table_and_its_transpose_have_their_class_in_the_list(cells: tuple[int, ...]) -> None:
    order = math.isqrt(len(cells))
    listed = {tuple(table.ravel().tolist()) for table in all_magmas(order)}
    transposed = tuple(cells[j * order + i] for i in range(order) for j in range(order))
    assert {first_of_class(cells, order), first_of_class(transposed, order)} <= listed


@pytest.mark.parametrize("order", [0, 4])
def test_other_orders_are_refused(order: int) -> None:
    with pytest.raises(CayleyError, match=f"not for {order}"):
        all_magmas(order)


def normal(law: Law) -> str:
    return min(str(law.canonical()), str(law.swapped().canonical()))


def test_all_laws_with_up_to_four_operations_are_the_4694_of_the_reference_list() -> None:
    generated = [normal(law) for law in all_laws(4)]
    assert len(generated) == len(set(generated)) == 4694
    assert set(generated) == {normal(law) for law in read_laws(EQUATIONS)}


def test_laws_are_counted_by_operations() -> None:
    assert [len(all_laws(operations)) for operations in range(4)] == [2, 7, 46, 410]
