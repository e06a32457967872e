"""Scanning all ordered pairs of a list of laws."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet  # pyright: ignore[reportMissingTypeStubs]  # pyarrow ships no types

from ekiden_cayley.errors import CayleyError, StoppedError
from ekiden_cayley.scan import ScanProgress, ScanReport, scan, sign, useful_magmas
from ekiden_cayley.stop import Stop
from ekiden_magma import Law, parse_law, read_laws
from servers.cayley.strategies import as_magmas, laws, stacks_of_tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

EQUATIONS = Path(__file__).parents[2] / "data" / "problems" / "equations.txt"


def read_matrix(folder: Path, laws: int) -> NDArray[np.bool_]:
    packed = np.load(folder / "refuted.npy")
    return np.unpackbits(packed, axis=1, count=laws, bitorder="little").astype(np.bool_)


def by_definition(some: list[Law], stacks: list[NDArray[np.uint8]]) -> list[list[bool]]:
    magmas = [magma for tables in stacks for magma in as_magmas(tables)]
    truths = [[magma.satisfies(law) for magma in magmas] for law in some]
    return [[any(a and not b for a, b in zip(one, two, strict=True)) for two in truths] for one in truths]


@given(st.lists(laws(4, "xyz"), min_size=1, max_size=10), st.lists(stacks_of_tables(3, 6), max_size=3))
@settings(max_examples=40, deadline=None)
def test_a_scan_refutes_what_some_magma_refutes(
    tmp_path_factory: pytest.TempPathFactory, some: list[Law], stacks: list[NDArray[np.uint8]]
) -> None:
    out = tmp_path_factory.mktemp("scan")
    report = scan(some, out, magmas=stacks)
    expected = by_definition(some, stacks)
    assert read_matrix(out, len(some)).tolist() == expected
    assert report.refuted == sum(map(sum, expected))
    assert report.magmas == sum(map(len, stacks))


@given(st.lists(laws(4, "xyz"), min_size=1, max_size=6), st.lists(stacks_of_tables(3, 6), max_size=3))
@settings(max_examples=40, deadline=None)
def test_a_refuted_pair_has_a_witness_and_no_other_pair_has_one(
    some: list[Law], stacks: list[NDArray[np.uint8]]
) -> None:
    signatures = sign(some, stacks)
    for i, row in enumerate(by_definition(some, stacks)):
        for j, refuted in enumerate(row):
            witness = signatures.witness(i, j)
            assert (witness is not None) == refuted
            assert witness is None or (witness.satisfies(some[i]) and not witness.satisfies(some[j]))


def test_the_folder_holds_the_matrix_the_report_and_on_request_the_pairs(tmp_path: Path) -> None:
    some = [parse_law(text) for text in ("x = x", "x = y", "x ◇ y = y ◇ x", "x = x", "x ◇ x = x ◇ x")]
    report = scan(some, tmp_path / "new" / "folder", parquet=True)
    folder = tmp_path / "new" / "folder"
    assert sorted(path.name for path in folder.iterdir()) == ["refuted.npy", "refuted.parquet", "scan.json"]
    assert ScanReport.model_validate_json((folder / "scan.json").read_text(encoding="utf-8")) == report
    assert report == ScanReport(
        laws=5,
        pairs=25,
        refuted=7,
        complete=True,
        magmas=sum(map(len, useful_magmas())),
        seconds=report.seconds,
        laws_sha256=hashlib.sha256("".join(f"{law}\n" for law in some).encode()).hexdigest(),
        matrix="refuted.npy",
        parquet="refuted.parquet",
    )
    pairs = cast("Any", parquet).read_table(folder / "refuted.parquet").to_pylist()
    refuted = [(1, 2), (1, 3), (3, 2), (4, 2), (4, 3), (5, 2), (5, 3)]
    assert [(row["law1"], row["law2"]) for row in pairs] == refuted
    assert [(i + 1, j + 1) for i, j in np.argwhere(read_matrix(folder, 5)).tolist()] == refuted
    scan(some[:2], folder)
    assert sorted(path.name for path in folder.iterdir()) == ["refuted.npy", "scan.json"]


def test_many_laws_are_written_in_several_batches_with_their_rows_in_place(tmp_path: Path) -> None:
    pattern = ["x = x", "x = y", "x ◇ y = y ◇ x"]
    some = [parse_law(pattern[number % 3]) for number in range(2501)]
    seen: list[ScanProgress] = []
    report = scan(some, tmp_path, progress=seen.append)
    matrix = read_matrix(tmp_path, 2501)
    expected = np.array([[False, True, True], [False, False, False], [False, True, False]])
    kinds = np.arange(2501) % 3
    assert (matrix == expected[np.ix_(kinds, kinds)]).all()
    assert report.refuted == int(matrix.sum())
    for phase in ("evaluate", "join"):
        steps = [at for at in seen if at.phase == phase]
        assert [at.done for at in steps] == sorted({at.done for at in steps})
        assert {at.total for at in steps} == {steps[-1].done}


def test_a_law_by_itself_is_never_refuted(tmp_path: Path) -> None:
    assert scan([parse_law("x ◇ x = x")], tmp_path).refuted == 0


def test_no_laws_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CayleyError, match="at least one law"):
        scan([], tmp_path)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(CayleyError, match=r"Cannot write the scan to '.*file'"):
        scan([parse_law("x = x")], tmp_path / "file")


def test_at_the_time_limit_a_scan_keeps_what_it_found(tmp_path: Path) -> None:
    laws_with_years_of_work = [parse_law("x = x"), parse_law("(x ◇ y) ◇ (z ◇ (w ◇ (u ◇ v))) = x ◇ x")]
    stacks = [np.array([[[0, 1], [0, 1]]], dtype=np.uint8), np.zeros((1, 255, 255), dtype=np.uint8)]
    report = scan(laws_with_years_of_work, tmp_path, magmas=stacks, time_limit_s=2)
    assert (report.complete, report.magmas) == (False, 1)
    nothing = scan(laws_with_years_of_work, tmp_path, magmas=stacks, time_limit_s=0)
    assert (nothing.complete, nothing.magmas, nothing.refuted) == (False, 0, 0)
    assert not read_matrix(tmp_path, 2).any()


def test_a_cancelled_scan_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    some = read_laws(EQUATIONS)[:200]
    scan(some[:3], tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for phase in ("evaluate", "join"):
        stop = Stop()

        def cancel(at: ScanProgress, phase: str = phase, stop: Stop = stop) -> None:
            if at.phase == phase:
                stop.cancel()

        with pytest.raises(StoppedError, match="cancelled"):
            scan(some * 6, tmp_path, stop=stop, progress=cancel, parquet=True)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_full_scan_refutes_what_is_promised_and_a_sample_survives_brute_force(tmp_path: Path) -> None:
    some = read_laws(EQUATIONS)
    report = scan(some, tmp_path)
    assert report.pairs == 22_033_636
    assert report.refuted >= 13_800_000
    matrix = read_matrix(tmp_path, len(some))
    assert int(matrix.sum()) == report.refuted
    assert json.loads((tmp_path / "scan.json").read_text(encoding="utf-8"))["refuted"] == report.refuted
    signatures = sign(some)
    for i, j in random.Random(20).sample(np.argwhere(matrix).tolist(), 1000):
        witness = signatures.witness(i, j)
        assert witness is not None
        assert witness.satisfies(some[i])
        assert not witness.satisfies(some[j])
