"""Runs in the trajectory store."""

import json
from pathlib import Path
from typing import Any

import pytest

from ekiden_orchestrator.marathon.run import resume_run
from ekiden_store import Store
from ekiden_store.arrow import pa
from ekiden_store.stats import read_stats
from marathon_bed import Bed
from model_server import Answer, ModelServer
from orchestrator.marathon.solver_sources import HELPER

ASKS = (
    HELPER
    + """
call_llm("Prove it", config={"max_output_tokens": 100})
for id in ids[:2]:
    answer(id, verdict="maybe")
"""
)


@pytest.fixture
def stored(bed: Bed) -> Path:
    folder = bed.root / "store"
    keep(bed, folder)
    return folder


def keep(bed: Bed, folder: Path) -> None:
    store = bed.settings.store.model_copy(update={"marathon": True, "folder": str(folder)})
    bed.settings = bed.settings.model_copy(update={"store": store})


def rows(folder: Path) -> list[dict[str, Any]]:
    with Store(folder, create=False).snapshot() as snapshot:
        return pa.Table.from_batches(snapshot.scan()).to_pylist()


def test_a_run_is_stored_as_an_attempt_for_each_problem_with_what_its_calls_took(
    bed: Bed, stored: Path, models: ModelServer
) -> None:
    models.script(Answer("17", tokens=(20, 5)))
    summary = bed.run(bed.solver(ASKS), tokens=100_000)
    assert summary.by_status == {"malformed": 2, "not_attempted": 3}
    verdicts = [row for row in rows(stored) if row["kind"] == "verdict"]
    assert [(row["theorem_name"], row["verdict"], row["outcome"], row["is_proof_complete"]) for row in verdicts] == [
        ("normal_0001", "malformed", "failed", False),
        ("normal_0002", "malformed", "failed", False),
        ("normal_0003", "not_attempted", "failed", False),
        ("normal_0004", "not_attempted", "failed", False),
        ("normal_0005", "not_attempted", "failed", False),
    ]
    assert len({row["attempt_id"] for row in verdicts}) == 5
    [call] = [row for row in rows(stored) if row["kind"] == "model_call"]
    assert (call["outcome"], json.loads(call["tool_output"])["tokens"]) == ("ok", 25)
    assert {row["run_id"] for row in rows(stored)} == {call["run_id"]}
    with Store(stored).snapshot() as snapshot:
        assert read_stats(snapshot).proved.attempted == 5


def test_a_run_that_is_shown_again_is_stored_once(bed: Bed, stored: Path) -> None:
    bed.run(bed.solver("answer(ids[0])"))
    before = rows(stored)
    resume_run(bed.run_folder, bed.settings, bed.display)
    assert rows(stored) == before
    assert len(before) == 5


def test_a_run_is_not_stored_where_the_settings_say_no(bed: Bed, stored: Path) -> None:
    store = bed.settings.store.model_copy(update={"marathon": False})
    bed.settings = bed.settings.model_copy(update={"store": store})
    bed.run(bed.solver("answer(ids[0])"))
    assert not stored.exists()


def test_a_store_that_cannot_be_written_costs_a_run_one_line_and_what_is_missing_is_stored_later(
    bed: Bed, stored: Path
) -> None:
    stored.write_text("in the way")
    summary = bed.run(bed.solver("answer(ids[0])"))
    assert summary.by_status == {"malformed": 1, "not_attempted": 4}
    assert bed.printed.count("The run is not in the trajectory store") == 1
    stored.unlink()
    resume_run(bed.run_folder, bed.settings, bed.display)
    assert [row["verdict"] for row in rows(stored)] == ["malformed", *["not_attempted"] * 4]
