"""The numbers of an experiment with expert iteration, from files of the same shape."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ekiden_store import Store
from ekiden_store.arrow import pa, pc, pq
from ekiden_store.data_sets.exports import export_mix
from ekiden_store.data_sets.mixes import parse_mix
from ekiden_store.queries.selection import Exclusion, read_names, select_theorems, write_selection
from ekiden_store.queries.stats import LabelCounts, Proved, read_stats
from ekiden_store.queries.trees import theorems_with
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
WALKED = 72_895
"""How many of those positives are states that were walked through: nobody knows how far a proof is from there."""
CLOSING = 433
"""How many are tactics that closed a known proof in another way."""
POOL = 74_107
"""How many different states the searches tried, so that all files together hold as many as were to be encoded."""
Values = tuple[object, ...]


def share(total: int, number: int, among: int) -> int:
    """Return how many of a total fall to one of several."""
    return total // among + (number < total % among)


def searched(shape: Shape, tried: Iterator[str]) -> Iterator[Values]:
    """Yield a search: proofs of a root, some states between and a finished one, and what else was tried."""
    between = shape.positive - 2 * shape.proved
    others = shape.negative - (shape.theorems - shape.proved)
    for number in range(shape.theorems):
        theorem, text = f"t{number}", f"⊢ t{number}"
        is_proved = number < shape.proved
        steps = share(between, number, shape.proved) + 1 if is_proved else 0
        yield (theorem, 0, text, "", None, "positive" if is_proved else "negative", 0, steps or -1, False)
        for step in range(1, steps + 1):
            after, tactic = "" if step == steps else f"{text} {shape.name} {step}", f"{shape.name} step {step}"
            yield (theorem, step, after, tactic, step - 1, "positive", step, steps - step, step == steps)
        for other in range(share(others, number, shape.theorems)):
            yield (theorem, 100 + other, next(tried), f"try {other}", 0, "negative", 1, -1, False)


def copied(shape: Shape, tried: Iterator[str]) -> Iterator[Values]:
    """Yield known proofs with the state before each tactic, all numbered 0, and states after what else was tried.

    The numbers of the latter are those of their parents, and their parents' are made up.
    """
    known = shape.positive - WALKED - CLOSING
    for number in range(shape.theorems):
        theorem, steps = f"m{number}", share(known, number, shape.theorems)
        for step in range(steps):
            state = f"⊢ known {number} {step}"
            yield (theorem, 0, state, f"step {step}", 0 if step else None, "positive", step, steps - step, False)
        if number < CLOSING:
            yield (theorem, 7, f"⊢ known {number} 0", "omega", 6, "positive", 1, 0, True)
        for step in range(share(WALKED, number, shape.theorems)):
            yield (theorem, step, next(tried), "push_neg", max(step, 1) - 1, "positive", step + 1, -1, False)
        for other in range(share(shape.negative, number, shape.theorems)):
            yield (theorem, other, next(tried), "simp", max(other, 1) - 1, "negative", 1, -1, False)


def write(folder: Path, shape: Shape, rows: Iterator[Values], columns: int) -> Path:
    values: dict[str, Any] = dict(
        zip([*REFERENCE.names[:8], "is_proof_complete"], map(list, zip(*rows, strict=True)), strict=True)
    )
    rest = {name: [0] * len(values["theorem_name"]) for name in REFERENCE.names if name not in values}
    fields = list(REFERENCE)[:columns]
    table = pa.table([pa.array((values | rest)[field.name], field.type) for field in fields], schema=pa.schema(fields))
    pq.write_table(table, folder / f"{shape.name}.parquet")
    return folder / f"{shape.name}.parquet"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("log")
    store = Store(folder / "store")
    tried = (f"⊢ tried {number % POOL}" for number in count())
    for shape in SEARCHES:
        done = store.import_parquet(write(folder, shape, searched(shape, tried), 12), origin="search")
        assert done.rows == shape.positive + shape.negative
    known = write(folder, NEGATIVES, copied(NEGATIVES, tried), 14)
    assert store.import_parquet(known, origin="ground_truth", state_pp_is="mixed").rows == 127_182
    return store


def test_the_rows_of_five_files_add_up(store: Store):
    asked = {f"t{number}" for number in range(2_000)}
    with store.snapshot() as snapshot:
        found = read_stats(snapshot)
        first = read_stats(snapshot, where=pc.field("run_id") == "iter_0", asked=asked)
    assert (found.rows, found.labels) == (314_402, LabelCounts(positive=112_257, negative=202_145))
    assert found.unique_states == 112_254
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


def test_states_that_were_only_walked_through_teach_nothing(store: Store, tmp_path: Path):
    rows = {"runs": ["iter_1_negatives"]}
    made = parse_mix({"seed": 42, "sources": [{"name": "known", "rows": rows, "subsample": 500}]}, folder=tmp_path)
    with store.snapshot() as snapshot:
        (source,) = export_mix(made, tmp_path / "known", snapshot=snapshot).sources
    assert (source.rows, source.unusable) == (106_328, {"state_before_unknown": WALKED})
    assert (source.examples, source.doubles, source.chosen) == (106_328 - WALKED, 0, 500)
    lines = [json.loads(line) for line in (tmp_path / "known" / "train.jsonl").read_text().splitlines()]
    assert all(line["state"].startswith("⊢ known") for line in lines)


def test_the_theorems_of_the_second_iteration_add_up(store: Store, tmp_path: Path):
    names = [f"t{number}" for number in range(61_542)]
    index = {"theorems": [{"name": name, "statement": f"⊢ {name}"} for name in names]}
    (tmp_path / "theorem_index.json").write_text(json.dumps(index))
    pairs = ({"theorem": t, "state": "⊢ p", "tactic": "simp", "depth": d} for t, d in depths(names))
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    easy = [{"name": name, "statement": "⊢ p", "depth": 1, "tactics": ["simp"]} for name in names[21_890:25_054]]
    (tmp_path / "probed.json").write_text(json.dumps({"easy": easy, "hard": [], "stats": {"easy": len(easy)}}))
    (tmp_path / "errors.txt").write_text("t3598\nt3599\n")  # they could not be started, so they left no row
    with store.snapshot() as snapshot:
        searched_names: list[str] = theorems_with(snapshot, pc.field("origin") == "search").to_pylist()
    without = {
        "shallow": shallow(tmp_path / "train.jsonl"),
        "easy": read_names(tmp_path / "probed.json"),
        "searched": {*searched_names, *read_names(tmp_path / "errors.txt")},
    }
    found = select_theorems(read_names(tmp_path / "theorem_index.json"), without=without, count=15_000, seed=42)
    assert (found.total, found.excluded, found.eligible, len(found.chosen)) == (61_542, 25_054, 36_488, 15_000)
    assert sum(len(each) for each in without.values()) - found.excluded == 3_486
    assert found.exclusions == {
        "shallow": Exclusion(21_776, 21_776, 18_290),
        "easy": Exclusion(3_164, 3_164, 1_388),
        "searched": Exclusion(3_600, 3_600, 1_890),
    }
    assert found.overlaps == {"shallow & easy": 1_776, "shallow & searched": 1_710}
    write_selection(tmp_path / "iter2_search_theorems.json", found)
    assert read_names(tmp_path / "iter2_search_theorems.json") == set(found.chosen)
    assert not set(found.chosen) & set().union(*without.values())


def depths(names: list[str]) -> Iterator[tuple[str, int]]:
    """Yield theorems with the depths of their tactics: some have none deeper than 1."""
    for number, name in enumerate(names):
        for depth in range(2 if 1_890 <= number < 1_890 + 21_776 else 3):
            yield name, depth


def shallow(pairs: Path) -> set[str]:
    """Return the theorems of which no tactic is deeper than 1."""
    deepest: dict[str, int] = {}
    with pairs.open() as file:
        for line in file:
            pair = json.loads(line)
            deepest[pair["theorem"]] = max(pair["depth"], deepest.get(pair["theorem"], 0))
    return {theorem for theorem, depth in deepest.items() if depth <= 1}
