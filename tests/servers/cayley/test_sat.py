"""SAT model finding against enumeration of all tables."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from ekiden_cayley.finite import permuted_lines
from ekiden_cayley.sat import find_model
from ekiden_cayley.small_orders import all_magmas
from ekiden_cayley.stop import Stop
from ekiden_magma import CayleyTable, Law, parse_law
from servers.cayley.strategies import as_magmas, laws

if TYPE_CHECKING:
    from ekiden_cayley.sat import SatResult

MAGMAS = {order: as_magmas(all_magmas(order)) for order in (1, 2, 3)}


def refuted_by(magma: CayleyTable, law1: Law, law2: Law) -> bool:
    return magma.satisfies(law1) and not magma.satisfies(law2)


def smallest_refuting(law1: Law, law2: Law, largest: int) -> int | None:
    for order in range(1, largest + 1):
        if any(refuted_by(magma, law1, law2) for magma in MAGMAS[order]):
            return order
    return None


def find(law1: Law, law2: Law, order: int, seed: int = 0) -> SatResult:
    result = find_model(law1, law2, order, Stop(), seed=seed)
    assert result != "stopped"
    return result


@settings(max_examples=120, deadline=None)
@given(law1=laws(5, "xyz"), law2=laws(5, "xyz"))
def test_the_smallest_order_with_a_model_is_that_of_enumeration(law1: Law, law2: Law) -> None:
    found = next((order for order in (2, 3) if isinstance(find(law1, law2, order), CayleyTable)), None)
    assert found == smallest_refuting(law1, law2, 3)


@settings(max_examples=60, deadline=None)
@given(law1=laws(6, "xyzw"), law2=laws(5, "xyz"))
def test_every_table_found_satisfies_law_1_and_breaks_law_2(law1: Law, law2: Law) -> None:
    result = find(law1, law2, 4)
    if isinstance(result, CayleyTable):
        assert refuted_by(result, law1, law2)


@settings(max_examples=60, deadline=None)
@given(law1=laws(6, "xyz"), law2=laws(5, "xyz"))
def test_a_pair_and_its_dual_have_models_of_the_same_smallest_order(law1: Law, law2: Law) -> None:
    def smallest(first: Law, second: Law) -> int | None:
        return next((order for order in (2, 3, 4) if isinstance(find(first, second, order), CayleyTable)), None)

    assert smallest(law1, law2) == smallest(law1.dual(), law2.dual())


@pytest.mark.parametrize(
    ("law1", "law2", "smallest"),
    [
        ("x = y ◇ (((x ◇ y) ◇ x) ◇ y)", "x = x ◇ (y ◇ y)", 7),
        ("x = (y ◇ y) ◇ (x ◇ (x ◇ y))", "x = y ◇ (((z ◇ z) ◇ y) ◇ x)", 5),
        ("x ◇ y = y ◇ x", "x ◇ y = x", 2),
    ],
)
def test_larger_orders_are_reached(law1: str, law2: str, smallest: int) -> None:
    results = [find(parse_law(law1), parse_law(law2), order) for order in range(2, smallest + 1)]
    assert results[:-1] == ["none"] * (smallest - 2)
    assert isinstance(results[-1], CayleyTable)
    assert refuted_by(results[-1], parse_law(law1), parse_law(law2))


def test_laws_without_common_variables_on_their_sides_are_encoded_as_constant() -> None:
    law1, law2 = parse_law("(x ◇ y) ◇ z = (w ◇ u) ◇ v"), parse_law("x ◇ y = z ◇ w")
    result = find(law1, law2, 3)
    assert isinstance(result, CayleyTable)
    assert refuted_by(result, law1, law2)


def test_equal_seeds_give_equal_tables_and_other_seeds_give_models_too() -> None:
    law1, law2 = parse_law("x = x ◇ (y ◇ x)"), parse_law("x = (x ◇ y) ◇ (z ◇ x)")
    tables = [find(law1, law2, 5, seed) for seed in (0, 0, 7, 7)]
    assert tables[0] == tables[1]
    assert tables[2] == tables[3]
    assert all(isinstance(table, CayleyTable) and refuted_by(table, law1, law2) for table in tables)


def test_an_order_with_too_many_clauses_is_given_up_at_once() -> None:
    many = parse_law("x = (y ◇ (z ◇ w)) ◇ ((u ◇ v) ◇ (x ◇ (y ◇ x)))")
    assert find(many, parse_law("x = y ◇ x"), 9) == "too large"
    assert find(parse_law("x ◇ y = y ◇ x"), parse_law("x = x ◇ x"), 21) == "too large"


def test_an_expired_stop_ends_the_search() -> None:
    stop = Stop()
    stop.cancel()
    assert find_model(parse_law("x = x ◇ x"), parse_law("x = y ◇ x"), 5, stop) == "stopped"


@settings(max_examples=200, deadline=None)
@given(law=laws(6, "xyz"))
def test_lines_said_to_be_permutations_are_in_all_small_models(law: Law) -> None:
    rows, columns = permuted_lines(law)
    for magma in MAGMAS[2] + MAGMAS[3][::7]:
        if (rows or columns) and magma.satisfies(law):
            assert not rows or all(len(set(row)) == magma.order for row in magma.rows)
            assert not columns or all(len(set(row)) == magma.order for row in magma.dual().rows)


def test_lines_are_derived_through_the_inverse_of_a_multiplication() -> None:
    assert permuted_lines(parse_law("x = y ◇ (((x ◇ y) ◇ x) ◇ y)")) == (True, True)
    assert permuted_lines(parse_law("x = y ◇ (y ◇ x)")) == (True, False)
    assert permuted_lines(parse_law("x ◇ y = y ◇ x")) == (False, False)


def test_brute_force_and_sat_agree_on_every_pair_of_short_laws() -> None:
    texts = ["x = x ◇ x", "x = x ◇ y", "x ◇ y = y ◇ x", "x ◇ x = y ◇ y", "x = y ◇ (x ◇ y)", "x = x ◇ (y ◇ x)"]
    for first, second in itertools.permutations(map(parse_law, texts), 2):
        expected = [any(refuted_by(m, first, second) for m in MAGMAS[order]) for order in (2, 3)]
        found = [isinstance(find(first, second, order), CayleyTable) for order in (2, 3)]
        assert found[0] == expected[0]
        assert any(found) == any(expected)
