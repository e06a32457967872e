"""The compiled evaluators against evaluation by definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core import config
from numpy.typing import NDArray

from ekiden_cayley.errors import CayleyError, StoppedError
from ekiden_cayley.kernel_cache import compiled_code_can_be_kept
from ekiden_cayley.kernels import (
    LAWS_PER_TASK,
    compile_law,
    first_refuting,
    refuted_rows,
    satisfied,
    satisfied_many,
)
from ekiden_cayley.stop import Stop
from ekiden_magma import Law, parse_law
from servers.cayley.strategies import as_magmas, laws, stacks_of_tables

Tables = NDArray[np.uint8]


@given(laws(), stacks_of_tables())
@settings(max_examples=150, deadline=None)
def test_a_table_satisfies_a_law_exactly_if_no_assignment_breaks_it(law: Law, tables: Tables) -> None:
    assert satisfied(law, tables).tolist() == [magma.satisfies(law) for magma in as_magmas(tables)]


@given(st.lists(laws(4, "xyz"), max_size=8), stacks_of_tables(3))
@settings(max_examples=50, deadline=None)
def test_many_laws_are_evaluated_like_each_alone(some: list[Law], tables: Tables) -> None:
    expected = [satisfied(law, tables).tolist() for law in some]
    assert satisfied_many(some, tables).tolist() == expected
    assert satisfied_many([compile_law(law) for law in some], tables).tolist() == expected


def test_laws_that_fill_several_tasks_keep_their_places() -> None:
    some = [parse_law(text) for text in ("x = x", "x = y", "x ◇ y = y ◇ x", "x ◇ x = x")] * LAWS_PER_TASK
    tables = np.array([[[0, 0], [0, 1]], [[0, 0], [1, 1]], [[1, 0], [0, 0]]], dtype=np.uint8)
    expected = [[True, True, True], [False, False, False], [True, False, True], [True, True, False]] * LAWS_PER_TASK
    assert satisfied_many(some, tables).tolist() == expected


@given(laws(4, "xyz"), laws(4, "xyz"), stacks_of_tables(3, 20))
@settings(max_examples=100, deadline=None)
def test_the_first_refuting_table_satisfies_law_1_and_not_law_2(law1: Law, law2: Law, tables: Tables) -> None:
    magmas = as_magmas(tables)
    expected = next((k for k, magma in enumerate(magmas) if magma.satisfies(law1) and not magma.satisfies(law2)), None)
    assert first_refuting(law1, law2, tables) == expected
    assert first_refuting(law1, law2, tables, stop=Stop()) == expected


@given(st.integers(0, 200), st.integers(0, 9), st.integers(1, 3), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_a_row_joins_what_the_magmas_of_its_law_fail(rows: int, magmas: int, words: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    holds = draw.random((rows, magmas)) < 0.3
    failed = draw.integers(0, 2**64, (magmas, words), dtype=np.uint64)
    expected = [
        [np.bitwise_or.reduce(failed[holds[row], word], initial=np.uint64(0)) for word in range(words)]
        for row in range(rows)
    ]
    assert refuted_rows(holds, failed).tolist() == np.array(expected, dtype=np.uint64).tolist()


def test_laws_of_six_variables_and_ten_operations_are_evaluated() -> None:
    left = "x ◇ (y ◇ (z ◇ (w ◇ (u ◇ v))))"
    right = "((((x ◇ y) ◇ z) ◇ w) ◇ u) ◇ v"
    sums = np.add.outer(np.arange(5), np.arange(5)) % 5
    differences = np.subtract.outer(np.arange(5), np.arange(5)) % 5
    tables = np.array([sums, differences], dtype=np.uint8)
    assert satisfied(parse_law(f"{left} = {right}"), tables).tolist() == [True, False]


def test_the_largest_order_is_255() -> None:
    sums = np.add.outer(np.arange(255), np.arange(255)) % 255
    spoilt = sums.copy()
    spoilt[254, 253] = 0
    tables = np.array([sums, spoilt], dtype=np.uint8)
    assert satisfied(parse_law("x ◇ y = y ◇ x"), tables).tolist() == [True, False]


@pytest.mark.parametrize(
    "tables",
    [
        np.zeros((2, 2), dtype=np.uint8),
        np.zeros((1, 2, 3), dtype=np.uint8),
        np.zeros((1, 0, 0), dtype=np.uint8),
        np.zeros((1, 256, 256), dtype=np.uint8),
        np.full((1, 2, 2), 2, dtype=np.uint8),
        np.full((1, 2, 2), 256),
        np.full((1, 2, 2), -1),
    ],
)
def test_what_is_no_stack_of_tables_is_refused(tables: Tables) -> None:
    with pytest.raises(CayleyError, match="Tables"):
        satisfied(parse_law("x = x"), tables)


def test_an_evaluation_that_would_take_years_stops_when_told() -> None:
    law = parse_law("(x ◇ y) ◇ (z ◇ (w ◇ (u ◇ v))) = x ◇ x")
    zeros = np.zeros((1, 255, 255), dtype=np.uint8)
    with pytest.raises(StoppedError):
        satisfied(law, zeros, stop=Stop(0.1))
    with pytest.raises(StoppedError):
        first_refuting(law, law, zeros, stop=Stop(0.1))


def test_compiled_code_is_kept_in_the_users_cache_when_the_package_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "package").write_text("a file where a folder should be", encoding="utf-8")
    assert compiled_code_can_be_kept(str(tmp_path / "package" / "kernels.py"))
    assert Path(cast("Any", config).CACHE_DIR).is_dir()


def test_compiled_code_is_not_kept_when_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert not compiled_code_can_be_kept(__file__)
