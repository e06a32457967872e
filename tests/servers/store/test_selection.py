"""Choosing theorems."""

import json
from pathlib import Path

import pytest

from ekiden_store import StoreError
from ekiden_store.queries.selection import Exclusion, read_names, select_theorems, write_selection

NAMES = [f"t{number}" for number in range(100)]


def test_what_is_left_out_is_counted_once_and_overlaps_are_told():
    without = {"easy": [*NAMES[:30], "elsewhere"], "searched": NAMES[20:50], "shallow": NAMES[90:]}
    found = select_theorems([*NAMES, *NAMES], without=without, count=10, seed=42)
    assert (found.total, found.excluded, found.eligible, len(found.chosen)) == (100, 60, 40, 10)
    assert found.exclusions == {
        "easy": Exclusion(31, 30, 20),
        "searched": Exclusion(30, 30, 20),
        "shallow": Exclusion(10, 10, 10),
    }
    assert found.overlaps == {"easy & searched": 10}
    assert set(found.chosen) <= set(NAMES[50:90])


def test_the_choice_depends_on_the_names_and_the_seed_alone():
    chosen = select_theorems(NAMES, without={}, count=20, seed=1).chosen
    assert chosen == select_theorems(reversed(NAMES), without={"none": []}, count=20, seed=1).chosen
    assert chosen != select_theorems(NAMES, without={}, count=20, seed=2).chosen
    assert set(chosen) < set(select_theorems(NAMES, without={}, count=30, seed=1).chosen)
    assert select_theorems(NAMES, without={}, count=None, seed=1).chosen == tuple(sorted(NAMES))


@pytest.mark.parametrize("count", [-1, 71])
def test_more_than_remain_cannot_be_chosen(count: int):
    with pytest.raises(StoreError, match=f"^{count} theorems cannot be chosen: of 100, 30 are left out, so 70 remain"):
        select_theorems(NAMES, without={"easy": NAMES[:30]}, count=count, seed=1)


def test_names_are_read_from_the_files_that_hold_them(tmp_path: Path):
    texts = {
        "names.txt": "a\n\nb \n",
        "names.json": '["a", "b"]',
        "index.json": '{"theorems": [{"name": "a", "statement": "x"}, {"name": "b"}]}',
        "probe.json": '{"easy": [{"name": "a"}, {"name": "b"}], "hard": [{"name": "c"}]}',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        assert read_names(tmp_path / name) == {"a", "b"}
    selection = select_theorems(NAMES, without={}, count=3, seed=1)
    write_selection(tmp_path / "chosen.json", selection)
    assert read_names(tmp_path / "chosen.json") == set(selection.chosen)
    assert json.loads((tmp_path / "chosen.json").read_text())["seed"] == 1


@pytest.mark.parametrize("text", ["{", "{}", "3", '[{"statement": "x"}]', '[" "]', '{"theorems": 1}'])
def test_a_file_without_names_is_refused(tmp_path: Path, text: str):
    (tmp_path / "names.json").write_text(text)
    with pytest.raises(StoreError, match=r"names\.json"):
        read_names(tmp_path / "names.json")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(StoreError, match="cannot be read"):
        read_names(tmp_path / "none.txt")
    with pytest.raises(StoreError, match="cannot be written"):
        write_selection(tmp_path / "none" / "a.json", select_theorems(NAMES, without={}, count=1, seed=1))
