"""The benchmark of large stores, on a small one: what it measures is right, on both sides."""

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_both_sides_of_the_benchmark_of_large_stores_find_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    benchmark: Any = importlib.import_module("store_at_scale")
    search = benchmark.Search.at_least(1_000, share_rows=400)
    assert (search.rows, search.shares, search.positives) == (1_200, 3, 30)
    found = benchmark.measure(benchmark.Stage(search, tmp_path), benchmark.here)
    assert list(found) == ["append", "compact", "open", "filtered scan", "replay", "mix", "stats", "dedupe"]
    assert min(side.memory for sides in found.values() for side in sides) > 1 << 20
    lines = capsys.readouterr().out.splitlines()
    assert [lines[1], len(lines)] == ["1,200 rows", 13]
    trained, kept, plain = (
        (tmp_path / name).read_text().count('"state":')
        for name in ("mix/train.jsonl", "mix/validation.jsonl", "mix.jsonl")
    )
    assert (trained + 10 * kept, plain) == (240, 240)
