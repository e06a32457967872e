"""No local job is lost or doubled, whoever is killed whenever."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import job_drill

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
ROUNDS = 30


def drill(kind: str, folder: Path, seed: int) -> dict[str, Any]:
    command = [sys.executable, str(Path(job_drill.__file__)), kind, str(folder), str(ROUNDS), str(seed)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=350)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_job_whose_submitter_is_killed_at_any_moment_runs_once(tmp_path: Path) -> None:
    found = drill("submitters", tmp_path, seed=1)
    assert found["killed"] >= ROUNDS
    assert 0 < found["known"] < ROUNDS  # some were killed before anything was on disk, and some after
    assert (found["ok"], found["runs"], found["secrets"]) == (ROUNDS + 1, ROUNDS + 1, 0)


def test_a_job_whose_starter_is_killed_at_any_moment_runs_once(tmp_path: Path) -> None:
    found = drill("starters", tmp_path, seed=2)
    assert found["killed"] > ROUNDS // 2
    assert (found["ok"], found["runs"], found["secrets"]) == (ROUNDS + 1, ROUNDS + 1, 0)
