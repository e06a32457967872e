"""Solo runs in the trajectory store."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ekiden_orchestrator.solo.results import Results
from ekiden_store import Store
from ekiden_store.arrow import pa
from ekiden_store.queries.stats import read_stats
from model_server import Answer, ModelServer
from orchestrator.solo.conftest import EASY, SoloBed

ASK = 'call("llm", context={"wish": "please"})'
WORK = f'{ASK}\ncall("judge", verdict="false", code=WRONG)\ncall("dance")\ncall("judge", verdict="false", code=RIGHT)'


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def stored(bed: SoloBed) -> Path:
    folder = bed.root / "store"
    store = bed.settings.store.model_copy(update={"solo": True, "folder": str(folder)})
    bed.settings = bed.settings.model_copy(update={"store": store})
    return folder


def rows(folder: Path) -> list[dict[str, Any]]:
    with Store(folder, create=False).snapshot() as snapshot:
        found: list[dict[str, Any]] = pa.Table.from_batches(snapshot.scan()).to_pylist()
    return sorted(found, key=lambda row: (row["attempt_id"], row["step"]))


def test_each_call_of_a_solver_is_a_row_and_the_accepted_answer_the_proof(
    bed: SoloBed, stored: Path, model: ModelServer
) -> None:
    bed.connect(model.url)
    model.script(Answer("an answer", tokens=(70, 30)))
    assert bed.run(bed.solver(WORK))
    asked, wrong, dance, right, end = rows(stored)
    assert [row["kind"] for row in rows(stored)] == ["model_call", "verdict", "tool_call", "verdict", "message"]
    assert (asked["tokens_in"], asked["tokens_out"], asked["temperature"]) == (70, 30, 0.0)
    assert json.loads(asked["tool_output"])["response"] == "an answer"
    assert [(row["verdict"], row["outcome"], row["is_proof_complete"]) for row in (wrong, right)] == [
        ("incorrect", "failed", False),
        ("accepted", "ok", True),
    ]
    assert (wrong["failure_kind"], json.loads(right["tool_output"])["certificate"]) == ("LEAN_REJECTED", "table")
    assert right["tool_input"] == bed.record.code
    assert (dance["tool"], dance["outcome"]) == ("dance", "failed")
    assert json.loads(end["tool_output"])["ending"] == "solved"
    assert {row["theorem_name"] for row in rows(stored)} == {"easy"}
    assert len({row["attempt_id"] for row in rows(stored)}) == 1
    times = [row["timestamp_ms"] for row in rows(stored)]
    rounded = 5
    assert all(later >= earlier - rounded for earlier, later in itertools.pairwise([bed.record.began_ms, *times]))
    assert bed.record.began_ms > 0


def test_a_run_that_is_shown_again_is_stored_once_and_another_try_is_another_attempt(
    bed: SoloBed, stored: Path, model: ModelServer
) -> None:
    bed.connect(model.url)
    bed.problems.append({**EASY, "id": "hard"})
    solver = bed.solver(f'{ASK}\nif start["problem"]["id"] != "hard": call("judge", verdict="false", code=RIGHT)')
    assert not bed.run(solver)
    before = rows(stored)
    assert not bed.run(solver)
    after = rows(stored)
    assert [row for row in after if row["theorem_name"] == "easy"] == [
        row for row in before if row["theorem_name"] == "easy"
    ]
    tries = {row["attempt_id"] for row in after if row["theorem_name"] == "hard"}
    assert (len(tries), len({row["run_id"] for row in after})) == (2, 1)
    assert len([row for row in after if row["kind"] == "model_call"]) == len(model.heard) == 3
    with Store(stored).snapshot() as snapshot:
        assert (read_stats(snapshot).proved.proved, read_stats(snapshot).proved.attempted) == (1, 2)


def test_calls_of_a_problem_that_was_cut_short_are_stored_with_the_next_run(
    bed: SoloBed, stored: Path, model: ModelServer
) -> None:
    bed.connect(model.url)
    assert bed.run(bed.solver('call("judge", verdict="false", code=RIGHT)'))
    bed.problems.append({**EASY, "id": "second"})

    def interrupts(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ekiden_orchestrator.solo.session.Session.record", interrupts)
        with pytest.raises(KeyboardInterrupt):
            bed.run(bed.solver(ASK))
    assert not [row for row in rows(stored) if row["theorem_name"] == "second"]
    bed.run(bed.solver("pass"), ids=("easy",))
    [call] = [row for row in rows(stored) if row["theorem_name"] == "second"]
    assert (call["kind"], call["outcome"]) == ("model_call", "ok")


def test_a_run_is_not_stored_where_the_settings_say_no(bed: SoloBed, stored: Path) -> None:
    store = bed.settings.store.model_copy(update={"solo": False})
    bed.settings = bed.settings.model_copy(update={"store": store})
    bed.run(bed.solver("pass"))
    assert not stored.exists()


def test_a_store_that_cannot_be_written_costs_a_run_one_line_and_what_is_missing_is_stored_later(
    bed: SoloBed, stored: Path
) -> None:
    stored.write_text("in the way")
    bed.problems.append({**EASY, "id": "second"})
    solver = bed.solver('call("judge", verdict="false", code=RIGHT)')
    assert bed.run(solver)
    assert bed.output.getvalue().count("The run is not in the trajectory store") == 1
    stored.unlink()
    assert bed.run(solver)
    assert [row["theorem_name"] for row in rows(stored) if row["verdict"] == "accepted"] == ["easy", "second"]


def test_a_run_of_many_problems_leaves_one_file(bed: SoloBed, stored: Path) -> None:
    bed.problems += [{**EASY, "id": f"more_{number}"} for number in range(3)]
    assert bed.run(bed.solver('call("judge", verdict="false", code=RIGHT)'))
    assert len([*(stored / "wal").glob("*/*.jsonl")]) == 1


def test_results_of_an_earlier_version_are_stored_once(bed: SoloBed, stored: Path) -> None:
    settings = bed.settings
    bed.settings = settings.model_copy(update={"store": settings.store.model_copy(update={"solo": False})})
    solver = bed.solver('call("judge", verdict="false", code=RIGHT)')
    assert bed.run(solver)
    old = json.loads(bed.results_file.read_text())
    del old["id"]
    for name in ("began_ms", "budget", "settings_sha256"):
        del old["results"]["easy"][name]
    for entry in old["results"]["easy"]["log"]:
        del entry["verdict"]
    bed.results_file.write_text(json.dumps(old))
    bed.settings = settings
    for _ in range(2):
        assert bed.run(solver)
    judged, end = rows(stored)
    assert (judged["verdict"], judged["is_proof_complete"], judged["tool_input"]) == ("accepted", True, bed.record.code)
    assert end["outcome"] == "ok"
    assert Results.model_validate_json(bed.results_file.read_bytes()).id == ""
