"""Samples of rows."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ekiden_store import Step, Store, StoreError
from ekiden_store.arrow import pc
from ekiden_store.queries.sampling import dedupe, sample, stratify
from servers.store.test_stats import filled


def steps(count: int = 300) -> list[Step]:
    labels = ("positive", "negative", "negative", "unknown")
    return [
        Step(
            theorem_name=f"t{number % 7}",
            kind="search_node",
            row_id=f"row-{number}",
            state_pp=f"⊢ {number % 50}",
            label=labels[number % 4],  # pyright: ignore[reportArgumentType]  # one of those above
            depth_from_root=number % 3,
        )
        for number in range(count)
    ]


def ids(store: Store, rows: int, **options: Any) -> list[str]:
    with store.snapshot() as snapshot:
        return sample(snapshot, rows, columns=["row_id"], **options).column("row_id").to_pylist()


def spread(store: Store, by: Any, each: int, **options: Any) -> Any:
    with store.snapshot() as snapshot:
        return stratify(snapshot, by, each, seed=1, **options)


def without_doubles(store: Store, *key: str, **options: Any) -> list[dict[str, Any]]:
    with store.snapshot() as snapshot:
        return [row for table in dedupe(snapshot, key, **options) for row in table.to_pylist()]


def test_a_sample_is_the_same_for_a_seed_whatever_file_the_rows_lie_in(tmp_path: Path):
    one = filled(tmp_path / "one", *steps())
    two = filled(tmp_path / "two", *reversed(steps()))
    two.compact()
    first = ids(one, 20, seed=42)
    assert len(set(first)) == 20
    assert first == ids(two, 20, seed=42)
    assert first != ids(one, 20, seed=43)


def test_a_larger_sample_holds_the_smaller_one(tmp_path: Path):
    store = filled(tmp_path / "store", *steps())
    assert ids(store, 50, seed=1)[:20] == ids(store, 20, seed=1)


def test_a_sample_of_everything_is_everything(tmp_path: Path):
    store = filled(tmp_path / "store", *steps())
    assert sorted(ids(store, 1000, seed=1)) == sorted(f"row-{number}" for number in range(300))
    assert ids(store, 0, seed=1) == []
    assert ids(Store(tmp_path / "empty"), 10, seed=1) == []


def test_a_sample_is_taken_among_the_rows_asked_for(tmp_path: Path):
    store = filled(tmp_path / "store", *steps())
    with store.snapshot() as snapshot:
        found = sample(snapshot, 10, seed=1, where=pc.field("theorem_name") == "t3")
    assert found.column_names[0] == "theorem_name"
    assert found.column("theorem_name").to_pylist() == ["t3"] * 10


@pytest.mark.parametrize("rows", [10, 100, 250])
def test_a_sample_favours_nobody(tmp_path: Path, rows: int):
    store = filled(tmp_path / "store", *steps())
    times = Counter(row for seed in range(60) for row in ids(store, rows, seed=seed))
    expected = 60 * rows / 300
    spread = sum((times[f"row-{number}"] - expected) ** 2 for number in range(300)) / 300
    assert spread < 1.5 * expected * (1 - rows / 300) + 0.5


def test_rows_are_chosen_in_pieces_as_they_are_at_once(tmp_path: Path):
    store = filled(tmp_path / "store", *steps())
    for start in (0, 100, 200):
        with store.writer() as writer:
            writer.append(
                [Step(theorem_name="more", kind="search_node", state_pp=f"⊢ {start + n}") for n in range(100)]
            )
    in_pieces = ids(store, 30, seed=5), spread(store, "theorem", 3).to_pylist()
    store.compact()
    assert in_pieces == (ids(store, 30, seed=5), spread(store, "theorem", 3).to_pylist())


@pytest.mark.parametrize(
    ("by", "column", "expected"),
    [
        ("label", "label", {"positive": 5, "negative": 5, "unknown": 5}),
        ("depth", "depth_from_root", {0: 5, 1: 5, 2: 5}),
        ("theorem", "theorem_name", {f"t{number}": 5 for number in range(7)}),
    ],
)
def test_rows_are_spread_over_labels_depths_and_theorems(
    tmp_path: Path, by: str, column: str, expected: dict[object, int]
):
    found = spread(filled(tmp_path / "store", *steps()), by, 5, columns=[column])
    assert Counter(found.column(column).to_pylist()) == expected


def test_a_stratum_with_too_few_rows_gives_what_it_has(tmp_path: Path):
    found = spread(filled(tmp_path / "store", *steps(9)), "label", 3)
    assert Counter(found.column("label").to_pylist()) == {"positive": 3, "negative": 3, "unknown": 2}


def test_what_cannot_be_chosen_is_refused(tmp_path: Path):
    store = filled(tmp_path / "store", *steps())
    with pytest.raises(StoreError, match=r"over 'colour'; over 'label', 'depth', 'theorem'"):
        spread(store, "colour", 1)
    with pytest.raises(StoreError, match="-1 rows cannot be chosen"):
        ids(store, -1, seed=1)
    with pytest.raises(StoreError, match="no column 'nothing'"):
        without_doubles(store, "nothing")
    with pytest.raises(StoreError, match="Name one at least"):
        without_doubles(store)


@pytest.mark.parametrize(
    ("key", "left"),
    [(("state_pp",), 50), (("label",), 3), (("theorem_name", "depth_from_root"), 21), (("row_id",), 300)],
)
def test_no_two_rows_have_the_same_key(tmp_path: Path, key: tuple[str, ...], left: int):
    one = filled(tmp_path / "one", *steps())
    two = filled(tmp_path / "two", *reversed(steps()))
    found = without_doubles(one, *key)
    assert len(found) == len({tuple(row[name] for name in key) for row in found}) == left
    assert {row["row_id"] for row in found} == {row["row_id"] for row in without_doubles(two, *key)}


def test_doubles_are_looked_for_among_the_rows_asked_for(tmp_path: Path):
    store = filled(tmp_path / "store", *steps())
    found = without_doubles(store, "label", "lean_messages", where=pc.field("label") == "negative", columns=["label"])
    assert found == [{"label": "negative"}]
    assert without_doubles(Store(tmp_path / "empty"), "label") == []


def test_a_key_that_nothing_is_told_of_is_a_key(tmp_path: Path):
    rows = [Step(theorem_name="t", kind="message", iteration=iteration) for iteration in (None, None, 0, 1)]
    assert len(without_doubles(filled(tmp_path / "store", *rows), "iteration")) == 3
