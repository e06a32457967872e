"""What was acknowledged survives, whoever is killed, and whenever."""

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from ekiden_store import Store
from servers.store.crash_drill import acknowledged_ids

DRILL = Path(__file__).with_name("crash_drill.py")


def drill(folder: Path, seconds: float) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    ended = subprocess.run(
        [sys.executable, DRILL, folder, str(seconds), str(seed)], capture_output=True, text=True, check=True
    )
    told = json.loads(ended.stdout)
    print({name: value for name, value in told.items() if name != "trouble"})
    assert told["trouble"] == {}
    assert told["kills"]["writer"]
    assert told["reads"]

    store = Store(folder / "store")
    acknowledged = acknowledged_ids(folder)
    print(f"{len(acknowledged)} rows acknowledged")
    assert acknowledged
    for _ in range(2):
        with store.snapshot() as snapshot:
            rows = Counter(row for batch in snapshot.scan(columns=["row_id"]) for row in batch.column(0).to_pylist())
            assert snapshot.findings == []
        assert acknowledged <= rows.keys()
        assert set(rows.values()) == {1}
        compaction = store.compact()
        assert {finding.kind for finding in compaction.findings} <= {"half_written_part", "torn_tail"}
    assert not list((folder / "store" / "wal").iterdir())
    assert store.check().findings == []


@pytest.mark.timeout(180)
def test_every_acknowledged_row_is_there_once_though_writers_and_compaction_are_killed(tmp_path: Path):
    drill(tmp_path, 6)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_acknowledged_row_is_there_once_after_a_long_drill(tmp_path: Path):
    drill(tmp_path, float(os.environ.get("EKIDEN_STORE_DRILL_S", "30")))
