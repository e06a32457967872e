"""Data sets, written whole and the same each time."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ekiden_store import Step, Store, StoreError
from ekiden_store.exports import export_mix
from ekiden_store.exports_manifest import Manifest
from ekiden_store.mixes import Mix, parse_mix
from ekiden_store.redaction import Redactor
from ekiden_store.sampling_sorting import RankedLines
from servers.store.test_stats import filled, proved_tree, tried

KEY = "sk-ant-" + "api03-" + "Zx9" * 20


def mix(*sources: dict[str, Any], folder: Path = Path(), **settings: Any) -> Mix:
    return parse_mix({"seed": 42, "sources": list(sources), **settings}, folder=folder)


def export(store: Store | None, made: Mix, folder: Path, **options: Any) -> Manifest:
    if store is None:
        return export_mix(made, folder, **options)
    with store.snapshot() as snapshot:
        return export_mix(made, folder, snapshot=snapshot, **options)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def many(count: int = 40) -> list[Step]:
    return [step for number in range(count) for step in proved_tree(f"t{number}")]


def pairs(folder: Path, count: int = 30) -> dict[str, Any]:
    rows = [{"theorem": f"base{n}", "state": f"⊢ base {n}", "tactic": "simp"} for n in range(count)]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {"name": "base", "kind": "file", "path": "pairs.jsonl"}


def test_a_data_set_has_the_state_before_each_tactic(tmp_path: Path):
    manifest = export(filled(tmp_path / "store", *proved_tree("a")), mix({"name": "search"}), tmp_path / "out")
    assert sorted(lines(tmp_path / "out" / "train.jsonl"), key=lambda line: line["depth"]) == [
        {"theorem": "a", "state": "⊢ a", "tactic": "intro h", "depth": 0, "source": "search"},
        {"theorem": "a", "state": "h ⊢ a", "tactic": "simp", "depth": 1, "source": "search"},
    ]
    (source,) = manifest.sources
    assert (source.rows, source.unusable, source.examples, source.doubles, source.chosen) == (3, {"root": 1}, 2, 0, 2)
    assert Manifest.model_validate_json((tmp_path / "out" / "manifest.json").read_bytes()) == manifest
    (file,) = manifest.files
    data = (tmp_path / "out" / "train.jsonl").read_bytes()
    assert (file.sha256, file.bytes, file.lines, file.theorems) == (hashlib.sha256(data).hexdigest(), len(data), 2, 1)


def test_the_same_rows_mix_and_seed_give_the_same_bytes(tmp_path: Path):
    sources = ({"name": "search", "subsample": 30, "upsample": 3}, pairs(tmp_path) | {"subsample": 20})
    made = mix(*sources, folder=tmp_path, validation={"fraction": 0.3})
    one, two = filled(tmp_path / "one", *many()), filled(tmp_path / "two", *reversed(many()))
    two.compact()
    export(one, made, tmp_path / "first")
    export(two, made, tmp_path / "second")
    assert contents(tmp_path / "first") == contents(tmp_path / "second")
    export(one, mix(*sources, folder=tmp_path, validation={"fraction": 0.3}, seed=43), tmp_path / "third")
    assert contents(tmp_path / "first")["train.jsonl"] != contents(tmp_path / "third")["train.jsonl"]


def test_a_theorem_is_trained_on_or_kept_for_validation_never_both(tmp_path: Path):
    made = mix({"name": "search", "upsample": 4}, validation={"fraction": 0.25, "theorems": ["t7"]})
    manifest = export(filled(tmp_path / "store", *many(100)), made, tmp_path / "out")
    train, kept = (lines(tmp_path / "out" / f"{name}.jsonl") for name in ("train", "validation"))
    assert not {line["theorem"] for line in train} & {line["theorem"] for line in kept}
    assert "t7" in {line["theorem"] for line in kept}
    assert 10 < len({line["theorem"] for line in kept}) < 45
    assert len(train) == 8 * (100 - len(kept) // 2)
    assert [file.lines for file in manifest.files] == [len(train), len(kept)]
    assert manifest.shared_states == 0


def test_a_state_that_is_on_both_sides_is_told(tmp_path: Path):
    same = [{"theorem": name, "state": "⊢ same", "tactic": "simp"} for name in ("a", "b")]
    (tmp_path / "same.jsonl").write_text("".join(json.dumps(row) + "\n" for row in same))
    source = {"name": "base", "kind": "file", "path": "same.jsonl"}
    manifest = export(None, mix(source, folder=tmp_path, validation={"theorems": ["b"]}), tmp_path / "out")
    assert manifest.shared_states == 1


def test_doubles_are_left_out_and_counted_unless_they_are_wanted(tmp_path: Path):
    twice = [*proved_tree("a"), *proved_tree("a", attempt_id="again"), *proved_tree("b")]
    store = filled(tmp_path / "store", *twice)
    found = export(store, mix({"name": "search"}), tmp_path / "one").sources[0]
    assert (found.examples, found.doubles, found.chosen) == (6, 2, 4)
    found = export(store, mix({"name": "search", "dedupe": []}), tmp_path / "two").sources[0]
    assert (found.examples, found.doubles, found.chosen) == (6, 0, 6)
    found = export(store, mix({"name": "search", "dedupe": ["tactic"]}), tmp_path / "three").sources[0]
    assert (found.examples, found.doubles, found.chosen) == (6, 4, 2)


def test_pairs_that_contrast_are_a_data_set_too(tmp_path: Path):
    export(filled(tmp_path / "store", *many(2)), mix({"name": "hard", "kind": "contrast"}), tmp_path / "out")
    found = lines(tmp_path / "out" / "train.jsonl")
    assert len(found) == 4
    assert {
        "theorem": "t0",
        "state": "⊢ t0",
        "depth": 0,
        "positive": "intro h",
        "negative": "left",
        "positive_after": "h ⊢ t0",
        "negative_after": "⊢ left t0",
        "positive_score": None,
        "negative_score": None,
        "positive_log_prob": None,
        "negative_log_prob": None,
        "positive_remaining": 1,
        "source": "hard",
    } in found


def test_secrets_are_struck_out_before_anything_leaves(tmp_path: Path):
    leak = [
        tried("a", 1, None, "", f"⊢ {KEY}", label="positive"),
        tried("a", 10, 1, "exact hunter2000", "", label="positive"),
    ]
    redactor = Redactor(variables={"PASSWORD": "hunter2000"})
    manifest = export(
        filled(tmp_path / "store", *leak), mix({"name": "s", "upsample": 5}), tmp_path / "out", redactor=redactor
    )
    written = b"".join(contents(tmp_path / "out").values())
    assert KEY.encode() not in written
    assert b"hunter2000" not in written
    assert sum(manifest.redacted.values()) == 2


def test_tactics_that_give_up_are_left_out(tmp_path: Path):
    rows = [{"theorem": "t", "state": "⊢ a", "tactic": tactic} for tactic in ("exact sorry", "admit", "simp [sorry']")]
    rows += [{"theorem": "t", "state": " ", "tactic": "simp"}, {"theorem": "t", "state": "⊢ a", "tactic": ""}]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    source = {"name": "base", "kind": "file", "path": "pairs.jsonl"}
    found = export(None, mix(source, folder=tmp_path), tmp_path / "out").sources[0]
    assert (found.rows, found.chosen, found.unusable) == (5, 1, {"finished_before": 1, "root": 1, "sorry": 2})
    assert found.file_sha256 == hashlib.sha256((tmp_path / "pairs.jsonl").read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "Line 1 of 'pairs.jsonl' is no JSON"),
        ("[]", "lacks the text of a state or a tactic: it has nothing"),
        ('{"state": "a", "goal": "b"}', "it has 'state', 'goal'"),
        ('{"state": "a", "tactic": "b", "depth": "c"}', "depth 'c'"),
        ('{"state": "a\\ud800", "tactic": "b"}', "half of a surrogate pair"),
        ('{"state": "a", "tactic": "b"}', "names no theorem"),
    ],
)
def test_a_file_that_is_no_source_is_refused_and_nothing_is_left_behind(tmp_path: Path, line: str, message: str):
    (tmp_path / "pairs.jsonl").write_text(line)
    made = mix({"name": "base", "kind": "file", "path": "pairs.jsonl"}, folder=tmp_path, validation={"fraction": 0.1})
    with pytest.raises(StoreError, match=message.replace("(", r"\(")):
        export(None, made, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.jsonl"]


def test_what_cannot_be_written_or_read_is_refused(tmp_path: Path):
    with pytest.raises(StoreError, match="no store was given"):
        export(None, mix({"name": "search"}), tmp_path / "out")
    with pytest.raises(StoreError, match="cannot be read"):
        export(None, mix({"name": "base", "kind": "file", "path": "none"}, folder=tmp_path), tmp_path / "out")
    (tmp_path / "out").mkdir()
    with pytest.raises(StoreError, match="is there already"):
        export(None, mix(pairs(tmp_path), folder=tmp_path), tmp_path / "out")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        export(None, mix(pairs(tmp_path), folder=tmp_path), tmp_path / "file" / "out")


def test_an_empty_store_makes_an_empty_data_set(tmp_path: Path):
    manifest = export(
        Store(tmp_path / "store"), mix({"name": "search"}, validation={"fraction": 0.5}), tmp_path / "out"
    )
    assert [file.lines for file in manifest.files] == [0, 0]


@pytest.mark.parametrize("held_bytes", [0, 2_000, 1 << 20])
def test_lines_come_in_order_however_few_fit_into_memory(held_bytes: int):
    with RankedLines(held_bytes=held_bytes) as sorted_lines:
        for number in range(300):
            place = number * 7919 % 300
            sorted_lines.add(bytes([place % 100]), str(place).encode(), f"t{place}é")
        found = list(sorted_lines.in_order())
        assert found == sorted(found)
        assert len(found) == 300
        assert found[-1].theorem == f"t{found[-1].line.decode()}é"
        assert [line.rank for line in sorted_lines.one_of_each_rank()] == [bytes([n]) for n in range(100)]
