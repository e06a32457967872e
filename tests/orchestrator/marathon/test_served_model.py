"""Which model a run asks, and that one whom nobody serves is told before anything starts."""

from decimal import Decimal

import pytest

from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.marathon.run import resume_run
from ekiden_orchestrator.marathon.served_model import CONTEST_MODEL
from ekiden_orchestrator.marathon.submission import BUILT_IN_SOLVERS
from marathon_bed import Bed
from model_server import ModelServer, refusal

LISTED = "scripted"
"""The one model that the scripted server lists."""
PRICE = {"input_usd_per_million": "1", "output_usd_per_million": "1"}


@pytest.fixture
def listing(bed: Bed, models: ModelServer) -> ModelServer:
    """The bed's model server, without a word in the settings about its models."""
    bed.connect(models.url, upstreams={"local": {"base_url": models.url}})
    return models


def asked(models: ModelServer) -> set[tuple[str, str]]:
    return {(heard.method, heard.path.rpartition("/v1")[2]) for heard in models.heard}


@pytest.mark.parametrize("solver", ["triage", "fewshot"])
def test_a_built_in_solver_is_not_started_for_a_model_that_nobody_serves(
    bed: Bed, listing: ModelServer, solver: str
) -> None:
    with pytest.raises(MarathonError, match=f"No upstream serves the model '{CONTEST_MODEL}'") as refusal:
        bed.run(solver)
    told = str(refusal.value)
    assert "\n" not in told
    assert f"local ({listing.url})" in told
    assert "--model or the setting marathon.model, such as 'scripted'" in told
    assert asked(listing) == {("GET", "/models")}
    assert not bed.run_folder.exists()


def test_a_named_model_is_the_one_that_is_asked_now_and_after_a_resumption(bed: Bed, listing: ModelServer) -> None:
    bed.change(model="the/settings")
    summary = bed.run("triage", model=LISTED, tokens=100_000)
    assert summary.model == LISTED
    assert {heard.model for heard in listing.heard if heard.method == "POST"} == {LISTED}
    events = bed.run_folder / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    (at,) = (number for number, line in enumerate(lines) if b'"attempt_ended"' in line)
    events.write_bytes(b"".join(lines[:at]))  # as if the runner had been killed just before
    (bed.run_folder / "attempts" / "1" / "answers.jsonl").write_bytes(b"")
    resume_run(bed.run_folder, bed.settings, bed.display)
    assert {heard.model for heard in listing.heard if heard.method == "POST"} == {LISTED}


@pytest.mark.parametrize("model", [None, LISTED])
def test_under_a_cap_in_dollars_a_model_without_a_price_is_refused_with_the_lines_to_add(
    bed: Bed, models: ModelServer, model: str | None
) -> None:
    bed.connect(models.url, prices={"another/*": PRICE})
    with pytest.raises(MarathonError, match="has no price") as refusal:
        bed.run("triage", model=model, usd=Decimal("0.01"))
    assert f'[budget.prices."{model or CONTEST_MODEL}"]\ninput_usd_per_million' in str(refusal.value)
    assert not bed.run_folder.exists()
    bed.connect(models.url, prices={model or CONTEST_MODEL: PRICE})
    assert bed.run("triage", model=model, usd=Decimal("0.01")).exit_code == 0


@pytest.mark.parametrize(
    "rules",
    [
        {"allowed_models": ["another/*"]},
        {"pinned": {"model": "no/such"}},
        {"upstreams": {"local": {"base_url": "http://127.0.0.1:9", "dialects": ["messages"]}}},
    ],
)
def test_rules_of_the_budget_count_as_they_do_for_a_call(
    bed: Bed, listing: ModelServer, rules: dict[str, object]
) -> None:
    bed.connect(listing.url, **{"upstreams": {"local": {"base_url": listing.url}}, **rules})
    with pytest.raises(MarathonError, match="No upstream serves the model"):
        bed.run("triage", model=LISTED)


@pytest.mark.parametrize("name", ["not/listed", "not/*"])
def test_a_model_that_the_settings_name_is_believed(bed: Bed, listing: ModelServer, name: str) -> None:
    bed.connect(listing.url, upstreams={"local": {"base_url": listing.url, "models": ["*"]}})
    with pytest.raises(MarathonError, match="by its own name or a narrower glob than '\\*'"):
        bed.run("triage", model="not/listed")
    bed.connect(listing.url, upstreams={"local": {"base_url": listing.url, "models": [name, "*"]}})
    assert bed.run("triage", model="not/listed", manifest=bed.manifest(3)).exit_code == 0


def test_somebodys_solver_is_looked_after_only_if_a_model_was_named(bed: Bed, listing: ModelServer) -> None:
    folder = bed.solver("")
    bed.run(folder)
    assert listing.heard == []
    with pytest.raises(MarathonError, match="No upstream serves the model 'no/such'"):
        bed.again().run(folder, model="no/such")


def test_nobody_is_asked_for_a_list_without_tokens_or_for_a_solver_that_asks_no_model(
    bed: Bed, listing: ModelServer
) -> None:
    bed.run("triage", tokens=0, manifest=bed.manifest(3))
    other = bed.again()
    other.run("baseline", manifest=bed.manifest(3))
    assert listing.heard == []
    with pytest.raises(MarathonError, match="'baseline' asks none"):
        other.run("baseline", model=LISTED)


def test_an_upstream_that_lists_nothing_is_believed(bed: Bed, listing: ModelServer) -> None:
    listing.respond_with(lambda _: refusal(404))
    assert bed.run("triage", manifest=bed.manifest(3)).exit_code == 0


@pytest.mark.parametrize("solver", ["triage", "fewshot"])
def test_a_solver_that_runs_without_ekiden_asks_the_contests_model(solver: str) -> None:
    source = (BUILT_IN_SOLVERS / solver / "solver.py").read_text("utf-8")
    assert f'MODEL = "{CONTEST_MODEL}"' in source
