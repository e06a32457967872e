"""Mixes, as files say them."""

import json
from pathlib import Path

import pytest

from ekiden_store import StoreError
from ekiden_store.data_sets.mixes import FileSource, Mix, StoreSource, Validation, parse_mix, read_mix
from ekiden_store.queries.row_filter import RowFilter

MIX = """
seed = 42

[validation]
fraction = 0.1

[[sources]]
name = "base"
kind = "file"
path = "pairs.jsonl"
subsample = 10_000

[[sources]]
name = "search"
upsample = 10
dedupe = ["state", "tactic"]
rows = { labels = ["positive"], origins = ["search"], min_depth = 1 }
"""


def expected(folder: Path) -> Mix:
    base = FileSource(name="base", kind="file", path=folder / "pairs.jsonl", subsample=10_000)
    rows = RowFilter(labels=("positive",), origins=("search",), min_depth=1)
    search = StoreSource(name="search", upsample=10, dedupe=("state", "tactic"), rows=rows)
    return Mix(seed=42, validation=Validation(fraction=0.1), sources=(base, search))


def test_a_mix_is_read_from_toml_and_from_json(tmp_path: Path):
    (tmp_path / "mix.toml").write_text(MIX)
    mix = read_mix(tmp_path / "mix.toml")
    assert mix == expected(tmp_path)
    (tmp_path / "mix.json").write_text(mix.model_dump_json())
    assert read_mix(tmp_path / "mix.json") == mix


def test_the_mix_of_the_guide_is_one(tmp_path: Path):
    guide = (Path(__file__).parents[3] / "docs/guide/trajectories.md").read_text("utf-8")
    (tmp_path / "mix.toml").write_text(guide.partition("```toml\n")[2].partition("```")[0])
    mix = read_mix(tmp_path / "mix.toml")
    assert [source.name for source in mix.sources] == ["proofs", "base"]
    assert mix.template is not None


@pytest.mark.parametrize(
    ("source", "labels"),
    [
        ({}, ("positive",)),
        ({"rows": {"runs": ["r"]}}, ("positive",)),
        ({"rows": {"labels": []}}, ()),
        ({"rows": {"labels": ["unknown"]}}, ("unknown",)),
        ({"on_proofs": True}, ()),
        ({"on_proofs": True, "rows": {"labels": ["positive"]}}, ("positive",)),
    ],
)
def test_nobody_trains_on_negatives_without_saying_so(
    tmp_path: Path, source: dict[str, object], labels: tuple[str, ...]
):
    (found,) = parse_mix({"seed": 1, "sources": [{"name": "a", **source}]}, folder=tmp_path).sources
    assert isinstance(found, StoreSource)
    assert found.rows.labels == labels


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "seed: Field required"),
        ({"seed": 1, "sources": []}, "sources: "),
        ({"seed": -1, "sources": [{"name": "a"}]}, "seed: "),
        ({"seed": 1, "sources": [{"name": "a"}, {"name": "a"}]}, "two sources are called 'a'"),
        ({"seed": 1, "sources": [{"name": "a"}, {"name": "b", "kind": "contrast"}]}, "cannot be mixed"),
        ({"seed": 1, "sources": [{"name": "a", "upsampled": 3}]}, "upsampled: Extra inputs"),
        ({"seed": 1, "sources": [{"name": "a", "rows": {"label": "x"}}]}, "Extra inputs"),
        ({"seed": 1, "sources": [{"name": "a", "kind": "file"}]}, "path: Field required"),
        ({"seed": 1, "sources": [{"name": "A B"}]}, "name: "),
        ({"seed": 1, "sources": ["a"]}, "sources.0"),
        ({"seed": 1, "sources": [{"name": "a"}], "validation": {"fraction": 1}}, "validation.fraction"),
        ({"seed": 1, "sources": [{"name": "a"}], "version": 2}, "version: "),
    ],
)
def test_what_is_no_mix_is_refused(tmp_path: Path, settings: dict[str, object], message: str):
    with pytest.raises(StoreError) as caught:
        parse_mix(settings, folder=tmp_path)
    assert str(caught.value).startswith("The mix cannot be used: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"[", b"\xff", b"seed = "])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes):
    for name in ("mix.toml", "mix.json"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(StoreError, match="cannot be read"):
            read_mix(tmp_path / name)
    with pytest.raises(StoreError, match="cannot be read"):
        read_mix(tmp_path / "none.toml")
    (tmp_path / "list.json").write_text(json.dumps([1]))
    with pytest.raises(StoreError, match="no table of settings"):
        read_mix(tmp_path / "list.json")
