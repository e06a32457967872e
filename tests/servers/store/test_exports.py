"""Data sets, written whole and the same each time."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ekiden_store import Step, Store, StoreError
from ekiden_store.data_sets.exports import export_mix
from ekiden_store.data_sets.exports_folder import whole_folder
from ekiden_store.data_sets.exports_manifest import Manifest
from ekiden_store.data_sets.exports_verify import verify_data_set
from ekiden_store.data_sets.mixes import Mix, parse_mix, read_mix
from ekiden_store.queries.sampling_sorting import RankedLines
from ekiden_store.redaction.redactor import Redactor
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


def test_names_that_only_look_different_are_on_one_side(tmp_path: Path):
    composed, apart = "Théorème", "The\u0301ore\u0300me"
    names = [composed, apart, f" {composed} ", composed.lower()]
    rows = [{"theorem": name, "state": f"⊢ {number}", "tactic": "simp"} for number, name in enumerate(names)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    source = {"name": "base", "kind": "file", "path": "rows.jsonl"}
    (tmp_path / "kept.txt").write_text(apart + "\n")
    made = mix(source, folder=tmp_path, validation={"files": ["kept.txt"], "theorems": ["nobody"]})
    manifest = export(None, made, tmp_path / "out")
    assert {line["theorem"] for line in lines(tmp_path / "out" / "validation.jsonl")} == set(names[:3])
    assert [line["theorem"] for line in lines(tmp_path / "out" / "train.jsonl")] == [names[3]]
    assert manifest.remarks == ("There are no examples of theorems that were to be kept for validation: 'nobody'.",)
    assert manifest.lists == {"kept.txt": hashlib.sha256((tmp_path / "kept.txt").read_bytes()).hexdigest()}
    assert manifest.mix["validation"]["files"] == ["kept.txt"]


def test_a_theorem_is_on_one_side_whatever_sources_it_comes_from(tmp_path: Path):
    rows = [{"theorem": f"t{n}", "state": f"⊢ base {n}", "tactic": "simp"} for n in range(40)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    base = {"name": "base", "kind": "file", "path": "pairs.jsonl", "subsample": 30}
    made = mix({"name": "s", "upsample": 3}, base, folder=tmp_path, validation={"fraction": 0.4})
    export(filled(tmp_path / "store", *many()), made, tmp_path / "out")
    train, kept = (lines(tmp_path / "out" / f"{name}.jsonl") for name in ("train", "validation"))
    assert {line["source"] for line in train} == {line["source"] for line in kept} == {"s", "base"}
    assert not {line["theorem"] for line in train} & {line["theorem"] for line in kept}


def test_theorems_of_a_benchmark_are_left_out_of_all_sources(tmp_path: Path):
    (tmp_path / "benchmark.json").write_text(json.dumps({"theorems": [{"name": "t1"}, {"name": "base3"}]}))
    left_out = {"files": ["benchmark.json"], "theorems": ["t0"]}
    made = mix({"name": "search"}, pairs(tmp_path, 5), folder=tmp_path, left_out=left_out)
    manifest = export(filled(tmp_path / "store", *many(4)), made, tmp_path / "out")
    assert [source.left_out for source in manifest.sources] == [{"theorem_left_out": 4}, {"theorem_left_out": 1}]
    assert {line["theorem"] for line in lines(tmp_path / "out" / "train.jsonl")} == {
        *("t2", "t3", "base0", "base1", "base2", "base4")
    }
    both = mix({"name": "search"}, left_out=left_out, validation={"theorems": ["t0 "]}, folder=tmp_path)
    with pytest.raises(StoreError, match="'t0' is to be kept for validation and to be left out"):
        export(Store(tmp_path / "store"), both, tmp_path / "both")


def test_what_a_source_above_has_given_is_not_taken_again(tmp_path: Path):
    store = filled(tmp_path / "store", *many(10))
    some = {"name": "some", "rows": {"theorems": ["t1", "t2"]}, "upsample": 2}
    manifest = export(store, mix(some, {"name": "all"}), tmp_path / "one")
    assert manifest.files[0].sources == {"some": 8, "all": 16}
    assert manifest.sources[1].left_out == {"in_a_source_above": 4}
    for number, wanted in enumerate(
        (mix(some, {"name": "all"}, dedupe=False), mix(some, {"name": "all", "dedupe": []}))
    ):
        manifest = export(store, wanted, tmp_path / str(number))
        assert (manifest.files[0].sources, manifest.sources[1].left_out) == ({"some": 8, "all": 20}, {})


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


def test_what_is_too_long_is_left_out(tmp_path: Path):
    manifest = export(filled(tmp_path / "store", *many(2)), mix({"name": "s"}, max_characters=10), tmp_path / "out")
    assert manifest.sources[0].left_out == {"too_long": 2}
    assert {line["tactic"] for line in lines(tmp_path / "out" / "train.jsonl")} == {"simp"}


def test_attempts_that_were_judged_otherwise_are_left_out(tmp_path: Path):
    judged = [
        tried(theorem, 9, None, "", "", kind="verdict", verdict=verdict)
        for theorem, verdicts in (("a", "accepted"), ("b", "rejected"), ("c", "accepted rejected"))
        for verdict in verdicts.split()
    ]
    part = proved_tree("a", attempt_id="r/a/second try")
    store = filled(tmp_path / "store", *(step for name in "abcd" for step in proved_tree(name)), *judged, *part)
    source = {"name": "s", "verdicts": ["accepted"], "dedupe": []}
    assert export(store, mix(source), tmp_path / "out").sources[0].rows == 6
    assert {line["theorem"] for line in lines(tmp_path / "out" / "train.jsonl")} == {"a"}
    pairs_too = mix(source | {"kind": "contrast"})
    assert export(store, pairs_too, tmp_path / "pairs").files[0].lines == 4


def test_what_is_not_as_one_might_expect_is_told(tmp_path: Path):
    store = filled(tmp_path / "store", *proved_tree("a"))
    (tmp_path / "store" / "parts" / "torn.parquet").write_bytes(b"PAR1")
    sources = [
        {"name": "few", "subsample": 5},
        {"name": "none", "rows": {"runs": ["other"]}},
        {"name": "roots", "rows": {"max_depth": 0}},
    ]
    assert export(store, mix(*sources, validation={"theorems": ["b"]}), tmp_path / "out").remarks == (
        "The source 'few' was to give 5 examples and has 2.",
        "The source 'none' found nothing that it asks for.",
        "Of the 1 rows of the source 'roots' none became an example.",
        "validation.jsonl is empty.",
        "There are no examples of theorems that were to be kept for validation: 'b'.",
        "1 files or lines of the store are damaged; what they held is not here. Check the store.",
    )


def test_a_line_is_one_line_for_every_reader(tmp_path: Path):
    odd = "h :\r\n p\u2028\x85\u2029\x0c⊢ a"
    store = filled(tmp_path / "store", tried("a", 10, 1, "simp", "", label="positive", state_before=odd))
    export(store, mix({"name": "s"}), tmp_path / "out")
    (line,) = (tmp_path / "out" / "train.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line)["state"] == odd


def test_a_data_set_that_was_changed_is_found_out(tmp_path: Path):
    out = tmp_path / "out"
    export(filled(tmp_path / "store", *many(3)), mix({"name": "s"}, template={}), out)
    assert verify_data_set(out) == []
    data = (out / "train.jsonl").read_bytes()
    (out / "train.jsonl").write_bytes(data.replace(b"intro", b"Intro", 1))
    (out / "more.jsonl").write_bytes(b"")
    lines_and_bytes = f"6 lines of {len(data)} bytes"
    assert verify_data_set(out) == [
        f"'train.jsonl' was changed: it has {lines_and_bytes}, and had 6 of {len(data)}",
        "'more.jsonl' is no part of the data set",
    ]
    (out / "train.jsonl").unlink()
    assert verify_data_set(out)[0] == "'train.jsonl' is missing"
    manifest = (out / "manifest.json").read_text()
    (out / "manifest.json").write_text(manifest.replace("{tactic}", "{tactic}."))
    with pytest.raises(StoreError, match="is not the one that its hash tells of"):
        verify_data_set(out)
    (out / "manifest.json").write_text(manifest.replace("train.jsonl", "../train.jsonl"))
    with pytest.raises(StoreError, match="is no manifest of a data set: files"):
        verify_data_set(out)
    with pytest.raises(StoreError, match="holds no data set"):
        verify_data_set(tmp_path)


EXPORT = """
import signal, sys
from pathlib import Path
from ekiden_store import Store
from ekiden_store.data_sets.exports import export_mix
from ekiden_store.data_sets.mixes import read_mix
folder, mix, out = map(Path, sys.argv[1:])
with Store(folder).snapshot() as snapshot:
    if out.name == "killed":
        snapshot.scan = lambda **_: signal.raise_signal(signal.SIGKILL)
    export_mix(read_mix(mix), out, snapshot=snapshot)
"""


def exported_by_another(folder: Path, out: str, **variables: str) -> int:
    command = [sys.executable, "-c", EXPORT, folder / "store", folder / "mix.json", folder / out]
    return subprocess.run(command, env=os.environ | variables, check=False, timeout=50).returncode


def test_the_bytes_depend_on_no_process_order_place_or_time(tmp_path: Path):
    sources = [{"name": "s", "subsample": 30}, {"name": "pairs", "subsample": 9, "dedupe": ["state"]}]
    made = {"seed": 7, "sources": sources, "validation": {"fraction": 0.3}, "template": {"form": "messages"}}
    (tmp_path / "mix.json").write_text(json.dumps(made))
    steps = many(20) + [step for number in range(5) for step in proved_tree(f"t{number}", attempt_id="again")]
    filled(tmp_path / "store", *steps)
    variables = {"PYTHONHASHSEED": "5", "TZ": "Asia/Tokyo", "LC_ALL": "C", "OMP_NUM_THREADS": "1", "PYTHONUTF8": "0"}
    assert exported_by_another(tmp_path, "elsewhere", **variables) == 0
    other = Store(tmp_path / "other")
    for number in range(3):
        with other.writer() as writer:
            writer.append(steps[::-1][number::3])
        other.compact()
    export(other, read_mix(tmp_path / "mix.json"), tmp_path / "here")
    assert contents(tmp_path / "here") == contents(tmp_path / "elsewhere")


def test_a_data_set_is_made_again_from_its_manifest(tmp_path: Path):
    store = filled(tmp_path / "store", *many(10))
    (tmp_path / "names.txt").write_text("t1\nbase2\n")
    made = mix(
        {"name": "s", "on_proofs": True, "subsample": 9, "upsample": 2},
        pairs(tmp_path) | {"subsample": 7},
        folder=tmp_path,
        validation={"fraction": 0.2},
        left_out={"files": ["names.txt"]},
        template={"form": "text", "prompt": "{state} >"},
        max_characters=1_000,
    )
    manifest = export(store, made, tmp_path / "first")
    (tmp_path / "again.json").write_text(json.dumps(manifest.mix))
    export(store, read_mix(tmp_path / "again.json"), tmp_path / "second")
    assert contents(tmp_path / "first") == contents(tmp_path / "second")


def test_nothing_half_written_takes_the_name_and_the_next_run_takes_it_away(tmp_path: Path):
    (tmp_path / "mix.json").write_text(json.dumps({"seed": 7, "sources": [{"name": "s"}]}))
    store = filled(tmp_path / "store", *many(2))
    assert exported_by_another(tmp_path, "killed") == -signal.SIGKILL
    assert not (tmp_path / "killed").exists()
    (left,) = tmp_path.glob(".killed.*.part")
    theirs = tmp_path / ".killed.of somebody else.part"
    theirs.mkdir()
    with whole_folder(tmp_path / "killed") as being_made:
        assert not left.exists()
        export(store, read_mix(tmp_path / "mix.json"), tmp_path / "killed")
        assert being_made.is_dir()  # by a process that is alive
        (tmp_path / "killed").rename(tmp_path / "made")
    assert verify_data_set(tmp_path / "made") == []
    assert theirs.is_dir()


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
