"""Runs in the trajectory store."""

import json
from pathlib import Path
from typing import Any

import pytest

from ekiden_orchestrator.marathon.run import resume_run
from ekiden_store import Step, Store
from ekiden_store.arrow import pa
from ekiden_store.queries.stats import read_stats
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
    assert (call["tokens_in"], call["tokens_out"], len(call["prompt_sha256"])) == (20, 5, 64)
    assert {row["run_id"] for row in rows(stored)} == {call["run_id"]}
    with Store(stored).snapshot() as snapshot:
        assert read_stats(snapshot).proved.attempted == 5


def test_a_run_that_is_shown_again_is_stored_once(bed: Bed, stored: Path) -> None:
    bed.run(bed.solver("answer(ids[0])"))
    before = rows(stored)
    resume_run(bed.run_folder, bed.settings, bed.display)
    assert rows(stored) == before
    assert [row["kind"] for row in before] == ["tool_call", *["verdict"] * 5]


def test_the_processes_of_a_solver_are_stored_with_how_they_ended(bed: Bed, stored: Path) -> None:
    bed.run(bed.solver("sys.exit(3)"))
    [process] = [row for row in rows(stored) if row["kind"] == "tool_call"]
    assert (process["theorem_name"], process["attempt_id"]) == ("", process["run_id"])
    assert (process["outcome"], process["failure_kind"]) == ("failed", "exited")
    assert json.loads(process["tool_output"])["exit_code"] == 3


def test_what_a_solver_tells_of_its_own_work_is_stored_as_far_as_it_is_its_own_to_say(bed: Bed, stored: Path) -> None:
    told: list[object] = [
        {"kind": "tool_call", "theorem_name": "normal_0001", "tool": "search", "duration_ms": 7, "run_id": "another"},
        {"kind": "tactic", "theorem_name": "normal_0001", "is_proof_complete": True, "verdict": "accepted"},
        {"kind": "verdict", "theorem_name": "normal_0001"},
        {"kind": "tool_call", "theorem_name": "of another run"},
        {"kind": "tool_call", "theorem_name": "normal_0002", "duration_ms": -1},
        {"kind": "tool_call", "theorem_name": "normal_0002", "no such column": 1},
        {"kind": "tool_call", "theorem_name": []},
        [1],
    ]
    text = "".join(json.dumps(row) + "\n" for row in told) + "{\n\xff"
    bed.run(
        bed.solver(
            f"text = {text!r}\n"
            "open(os.path.join(os.environ['JUDGE_MARATHON_SCRATCH_DIR'], 'trajectory.jsonl'), 'w').write(text)\n"
        )
    )
    resume_run(bed.run_folder, bed.settings, bed.display)
    own = [row for row in rows(stored) if ":solver:" in row["row_id"]]
    assert [
        (row["kind"], row["tool"], row["duration_ms"], row["is_proof_complete"], row["verdict"]) for row in own
    ] == [
        ("tool_call", "search", 7, False, ""),
        ("tactic", "", None, False, ""),
    ]
    [run] = {row["run_id"] for row in rows(stored)}
    assert {row["attempt_id"] for row in own} == {f"{run}/normal_0001"}
    with Store(stored).snapshot() as snapshot:
        assert read_stats(snapshot).proved.proved == 0


def test_a_link_in_place_of_a_solvers_rows_is_not_followed(bed: Bed, stored: Path) -> None:
    elsewhere = bed.root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "trajectory.jsonl").write_text('{"kind": "message", "theorem_name": "normal_0001"}\n')
    bed.run(bed.solver("pass"))
    scratch = bed.run_folder / "attempts" / "1" / "scratch"
    scratch.rename(scratch.with_name("old"))
    scratch.symlink_to(elsewhere)
    resume_run(bed.run_folder, bed.settings, bed.display)
    scratch.unlink()
    scratch.mkdir()
    (scratch / "trajectory.jsonl").symlink_to(elsewhere / "trajectory.jsonl")
    resume_run(bed.run_folder, bed.settings, bed.display)
    assert not [row for row in rows(stored) if ":solver:" in row["row_id"]]


def test_what_many_runs_have_left_is_compacted_without_being_asked(bed: Bed, stored: Path) -> None:
    store = bed.settings.store.model_copy(update={"compact_files": 2})
    bed.settings = bed.settings.model_copy(update={"store": store})
    bed.run(bed.solver("answer(ids[0])"))
    assert not [*(stored / "parts").iterdir()]
    before = rows(stored)
    with Store(stored).writer() as writer:
        writer.append([Step(theorem_name="another", kind="message")])
    resume_run(bed.run_folder, bed.settings, bed.display)
    assert len([*(stored / "parts").iterdir()]) == 1
    assert not [*(stored / "wal").iterdir()]
    assert [row for row in rows(stored) if row["theorem_name"] != "another"] == before


def test_what_harvest_searched_is_stored_whether_it_found_something_or_not(bed: Bed, stored: Path) -> None:
    bed.run("harvest", manifest=bed.manifest(3, 1), seconds=60)
    found = {row["theorem_name"]: row for row in rows(stored) if row["tool"] == "cayley_refute"}
    assert {name: row["outcome"] for name, row in found.items()} == {"normal_0003": "ok", "normal_0001": "failed"}
    told = json.loads(found["normal_0003"]["tool_output"])
    assert told["method"]
    assert found["normal_0003"]["duration_ms"] is not None
    assert found["normal_0001"]["failure_kind"] in ("exhausted", "time")


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
    assert [row["verdict"] for row in rows(stored)] == ["", "malformed", *["not_attempted"] * 4]
