"""Queries of stores that hold all that can go wrong, against the same queries in the plainest Python."""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest

from ekiden_store import Store
from ekiden_store.arrow import pc
from ekiden_store.data_sets.exports import export_mix
from ekiden_store.data_sets.mixes import parse_mix
from ekiden_store.queries.comparing import Change, compare_runs
from ekiden_store.queries.pairs import Tally, examples, positive_paths
from ekiden_store.queries.pairs_contrast import contrasts
from ekiden_store.queries.row_filter import RowFilter
from ekiden_store.queries.sampling import Stratum, dedupe, sample, stratify
from ekiden_store.queries.stats import read_stats
from ekiden_store.queries.trees import trees
from ekiden_store.snapshot import Snapshot
from servers.store.plain_queries import (
    Row,
    plain_contrasts,
    plain_examples,
    plain_trees,
    random_steps,
    rows_of,
)

SEEDS = range(6)


class Stored(NamedTuple):
    """A store, and what it holds."""

    snapshot: Snapshot
    rows: list[Row]
    seed: int


@pytest.fixture(scope="module", params=SEEDS)
def stored(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Stored]:
    """Store random rows by several writers, some of them compacted."""
    seed: int = request.param
    steps = random_steps(seed)
    store = Store(tmp_path_factory.mktemp("random") / "store")
    for number in range(3):
        with store.writer() as writer:
            writer.append(steps[number::3])
        if number == seed % 4:
            store.compact()
    with store.snapshot() as snapshot:
        yield Stored(snapshot, rows_of(steps), seed)


def test_attempts_are_the_same_trees(stored: Stored):
    snapshot, rows, _ = stored
    found = {(tree.key.theorem_name, tree.key.run_id, tree.key.attempt_id): tree for tree in trees(snapshot)}
    wanted = plain_trees(rows)
    assert list(found) == list(wanted)
    for key, tree in wanted.items():
        nodes = found[key].nodes
        places = {id(node): number for number, node in enumerate(nodes)}
        assert [(node.row.state_id, node.row.tactic_applied) for node in nodes] == [
            (row["state_id"], row["tactic_applied"]) for row in tree.rows
        ]
        assert [places[id(node.parent)] if node.parent else None for node in nodes] == tree.parent
        assert [node.fault for node in nodes] == tree.fault
        assert [node.state_before for node in nodes] == list(map(tree.before, range(len(nodes))))
        assert {number for number, node in enumerate(nodes) if node.leads_to_proof} == tree.good
        assert sorted(places[id(child)] for node in nodes for child in node.children) == [
            number for number, parent in enumerate(tree.parent) if parent is not None
        ]
        assert [places[id(node)] for node in found[key].roots] == [
            number for number, parent in enumerate(tree.parent) if parent is None
        ]


@pytest.mark.parametrize(
    "wanted",
    [
        {"label": ("positive",)},
        {"label": ("negative", "unknown"), "origin": ("search", "probe")},
        {"theorem_name": ("a", "é"), "iteration": (1,), "run_id": ("r", "s")},
    ],
)
def test_examples_are_the_same(stored: Stored, wanted: dict[str, Any]):
    names = {"label": "labels", "origin": "origins", "theorem_name": "theorems", "iteration": "iterations"}
    chosen = RowFilter.model_validate({names.get(name, "runs"): values for name, values in wanted.items()})
    snapshot, rows, _ = stored
    tally = Tally()
    found = [
        (each.theorem, each.state, each.tactic, each.depth, each.after)
        for each in examples(snapshot, chosen, tally=tally)
    ]
    expected, reasons = plain_examples(rows, **wanted)
    assert found == expected
    assert tally.unusable == reasons
    assert (tally.rows, tally.used) == (len(expected) + reasons.total(), len(expected))


def test_proofs_are_the_same(stored: Stored):
    snapshot, rows, _ = stored
    found = [[(each.state, each.tactic) for each in path] for path in positive_paths(snapshot)]
    assert found == [path for tree in plain_trees(rows).values() for path in tree.paths()]


@pytest.mark.parametrize("options", [(False, True, False), (True, False, False), (True, True, True)])
def test_contrasts_are_the_same(stored: Stored, options: tuple[bool, bool, bool]):
    given = dict(zip(("failed", "on_proofs", "conflicts"), options, strict=True))
    snapshot, rows, _ = stored
    found = Counter(
        (each.theorem, each.state, each.positive, each.negative, each.positive_after, each.negative_after)
        for each in contrasts(snapshot, RowFilter(), **given)
    )
    assert found == Counter(plain_contrasts(rows, **given))


def test_random_stores_hold_what_can_go_wrong():
    faults: Counter[str | None] = Counter()
    proofs = pairs = conflicts = gave_up = 0
    for seed in SEEDS:
        rows = rows_of(random_steps(seed))
        for tree in plain_trees(rows).values():
            faults.update(tree.fault)
            proofs += len(list(tree.paths()))
            gave_up += len(tree.gave_up)
        pairs += len(plain_contrasts(rows, failed=True, on_proofs=True, conflicts=False))
        conflicts += len(plain_contrasts(rows, failed=True, on_proofs=True, conflicts=True))
    assert all(faults[fault] > 5 for fault in ("unknown_parent", "ambiguous_parent", "cycle"))
    assert proofs > 20
    assert gave_up > 2
    assert 5 < pairs < conflicts


def test_numbers_are_the_same(stored: Stored):
    snapshot, rows, _ = stored
    found = read_stats(snapshot, asked=["a", "b", "nobody"])
    alone = read_stats(snapshot, where=pc.field("run_id") == "s")
    given_up = {id(tree.rows[end]) for tree in plain_trees(rows).values() for end in tree.gave_up}
    every: Any = pd.DataFrame(row | {"gave_up": id(row) in given_up} for row in rows)
    states = every[every.kind.isin(["search_node", "tactic"])]
    assert (found.rows, alone.rows) == (len(every), (every.run_id == "s").sum())
    assert found.kinds == every.kind.value_counts().to_dict()
    assert found.origins == every.origin.value_counts().to_dict()
    assert found.verdicts == every[every.verdict != ""].verdict.value_counts().to_dict()
    for labels, among in (
        (found.labels, states),
        *((labels, states[states.depth_from_root == depth]) for depth, labels in found.depths.items()),
        *((labels, states[states.theorem_name == name]) for name, labels in found.largest.items()),
    ):
        for label in ("positive", "negative", "unknown"):
            assert getattr(labels, label) == (among.label == label).sum()
    assert set(found.depths) == set(states.depth_from_root)
    theorems = set(every.theorem_name) - {""}
    assert (found.theorems, set(found.largest)) == (len(theorems), theorems)
    assert found.attempts == len(every[["run_id", "attempt_id", "theorem_name"]].drop_duplicates())
    texts = states[states.state_pp != ""]
    assert found.unique_states == texts.state_pp.nunique()
    both = [set(texts[texts.label == label].state_pp) for label in ("positive", "negative")]
    assert found.states_with_both_labels == len(both[0] & both[1])
    own = every[every.origin != "ground_truth"]
    attempted = set(own.theorem_name) - {""}
    is_complete = own.is_proof_complete & (own.outcome != "failed")
    proved, gave_up = (set(own[is_complete & (own.gave_up == value)].theorem_name) for value in (False, True))
    assert found.proved.gave_up == len((gave_up - proved) & {"a", "b"})
    assert (found.proved.proved, found.proved.attempted) == (len(proved & {"a", "b"}), len(attempted & {"a", "b"}))
    assert (found.proved.asked, found.proved.not_attempted) == (3, 3 - len(attempted & {"a", "b"}))
    assert found.proved.copied == len(theorems - attempted)


def test_candidates_are_the_same(stored: Stored):
    snapshot, rows, _ = stored
    found = read_stats(snapshot).candidates
    tried: dict[tuple[Any, ...], set[str]] = {}
    for row in rows:
        is_tried = row["kind"] in ("search_node", "tactic") and row["origin"] == "search" and row["tactic_applied"]
        if is_tried and row["parent_state_id"] is not None:
            state = tuple(row[name] for name in ("run_id", "attempt_id", "theorem_name", "parent_state_id"))
            tried.setdefault(state, set()).add(row["tactic_applied"])
    counts = list(map(len, tried.values()))
    assert (found.expansions, found.least, found.most) == (len(counts), min(counts), max(counts))
    assert found.average == pytest.approx(sum(counts) / len(counts))


def test_runs_compare_the_same(stored: Stored):
    snapshot, rows, _ = stored
    found = compare_runs(snapshot, ["r"], ["s", "t"])
    gave_up = {id(tree.rows[end]) for tree in plain_trees(rows).values() for end in tree.gave_up}
    sides: list[dict[str, bool]] = [{}, {}]
    spent = [Counter[str](), Counter[str]()]
    for row in rows:
        if row["origin"] == "ground_truth":
            continue
        side = int(row["run_id"] != "r")
        spent[side].update({"rows": 1, "cost": row["cost_nanodollars"] or 0, "ms": row["duration_ms"] or 0})
        if name := row["theorem_name"]:
            is_proved = row["is_proof_complete"] and row["outcome"] != "failed" and id(row) not in gave_up
            sides[side][name] = sides[side].get(name, False) or is_proved
    shared = sides[0].keys() & sides[1].keys()
    assert found.shared == len(shared)
    assert [each.theorem for each in found.theorems] == sorted(sides[0].keys() | sides[1].keys())
    for each in found.theorems:
        assert (each.before is None, each.after is None) == tuple(each.theorem not in side for side in sides)
    for total, side, money in zip((found.before, found.after), sides, spent, strict=True):
        assert (total.attempted, total.proved) == (len(side), sum(side.values()))
        assert total.proved_of_shared == sum(is_proved for name, is_proved in side.items() if name in shared)
        assert (total.spent.rows, total.spent.cost_nanodollars, total.spent.duration_ms) == (
            money["rows"],
            money["cost"],
            money["ms"],
        )
    changes: tuple[tuple[Change, bool, bool], ...] = (
        ("newly_proved", False, True),
        ("lost", True, False),
        ("both", True, True),
        ("neither", False, False),
    )
    for change, one, two in changes:
        assert found.counts[change] == sum((sides[0][name], sides[1][name]) == (one, two) for name in shared)


@pytest.mark.parametrize(("by", "column"), [("label", "label"), ("depth", "depth_from_root"), ("run", "run_id")])
def test_samples_are_spread_over_all_there_is(stored: Stored, by: Stratum, column: str):
    snapshot, rows, seed = stored
    where = pc.field("origin") == "search"
    among = Counter(row[column] for row in rows if row["origin"] == "search")
    found = stratify(snapshot, by, 4, seed=seed, where=where).to_pylist()
    some = sample(snapshot, 20, seed=seed, where=where).to_pylist()
    others = sample(snapshot, 20, seed=seed + 1, where=where).to_pylist()
    assert Counter(row[column] for row in found) == {value: min(4, rows) for value, rows in among.items()}
    assert len({row["row_id"] for row in some}) == min(20, among.total())
    assert {row["origin"] for row in (*found, *some)} == {"search"}
    assert [row["row_id"] for row in some] != [row["row_id"] for row in others]


def test_of_doubles_one_row_is_kept(stored: Stored):
    key = ["theorem_name", "state_pp", "tactic_applied", "parent_state_id"]
    snapshot, rows, _ = stored
    found = [row for part in dedupe(snapshot, key) for row in part.to_pylist()]
    stored_rows = {row["row_id"]: row for row in snapshot.scan().read_all().to_pylist()}
    keys = [tuple(row[name] for name in key) for row in found]
    assert len(keys) == len(set(keys))
    assert set(keys) == {tuple(row[name] for name in key) for row in rows}
    assert all(str(stored_rows[row["row_id"]]) == str(row) for row in found)


def test_data_sets_hold_what_the_rows_teach(stored: Stored, tmp_path: Path):
    snapshot, rows, seed = stored
    sources: list[dict[str, Any]] = [
        {"name": "some", "rows": {"runs": ["r"]}},
        {"name": "all", "rows": {"labels": []}, "upsample": 2},
    ]
    made = parse_mix({"seed": seed, "sources": sources, "validation": {"fraction": 0.4}}, folder=tmp_path)
    manifest = export_mix(made, tmp_path / "out", snapshot=snapshot)
    lines: dict[str, Counter[tuple[str, ...]]] = {"train.jsonl": Counter(), "validation.jsonl": Counter()}
    for name, counts in lines.items():
        for text in (tmp_path / "out" / name).read_text("utf-8").splitlines():
            line = json.loads(text)
            counts[line["source"], line["theorem"], line["state"], line["tactic"]] += 1
    some, _ = plain_examples(rows, run_id=("r",), label=("positive",))
    every, _ = plain_examples(rows)
    wanted = {("some", *each[:3]) for each in some}
    wanted |= {("all", *each[:3]) for each in every if ("some", *each[:3]) not in wanted}
    train, kept = lines.values()
    assert train.keys() | kept.keys() == wanted
    assert set(kept.values()) <= {1}
    assert {(line[0], times) for line, times in train.items()} <= {("some", 1), ("all", 2)}
    sides = [{unicodedata.normalize("NFC", line[1]) for line in side} for side in (train, kept)]
    assert not sides[0] & sides[1]
    assert [entry.lines for entry in manifest.files] == [train.total(), kept.total()]
