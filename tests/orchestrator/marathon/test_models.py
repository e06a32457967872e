"""Language models in a run: who reaches them, what they cost, and that nothing of it is lost."""

import json
import os
import select
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import cast

import pytest
from inline_snapshot import snapshot

from ekiden_budget.ledger import Ledger
from ekiden_budget.records import BudgetId
from ekiden_orchestrator.marathon.errors import MarathonError
from ekiden_orchestrator.marathon.events import AttemptEnded, SolverStarted, read_events
from ekiden_orchestrator.marathon.folder import RunFolder
from ekiden_orchestrator.marathon.key_safety import keeps_keys
from ekiden_orchestrator.marathon.model_access import settle_abandoned
from ekiden_orchestrator.marathon.run import resume_run, score_run
from ekiden_orchestrator.marathon.spending import calls_in_words
from marathon_bed import SOLVERS, Bed
from model_server import Answer, ModelServer, refusal
from orchestrator.marathon.solver_sources import HELPER, SDK

TOKENS = 1000
PRICES = {"*": {"input_usd_per_million": "1000", "output_usd_per_million": "10000"}}

IN_FLIGHT = (
    HELPER
    + """
import threading, urllib.request
def reserved():
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/budget")
    request.add_header("Authorization", "Bearer " + os.environ["OPENAI_API_KEY"])
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["in_flight"]
call = threading.Thread(target=call_llm, args=("Prove it",), kwargs={"config": {"max_output_tokens": 500}}, daemon=True)
call.start()
while not reserved():
    time.sleep(0.01)
"""
)
"""Goes on when its call has been let through, before it is answered."""


def test_a_solver_with_the_helper_and_one_with_the_sdk_are_metered_identically(bed: Bed, models: ModelServer) -> None:
    other = bed.again()
    first = bed.run(str(SOLVERS / "asks_by_helper"), tokens=100_000)
    heard = [call.json for call in models.heard]
    second = other.run(str(SOLVERS / "asks_by_sdk"), tokens=100_000)
    assert [call.json for call in models.heard[len(heard) :]] == heard
    assert first.tokens_used == second.tokens_used > 0
    assert first.model_calls == second.model_calls == {"answered": 5}
    assert (bed.run_folder / "answers.jsonl").read_bytes() == (other.run_folder / "answers.jsonl").read_bytes()


@pytest.mark.parametrize("name", ["asks_by_helper", "asks_by_sdk"])
def test_a_solver_that_comes_to_the_end_of_its_tokens_is_refused_and_never_passes_them(
    bed: Bed, models: ModelServer, name: str
) -> None:
    models.script(*(Answer("no proof", tokens=(100, 300)) for _ in range(5)))
    summary = bed.run(str(SOLVERS / name), tokens=1300)
    assert summary.tokens_used == 800
    assert (summary.exit_code, summary.attempted) == (0, 2)
    assert len(models.heard) == 2


def test_effort_and_provider_come_through_to_the_model(bed: Bed, models: ModelServer) -> None:
    given = {"provider": "deepinfra/bf16", "reasoning_effort": "high", "max_output_tokens": 100}
    bed.run(bed.solver(f"{HELPER}call_llm('Prove it', config={given!r})"), tokens=TOKENS)
    sent = models.heard[0].json
    assert (sent["provider"], sent["reasoning"]) == ({"order": ["deepinfra/bf16"]}, {"effort": "high"})


def test_a_call_that_fails_upstream_is_sent_once_and_billed_once(bed: Bed, models: ModelServer) -> None:
    models.script(refusal(500))
    source = "report(reply=call_llm('Prove it', config={'max_output_tokens': 500}))"
    summary = bed.run(bed.solver(HELPER + source), tokens=TOKENS)
    error = cast("dict[str, object]", bed.scratch_report()["reply"])["error"]
    assert str(error).startswith("LLM API error: Error code: 502 - {'error': {'message': 'upstream error: ")
    assert (len(models.heard), summary.model_calls) == (1, {"failed": 1})
    assert 500 < summary.tokens_used < TOKENS


def test_the_end_of_a_run_says_why_calls_were_not_answered(bed: Bed, models: ModelServer) -> None:
    models.script(
        refusal(404, "no such model"), refusal(500), Answer("17", tokens=(2, 3)), refusal(404, "no such model")
    )
    source = "[call_llm('Prove it', config={'max_output_tokens': n}) for n in (100, 100, 100, 100, 9000)]"
    source += "\nask('Prove it', max_tokens=9000)"
    summary = bed.run(bed.solver(HELPER + SDK + source), tokens=8000)
    assert summary.model_calls == {"answered": 1, "failed": 1, "refused": 1, "turned_away": 2}
    assert [*summary.model_call_failures.items()] == [
        ("turned away by the upstream (HTTP 404: no such model)", 2),
        ("failed after they were sent (HTTP 500: scripted)", 1),
        ("refused by the budget", 1),
    ]
    assert "Model calls:   1 answered, 2 turned away by the upstream (HTTP 404: no such model), 1 failed" in bed.printed
    assert "unsent" not in bed.printed + (bed.run_folder / "run.log").read_text("utf-8")


def test_of_many_reasons_the_three_most_frequent_are_told() -> None:
    failures = {"late": 1, "refused by the budget": 2000, "cut short": 3, "lost": 2, "odd": 1}
    told = "0 answered, 2,000 refused by the budget, 3 cut short, 2 lost, 2 not answered for other reasons"
    assert calls_in_words({"refused": 2007}, failures) == told.removeprefix("0 answered, ")
    assert calls_in_words({"answered": 2}, {}) == "2 answered"


def test_anthropics_library_finds_the_proxy_too(bed: Bed, models: ModelServer) -> None:
    models.script(Answer("17", tokens=(20, 5)))
    source = """
from anthropic import Anthropic
message = {"role": "user", "content": "What is 8 + 9?"}
reply = Anthropic(max_retries=0).messages.create(model="m", max_tokens=100, messages=[message])
report(text=reply.content[0].text)
"""
    summary = bed.run(bed.solver(source), tokens=TOKENS)
    assert bed.scratch_report() == {"text": "17"}
    assert summary.tokens_used == 25
    assert models.heard[0].headers["x-api-key"] == "the-runners-own-key"


def test_without_upstream_a_run_goes_on_and_says_so(bed: Bed) -> None:
    source = """
reply = call_llm("Prove it")
report(reply=reply, tokens=os.environ["JUDGE_MARATHON_BUDGET_TOKENS"],
       found=sorted(name for name in os.environ if name.startswith(("OPENAI_", "ANTHROPIC_"))))
"""
    summary = bed.run(bed.solver(HELPER + source))
    assert bed.scratch_report() == snapshot(
        {
            "reply": {
                "error": "OPENAI_API_KEY not set (marathon proxy unreachable?)",
                "budget_remaining": 0,
            },
            "tokens": "0",
            "found": [],
        }
    )
    assert (summary.exit_code, summary.tokens_used, summary.usd_spent, summary.models) == (0, 0, None, ())
    assert "no language model can be reached" in bed.printed.lower()
    assert "No language model can be reached" in (bed.run_folder / "run.log").read_text(encoding="utf-8")
    assert not (bed.run_folder / "budget.sqlite3").exists()


def test_with_an_upstream_the_reference_gives_the_tokens(bed: Bed, models: ModelServer) -> None:
    del models
    summary = bed.run(bed.solver(""), manifest=bed.manifest(1, 2, 3))
    assert summary.budget_tokens == int(0.5 * 3 * 65_536)
    assert summary.budget_origin == "wall time as given; 0.5 x 3 problems x 65536 tokens"
    assert summary.models == ("scripted",)


def test_below_zero_tokens_are_no_cap(bed: Bed, models: ModelServer) -> None:
    models.script(Answer("much", tokens=(10**6, 10**6)))
    summary = bed.run(bed.solver(HELPER + "report(reply=call_llm('Prove it'))"), tokens=-1)
    assert cast("dict[str, object]", bed.scratch_report()["reply"])["budget_remaining"] == -1
    assert (summary.tokens_used, summary.tokens_exhausted, summary.exit_code) == (2 * 10**6, False, 0)
    assert "Tokens used:   2,000,000 / no cap" in bed.printed


def test_model_and_flag_reach_the_solver_and_nothing_else_of_the_runners(
    bed: Bed, models: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    del models
    monkeypatch.setenv("FEWSHOT_VERIFY_BEFORE_CACHE", "0")
    monkeypatch.setenv("JUDGE_MARATHON_SECRET", "x")
    bed.change(model="scripted")
    bed.run(bed.solver("report(environment=dict(os.environ))"), tokens=TOKENS)
    environment = cast("dict[str, str]", bed.scratch_report()["environment"])
    assert environment["JUDGE_MARATHON_MODEL"] == "scripted"
    assert environment["FEWSHOT_VERIFY_BEFORE_CACHE"] == "0"
    assert {"JUDGE_MARATHON_SECRET", "SCRIPTED_API_KEY"}.isdisjoint(environment)


def test_used_up_tokens_need_not_end_a_run(bed: Bed, models: ModelServer) -> None:
    bed.change(tokens_end_run=False)
    models.script(Answer("much", tokens=(10, TOKENS - 10)))
    source = """
first = call_llm("Prove it", config={"max_output_tokens": 500})
time.sleep(0.5)
report(first=first, second=call_llm("Prove it", config={"max_output_tokens": 1}))
"""
    summary = bed.run(bed.solver(HELPER + source), tokens=TOKENS)
    assert cast("dict[str, object]", bed.scratch_report()["second"])["error"] == "token budget exhausted"
    assert (summary.exit_code, summary.sigterm_fired, summary.tokens_exhausted) == (0, False, True)


def test_dollars_are_a_cap_and_are_told(bed: Bed, models: ModelServer) -> None:
    bed.connect(models.url, prices=PRICES)
    models.script(Answer("17", tokens=(50, 40)))
    source = "report(first=ask('Prove it', max_tokens=40), second=ask('Prove it', max_tokens=400))"
    summary = bed.run(bed.solver(SDK + source), tokens=-1, usd=Decimal(1))
    assert bed.scratch_report() == {"first": "17", "second": 402}
    assert (summary.budget_usd, summary.usd_spent) == (Decimal(1), Decimal("0.45"))
    assert "no cap on tokens, $1 (" in bed.printed
    assert "Spent:         $0.45 / $1" in bed.printed


def test_with_a_cap_in_dollars_a_model_without_price_is_not_asked(bed: Bed, models: ModelServer) -> None:
    source = "report(status=ask('Prove it', max_tokens=1))\nprint(call_llm('Prove it')['error'], file=sys.stderr)"
    summary = bed.run(bed.solver(HELPER + SDK + source), tokens=-1, usd=Decimal(1))
    assert bed.scratch_report() == {"status": 402}
    assert "Note: No model has a price under [budget.prices]" in bed.printed
    assert "Note: Calls were refused, since the price of their model is not known" in bed.printed
    assert (summary.usd_spent, models.connections) == (Decimal(0), 0)


def test_calls_without_a_price_are_noted_beside_dollars_and_not_elsewhere(bed: Bed, models: ModelServer) -> None:
    source = "ask('Prove it', max_tokens=10)\ncall_llm('Prove it', config={'max_output_tokens': 10})"
    other = bed.again()
    assert bed.run(bed.solver(HELPER + SDK + source), tokens=TOKENS).notes == ()
    assert "No model has a price" not in bed.printed
    other.connect(models.url, prices={"openai/*": PRICES["*"]})
    summary = other.run(str(bed.root / "somebody"), tokens=TOKENS)
    assert "Calls without a known price: 1. They are not in the dollars spent." in summary.notes


def test_a_budget_beyond_any_ledger_is_refused_before_anything_is_made(bed: Bed) -> None:
    with pytest.raises(MarathonError, match=r"cannot be kept.*10000000000000000"):
        bed.run(bed.solver(""), tokens=10**16)
    assert not bed.run_folder.exists()


def test_a_call_in_flight_when_the_solver_exits_is_waited_for_and_billed(bed: Bed, models: ModelServer) -> None:
    models.script(Answer("late", tokens=(20, 30), pause_after=0))
    bed.change(drain_s=30)
    folder = bed.solver(IN_FLIGHT + "os._exit(0)")
    pause = select.poll()
    with ThreadPoolExecutor(1) as runner:
        run = runner.submit(bed.run, folder, tokens=TOKENS)
        while "Calls in flight: 1." not in bed.printed and not run.done():
            pause.poll(20)
        models.release()
        summary = run.result()
    assert (summary.exit_code, summary.model_calls, summary.tokens_used) == (0, {"answered": 1}, 50)


def test_a_call_that_outlives_the_wait_costs_its_reservation(bed: Bed, models: ModelServer) -> None:
    models.script(Answer("never", pause_after=0))
    bed.change(drain_s=0)
    summary = bed.run(bed.solver(IN_FLIGHT + "os._exit(0)"), tokens=TOKENS)
    assert summary.exit_code == 0
    assert summary.model_calls == {"failed": 1}
    assert 500 < summary.tokens_used <= TOKENS
    assert "Calls in flight: 1." in bed.printed


def test_the_events_and_the_telemetry_say_what_the_ledger_says(bed: Bed, models: ModelServer) -> None:
    models.script(Answer("17", tokens=(20, 30)))
    summary = bed.run(bed.solver(HELPER + "call_llm('Prove it', config={'purpose': ids[0]})"), tokens=10_000)
    ended = next(event for event in read_events(bed.run_folder / "events.jsonl") if isinstance(event, AttemptEnded))
    assert ended.spending is not None
    with Ledger(bed.run_folder / "budget.sqlite3") as ledger:
        status = ledger.status(BudgetId("run"))
        (call,) = ledger.calls(BudgetId("run"))
    assert summary.tokens_used == ended.spending.tokens == status.settled.tokens == 50
    assert (bed.run_folder / "_proxy_state" / "tokens_used.txt").read_text(encoding="utf-8") == "50\n"
    assert (call.label.purpose, call.label.upstream) == ("normal_0001", "scripted")
    assert call.label.model == "openai/gpt-oss-120b"
    assert score_run(bed.run_folder, bed.settings, bed.display).tokens_used == 50


def test_a_killed_run_resumes_with_what_is_left_and_with_another_token(bed: Bed, models: ModelServer) -> None:
    """The first call is answered, the second in flight when the runner dies: both stay spent."""
    models.script(Answer("17", tokens=(20, 30)), Answer("never", pause_after=0))
    source = """
report(token=os.environ["OPENAI_API_KEY"], tokens=os.environ["JUDGE_MARATHON_BUDGET_TOKENS"])
if "attempts/1/" in output:
    call_llm("Prove it", config={"max_output_tokens": 500})
    call_llm("Prove it", config={"max_output_tokens": 500})
else:
    reply = call_llm("Prove it", config={"max_output_tokens": 100})
    report(token=os.environ["OPENAI_API_KEY"], tokens=os.environ["JUDGE_MARATHON_BUDGET_TOKENS"], reply=reply)
"""
    command = [Path(sys.executable).parent / "ekiden", "marathon", "run", "--solver", bed.solver(HELPER + source)]
    command += ["--manifest", bed.manifest(1, 2), "--budget-tokens", "2000", "--output-dir", bed.run_folder]
    upstream = {"scripted": {"base_url": models.url, "key_env": "SCRIPTED_API_KEY"}}
    readable = json.dumps(bed.settings.marathon.allow_readable_keys)
    environment = {
        **os.environ,
        "EKIDEN_BUDGET_UPSTREAMS": json.dumps(upstream),
        "EKIDEN_MARATHON_ALLOW_READABLE_KEYS": readable,
    }
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as runner:
        models.wait_for(2)
        runner.send_signal(signal.SIGKILL)
    models.script(Answer("18", tokens=(2, 3)))
    resumed = resume_run(bed.run_folder, bed.settings, bed.display)
    before, after = bed.scratch_report(1), bed.scratch_report(2)
    assert before["token"] != after["token"]
    assert (before["tokens"], resumed.budget_tokens) == ("2000", 2000)
    left = int(str(after["tokens"]))
    assert 0 < left < 2000 - 50 - 500
    assert resumed.tokens_used == 2000 - left + 5
    assert resumed.model_calls == {"answered": 2, "abandoned": 1}
    assert [attempt.reason for attempt in resumed.attempts] == ["lost", "exited"]
    reply = cast("dict[str, object]", after["reply"])
    assert (reply["response"], reply["budget_remaining"]) == ("18", left - 5)
    with Ledger(bed.run_folder / "budget.sqlite3") as ledger:
        assert ledger.authenticate(str(before["token"])) is None


def test_a_run_whose_tokens_are_used_up_is_not_run_again_unless_it_may_go_on(bed: Bed, models: ModelServer) -> None:
    models.script(Answer("much", tokens=(10, TOKENS - 10)))
    source = """
report(reply=call_llm("Prove it", config={"max_output_tokens": 500}))
"""
    bed.change(tokens_end_run=False)
    bed.run(bed.solver(HELPER + source), tokens=TOKENS)
    events = bed.run_folder / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    (at,) = (number for number, line in enumerate(lines) if b'"attempt_ended"' in line)
    events.write_bytes(b"".join(lines[:at]))  # as if the runner had been killed just before
    bed.change(tokens_end_run=True)
    resumed = resume_run(bed.run_folder, bed.settings, bed.display)
    assert [attempt.reason for attempt in resumed.attempts] == ["lost"]
    assert (resumed.tokens_used, resumed.tokens_exhausted) == (TOKENS, True)
    assert "Nothing is left to run: the tokens are used up" in bed.printed


@pytest.mark.parametrize("isolation", ["subreaper", "group"])
def test_where_a_solver_could_read_the_key_the_run_is_refused(bed: Bed, models: ModelServer, isolation: str) -> None:
    bed.change(isolation=isolation, allow_readable_keys=False)
    with pytest.raises(MarathonError, match=f"isolation '{isolation}' .*scripted.*allow_readable_keys = true"):
        bed.run(bed.solver(""), tokens=TOKENS)
    assert not bed.run_folder.exists()
    bed.change(allow_readable_keys=True)
    assert bed.run(str(bed.root / "somebody"), tokens=TOKENS).isolation == isolation
    assert "may be able to read the keys" in bed.printed
    assert models.connections == 0


@pytest.mark.parametrize(
    ("isolation", "read_only", "kept"),
    [("confined", True, True), ("confined", False, False), ("namespaces", True, False)],
)
def test_keys_are_safe_only_where_a_solver_writes_nothing_but_its_own(
    isolation: str, *, read_only: bool, kept: bool
) -> None:
    assert keeps_keys(SolverStarted(attempt=1, isolation=isolation, read_only=read_only, refused={})) == kept


def test_a_solver_beside_keys_reaches_no_ledger(bed: Bed, models: ModelServer, *, keys_are_kept: bool) -> None:
    if not keys_are_kept:
        pytest.skip("this system does not keep keys from solvers")
    models.script(*[Answer("17", tokens=(20, 30))] * 2)
    ledger = RunFolder(bed.run_folder).ledger.name
    source = f"""
call_llm("Prove it", config={{"max_output_tokens": 100}})
run = os.path.dirname(os.path.dirname(os.path.dirname(output)))
seen = os.listdir(run)
for name in ("{ledger}", "{ledger}-wal", "{ledger}-shm", "events.jsonl"):
    try:
        with open(os.path.join(run, name), "wb") as file:
            file.write(b"nothing was spent")
    except OSError:
        pass
report(seen=seen, reply=call_llm("Prove it", config={{"max_output_tokens": 100}}))
"""
    summary = bed.run(bed.solver(HELPER + source), tokens=TOKENS)
    assert bed.scratch_report()["seen"] == ["attempts"]
    assert (summary.model_calls, summary.tokens_used) == ({"answered": 2}, 100)


def test_an_upstream_without_a_key_needs_no_isolation(bed: Bed, models: ModelServer) -> None:
    bed.connect(models.url, upstreams={"local": {"base_url": models.url}})
    bed.change(isolation="group", allow_readable_keys=False)
    source = HELPER + "report(reply=call_llm('Prove it', config={'max_output_tokens': 100}))"
    assert bed.run(bed.solver(source), tokens=TOKENS).model_calls == {"answered": 1}
    assert "authorization" not in models.heard[0].headers


def test_a_built_in_solver_needs_no_isolation(bed: Bed, models: ModelServer) -> None:
    del models
    bed.change(isolation="group", allow_readable_keys=False)
    assert bed.run("baseline", tokens=TOKENS).isolation == "group"


def test_an_upstream_whose_key_is_missing_is_told_before_anything_is_made(
    bed: Bed, models: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    del models
    monkeypatch.delenv("SCRIPTED_API_KEY")
    with pytest.raises(MarathonError, match="'SCRIPTED_API_KEY', which is not set"):
        bed.run(bed.solver(""), tokens=TOKENS)
    assert not bed.run_folder.exists()


def test_an_older_run_goes_on_with_the_ledger_that_it_has(tmp_path: Path) -> None:
    assert RunFolder(tmp_path).ledger.name == "budget.sqlite3"
    (tmp_path / "budget.sqlite").touch()
    assert RunFolder(tmp_path).ledger.name == "budget.sqlite"


def test_a_run_killed_between_its_ledger_and_its_budget_has_spent_nothing(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    Ledger(folder.ledger).close()
    assert settle_abandoned(folder) is None
