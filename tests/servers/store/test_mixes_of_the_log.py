"""The numbers of an experiment with expert iteration, from files of the same shape."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ekiden_store import Store
from ekiden_store.arrow import pa, pc, pq
from ekiden_store.exports import export_mix
from ekiden_store.mixes import parse_mix
from ekiden_store.selection import Exclusion, select_theorems
from ekiden_store.stats import LabelCounts, Proved, read_stats
from servers.store.test_schema import REFERENCE


@dataclass(frozen=True, slots=True)
class Shape:
    name: str
    positive: int
    negative: int
    theorems: int
    proved: int


SEARCHES = (
    Shape("iter_0", 324, 3_506, 1_799, 120),
    Shape("iter_0_noisy", 575, 4_044, 1_799, 175),
    Shape("iter_1", 3_570, 137_340, 3_598, 1_281),
    Shape("iter_1_harvest", 1_460, 36_401, 1_797, 614),
)
NEGATIVES = Shape("iter_1_negatives", 106_328, 20_854, 4_352, 4_352)
Values = tuple[object, ...]


def share(total: int, number: int, among: int) -> int:
    """Return how many of a total fall to one of several."""
    return total // among + (number < total % among)


def searched(shape: Shape) -> Iterator[Values]:
    """Yield a search: proofs of a root, some states between and a finished one, and what else was tried."""
    between = shape.positive - 2 * shape.proved
    tried = shape.negative - (shape.theorems - shape.proved)
    for number in range(shape.theorems):
        theorem, text = f"t{number}", f"⊢ {shape.name} {number}"
        is_proved = number < shape.proved
        steps = share(between, number, shape.proved) + 1 if is_proved else 0
        yield (theorem, 0, text, "", None, "positive" if is_proved else "negative", 0, steps or -1, False)
        for step in range(1, steps + 1):
            after = "" if step == steps else f"{text} {step}"
            yield (theorem, step, after, f"step {step}", step - 1, "positive", step, steps - step, step == steps)
        for other in range(share(tried, number, shape.theorems)):
            yield (theorem, 100 + other, f"{text} other {other}", f"try {other}", 0, "negative", 1, -1, False)


def copied(shape: Shape) -> Iterator[Values]:
    """Yield known proofs: the state before each tactic, all with the number 0, and what else was tried."""
    for number in range(shape.theorems):
        theorem, steps = f"m{number}", share(shape.positive, number, shape.theorems)
        for step in range(steps):
            state = f"⊢ known {number} {step}"
            yield (theorem, 0, state, f"step {step}", 0 if step else None, "positive", step, steps - step, False)
        for other in range(share(shape.negative, number, shape.theorems)):
            yield (theorem, other, f"⊢ known {number} other {other}", "simp", 0, "negative", 1, -1, False)


def write(folder: Path, shape: Shape, rows: Iterator[Values]) -> Path:
    columns = [list(column) for column in zip(*rows, strict=True)]
    count = len(columns[0])
    told = [*REFERENCE.names[:8], "is_proof_complete"]
    values: dict[str, Any] = dict(zip(told, columns, strict=True))
    rest = {name: [0] * count for name in REFERENCE.names if name not in values}
    table = pa.table([pa.array((values | rest)[field.name], field.type) for field in REFERENCE], schema=REFERENCE)
    pq.write_table(table, folder / f"{shape.name}.parquet")
    return folder / f"{shape.name}.parquet"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("log")
    store = Store(folder / "store")
    for shape in SEARCHES:
        done = store.import_parquet(write(folder, shape, searched(shape)), origin="search")
        assert done.rows == shape.positive + shape.negative
    known = write(folder, NEGATIVES, copied(NEGATIVES))
    assert store.import_parquet(known, origin="ground_truth", state_pp_is="before").rows == 127_182
    return store


def test_the_rows_of_five_files_add_up(store: Store):
    asked = {f"t{number}" for number in range(2_000)}
    with store.snapshot() as snapshot:
        found = read_stats(snapshot)
        first = read_stats(snapshot, where=pc.field("run_id") == "iter_0", asked=asked)
    assert (found.rows, found.labels) == (314_402, LabelCounts(positive=112_257, negative=202_145))
    assert found.origins == {"ground_truth": 127_182, "search": 187_220}
    # Counted by label, the copied proofs would make 4,352 more.
    assert found.proved == Proved(proved=1_281, attempted=3_598, copied=4_352)
    assert first.proved == Proved(proved=120, attempted=1_799, copied=0, asked=2_000, not_attempted=201)
    assert (first.proved.of_asked, round(first.proved.of_attempted or 0, 3)) == (0.06, 0.067)


def test_the_mix_of_the_first_iteration_adds_up(store: Store, tmp_path: Path):
    base = ({"theorem": f"b{n}", "state": f"⊢ {n}", "tactic": "simp"} for n in range(24_000))
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in base))
    runs = {"runs": ["iter_0", "iter_0_noisy"], "labels": ["positive"]}
    sources: list[dict[str, Any]] = [
        {"name": "base", "kind": "file", "path": "train.jsonl", "subsample": 10_000},
        {"name": "trajectories", "rows": runs, "finishing": False, "upsample": 10},
    ]
    with store.snapshot() as snapshot:
        mix = parse_mix({"seed": 42, "sources": sources}, folder=tmp_path)
        manifest = export_mix(mix, tmp_path / "iter_1", snapshot=snapshot)
        all_steps = parse_mix({"seed": 42, "sources": [{"name": "all", "rows": runs}]}, folder=tmp_path)
        whole = export_mix(all_steps, tmp_path / "whole", snapshot=snapshot)
    (train,) = manifest.files
    assert (train.lines, train.sources) == (13_090, {"base": 10_000, "trajectories": 10 * 309})
    trajectories = manifest.sources[1]
    assert (trajectories.rows, trajectories.chosen) == (324 + 575, 309)
    assert trajectories.unusable == {"finishing": 120 + 175, "root": 120 + 175}
    # With the state before each tactic, the last step of a proof is an example as good as any.
    assert whole.sources[0].chosen == 309 + 120 + 175
    lines = [json.loads(line) for line in (tmp_path / "iter_1" / "train.jsonl").read_text().splitlines()]
    assert len({(line["state"], line["tactic"]) for line in lines if line["source"] == "trajectories"}) == 309
    assert all("step" in line["tactic"] and line["state"] for line in lines if line["source"] == "trajectories")


def test_the_theorems_of_the_second_iteration_add_up():
    names = [f"t{number}" for number in range(61_542)]
    without = {
        "shallow": names[:21_776],
        "easy": names[20_000 : 20_000 + 3_164],
        "searched": names[25_054 - 3_600 : 25_054],
    }
    found = select_theorems(names, without=without, count=15_000, seed=42)
    assert (found.total, found.excluded, found.eligible, len(found.chosen)) == (61_542, 25_054, 36_488, 15_000)
    assert sum(len(each) for each in without.values()) - found.excluded == 3_486
    assert found.exclusions == {
        "shallow": Exclusion(21_776, 21_776, 20_000),
        "easy": Exclusion(3_164, 3_164, 0),
        "searched": Exclusion(3_600, 3_600, 1_890),
    }
    assert found.overlaps == {"shallow & easy": 1_776, "shallow & searched": 322, "easy & searched": 1_710}
