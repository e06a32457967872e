"""The packaged library, and the script that generates it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from typer.testing import CliRunner

from ekiden_cayley.candidates import neighbours, structured_families
from ekiden_cayley.errors import CayleyError
from ekiden_cayley.generate_library import app
from ekiden_cayley.library import LibraryTable, library, library_header, library_tables, read_library
from ekiden_cayley.separation import Separation, most_separating_first, packed_words, unpacked
from ekiden_magma import CayleyTable

DATA = Path(__file__).parents[2] / "data" / "problems"

Truths = NDArray[np.bool_]


@st.composite
def truths(draw: st.DrawFn) -> Truths:
    """For some magmas (rows) which laws they satisfy."""
    shape = draw(st.integers(0, 12)), draw(st.integers(1, 9))
    return np.random.default_rng(draw(st.integers(0, 2**32))).random(shape) < draw(st.sampled_from([0.3, 0.6, 0.9]))


def separated_by(magmas: Truths) -> set[tuple[int, int]]:
    return {(i, j) for magma in magmas for i in np.flatnonzero(magma).tolist() for j in np.flatnonzero(~magma).tolist()}


def test_packaged_tables_are_magmas_of_moderate_order_each_once_with_its_source() -> None:
    tables = library_tables()
    assert 100 <= len(tables) <= 2000
    assert len({(entry.order, entry.table.tobytes()) for entry in tables}) == len(tables)
    assert all(4 <= entry.order <= 13 and entry.method and entry.parameters for entry in tables)
    for entry in tables:
        CayleyTable.from_flat(entry.table.ravel().tolist())


def test_the_library_by_order_holds_the_same_tables_the_most_useful_first() -> None:
    by_order = library()
    assert list(by_order) == sorted({entry.order for entry in library_tables()})
    for order, tables in by_order.items():
        expected = [entry.table.tolist() for entry in library_tables() if entry.order == order]
        assert tables.tolist() == expected
        assert not tables.flags.writeable


def test_the_header_says_how_the_library_was_made() -> None:
    header = library_header()
    assert header["script"] == "ekiden_cayley.generate_library"
    assert header["tables"] == len(library_tables())
    assert header["laws"] == 4694


def test_packaged_linear_magmas_are_what_their_parameters_say() -> None:
    linear = [entry for entry in library_tables() if entry.method == "a*x + b*y + c mod n"]
    assert linear
    for entry in linear:
        a, b, c = entry.parameters
        x, y = np.indices((entry.order, entry.order))
        expected = (a * x + b * y + c) % entry.order
        assert entry.table.tolist() == (expected.T if entry.transposed else expected).tolist()


def generated(folder: Path, work: Path) -> str:
    laws = folder / "laws.txt"
    lines = (DATA / "equations.txt").read_text(encoding="utf-8").splitlines()[:60]
    laws.write_text("\n".join(lines), encoding="utf-8")
    out = folder / "library.jsonl"
    options = ["--out", out, "--work", work, "--laws", laws, "--scale", 0.005, "--passes", 3]
    result = CliRunner().invoke(app, [str(option) for option in options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return out.read_text(encoding="utf-8")


def test_generating_twice_gives_the_same_bytes_also_after_an_interruption(tmp_path: Path) -> None:
    whole = generated(tmp_path, tmp_path / "first")
    journal = (tmp_path / "first" / "sat.jsonl").read_text(encoding="utf-8")
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "sat.jsonl").write_text(journal[: len(journal) // 2], encoding="utf-8")
    assert generated(tmp_path, tmp_path / "second") == whole
    assert (tmp_path / "second" / "sat.jsonl").read_text(encoding="utf-8") == journal
    header, tables = read_library(whole)
    assert header["tables"] == len(tables) > 0
    assert header["separated_by_small_orders"] == 2299
    assert header["separated"] == 2312


@pytest.mark.parametrize("text", ["", "no json", '{"tables": 1}\n{"order": 2, "cells": "0120"}'])
def test_what_is_no_library_is_refused(text: str) -> None:
    with pytest.raises(CayleyError, match="no library"):
        read_library(text)


def test_families_depend_on_the_seed_alone_and_hold_tables() -> None:
    first, again, other = ([list(structured_families(seed, 0.002))] for seed in (1, 1, 2))
    for a, b in zip(first[0], again[0], strict=True):
        assert (a.method, a.tables.tolist(), a.parameters) == (b.method, b.tables.tolist(), b.parameters)
        assert a.tables.max() < a.tables.shape[1]
        assert len(a.tables) == len(a.parameters)
    assert any(a.parameters != b.parameters for a, b in zip(first[0], other[0], strict=True))


def test_neighbours_differ_in_the_named_cell_alone() -> None:
    table = np.array([[0, 1, 2], [2, 2, 2], [0, 0, 1]], dtype=np.uint8)
    near = neighbours(table)
    assert len(near.tables) == 18
    for other, (i, j, value) in zip(near.tables, near.parameters, strict=True):
        assert other[i, j] == value
        assert np.argwhere(other != table).tolist() == [[i, j]]


@given(truths())
@settings(deadline=None)
def test_packing_laws_into_words_can_be_undone(magmas: Truths) -> None:
    assert unpacked(packed_words(magmas), magmas.shape[1]).tolist() == magmas.tolist()


@given(truths())
@settings(deadline=None)
def test_gains_count_the_newly_separated_pairs(magmas: Truths) -> None:
    separation = Separation(magmas.shape[1])
    for count, satisfied in enumerate(packed_words(magmas)):
        expected = len(separated_by(magmas[: count + 1])) - len(separated_by(magmas[:count]))
        assert separation.gain(satisfied) == expected
        assert separation.add(satisfied) == expected
    assert separation.pairs == len(separated_by(magmas))


@given(truths())
@settings(deadline=None)
def test_the_greedy_choice_takes_the_most_separating_magma_each_time(magmas: Truths) -> None:
    separation = Separation(magmas.shape[1])
    chosen = most_separating_first(separation, list(packed_words(magmas)), limit=len(magmas))
    known: set[tuple[int, int]] = set()
    for number in chosen:
        gains = [len(separated_by(magma[None]) - known) for magma in magmas]
        assert gains[number] == max(gains) > 0
        known |= separated_by(magmas[number][None])
    assert known == separated_by(magmas)


@given(truths())
@settings(deadline=None)
def test_critical_pairs_are_open_and_generate_all_open_pairs(magmas: Truths) -> None:
    laws = magmas.shape[1]
    separation = Separation(laws)
    for satisfied in packed_words(magmas):
        separation.add(satisfied)
    reached = np.eye(laws, dtype=np.bool_)
    for pair in separation.critical_pairs([number % 3 for number in range(laws)]):
        assert not separation.separates(pair)
        reached[pair] = True
    for middle in range(laws):
        reached |= reached[:, [middle]] & reached[[middle]]
    everything = {(i, j) for i in range(laws) for j in range(laws)}
    assert {(i, j) for i, j in np.argwhere(reached).tolist()} == everything - separated_by(magmas)


def test_an_entry_knows_its_order() -> None:
    assert LibraryTable(np.zeros((5, 5), dtype=np.uint8), "a*x + b*y + c mod n", [0, 0, 0], transposed=False).order == 5
