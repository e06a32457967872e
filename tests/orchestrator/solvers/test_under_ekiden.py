"""The solvers in Ekiden's own runner, with a scripted model behind its budget."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ekiden_config import load_settings
from ekiden_orchestrator.marathon.submission import built_in_names
from ekiden_orchestrator.marathon.summary import Summary
from marathon_bed import Bed
from model_server import ModelServer
from orchestrator.solvers.scripts import (
    ALSO_FOUR,
    COMMUTES,
    DEEPER,
    FOUR,
    NEEDS_FOUR,
    TURNED,
    TURNED_PROOF,
    TWISTED,
    by_law,
    effort,
    proof,
    table,
)

REPLIES: dict[str, str | int] = {
    TURNED: proof(TURNED_PROOF),
    TWISTED: proof("simp [h]"),
    DEEPER: proof("intro x y z w\nexact h (x ◇ y) z"),
    NEEDS_FOUR[1]: table(FOUR),
    ALSO_FOUR[1]: table(FOUR),
}
QUESTIONS = {
    "deeper": (COMMUTES, DEEPER),
    "small": ("x = x * y", "x * y = y * x"),
    "direct": (COMMUTES, "x ◇ (y ◇ z) = (y ◇ z) ◇ x"),
    "twisted": (COMMUTES, TWISTED),
    "also four": ALSO_FOUR,
    "turned": (COMMUTES, TURNED),
    "four": NEEDS_FOUR,
}
SOLVED = {"baseline": {"small"}, "triage": {"small", "direct", "turned", "four"}}
SOLVED["fewshot"] = SOLVED["triage"]


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bed:
    monkeypatch.setenv("SCRIPTED_API_KEY", "upstream-key")
    settings = load_settings({"marathon": {"grace_s": 1.0, "poll_s": 0.05, "heartbeat_s": 0.05}})
    return Bed(tmp_path, settings, io.StringIO())


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer(responder=by_law(REPLIES)) as server:
        yield server


def manifest(folder: Path) -> str:
    records = [
        {"id": name, "eq1_id": 1, "eq2_id": 2, "equation1": law1, "equation2": law2}
        for name, (law1, law2) in QUESTIONS.items()
    ]
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def outcome(bed: Bed, summary: Summary) -> tuple[object, ...]:
    """Return what two runs must agree on."""
    statuses = [(problem.id, problem.status) for problem in summary.per_problem]
    return summary.score, statuses, (bed.run_folder / "answers.jsonl").read_bytes()


def test_the_solvers_are_found_by_name() -> None:
    assert built_in_names() == ["baseline", "fewshot", "harvest", "triage"]


@pytest.mark.parametrize("solver", ["baseline", "triage", "fewshot"])
def test_two_runs_of_a_solver_agree_in_answers_and_score(solver: str, bed: Bed, model: ModelServer) -> None:
    bed.connect(model.url)
    outcomes: list[tuple[object, ...]] = []
    for place in (bed, bed.again()):
        summary = place.run(solver, manifest=manifest(place.root), seconds=60, tokens=200_000)
        assert (summary.exit_code, summary.sigterm_fired) == (0, False)
        assert {each.id for each in summary.per_problem if each.status == "accepted"} == SOLVED[solver]
        outcomes.append(outcome(place, summary))
    assert outcomes[0] == outcomes[1]


def test_the_effort_comes_through_the_budgets_proxy_to_the_model(bed: Bed, model: ModelServer) -> None:
    bed.connect(model.url)
    bed.run("triage", manifest=manifest(bed.root), seconds=60, tokens=200_000)
    assert {effort(heard) for heard in model.heard} == {"low", "high"}
    assert {str(heard.json["provider"]) for heard in model.heard} == {"{'order': ['deepinfra/bf16']}"}


@pytest.mark.parametrize("solver", ["triage", "fewshot"])
def test_no_call_reaches_a_model_without_tokens(solver: str, bed: Bed, model: ModelServer) -> None:
    bed.connect(model.url)
    summary = bed.run(solver, manifest=manifest(bed.root), seconds=60, tokens=0)
    assert model.connections == 0
    assert {each.id for each in summary.per_problem if each.status == "accepted"} == {"small", "direct"}


@pytest.mark.parametrize("solver", ["triage", "fewshot"])
def test_a_budget_too_small_for_a_call_ends_no_run(solver: str, bed: Bed, model: ModelServer) -> None:
    bed.connect(model.url)
    summary = bed.run(solver, manifest=manifest(bed.root), seconds=60, tokens=5000)
    assert (summary.exit_code, summary.sigterm_fired) == (0, False)
    assert [note.partition(":")[0] for note in summary.notes] == [
        "The solver did not send calls that may use more than the tokens left"
    ]
    assert {"small", "direct"} <= {each.id for each in summary.per_problem if each.status == "accepted"}
