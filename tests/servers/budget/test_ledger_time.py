"""What counts as a budget's time, whatever the clock of the system does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ekiden_budget import BudgetId, CallLabel, Ledger, RefusedError
from ekiden_policies.budget import NOTHING, Caps
from hand_clock import HandClock

LABEL = CallLabel("chat", "gpt-oss-120b", "openrouter")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def ledger(tmp_path: Path, clock: HandClock) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite", now=clock) as ledger:
        yield ledger


def call(ledger: Ledger, budget: BudgetId) -> None:
    ledger.settle(ledger.reserve(budget, NOTHING, LABEL).call, "failed")


def elapsed(ledger: Ledger) -> list[float]:
    return [status.elapsed_s for status in ledger.tree()]


def test_time_runs_from_the_opening_and_no_call_is_let_through_once_it_is_over(ledger: Ledger, clock: HandClock):
    run = ledger.open_budget("run", Caps(seconds=60.0, soft_seconds=50.0)).budget
    clock.time += 30.0
    agent = ledger.open_budget("agent", Caps(), parent=run).budget
    clock.time += 19.9
    assert ledger.reserve(agent, NOTHING, LABEL).notices == ()
    clock.time += 10.0
    last = ledger.reserve(agent, NOTHING, LABEL)
    assert [notice.limit for notice in last.notices] == ["seconds"]
    assert ledger.status(agent).left.seconds == pytest.approx(0.1)
    clock.time += 0.2
    with pytest.raises(RefusedError, match=r"'run' has used up its time: 60\.1 s of 60 s"):
        ledger.reserve(agent, NOTHING, LABEL)
    assert ledger.settle(last.call, "failed").settled.outcome == "failed"
    assert elapsed(ledger) == pytest.approx([60.1, 30.1])


def test_a_clock_that_is_set_back_stops_no_budget_and_gives_none_time(ledger: Ledger, clock: HandClock):
    run = ledger.open_budget("run", Caps(seconds=60.0)).budget
    clock.time += 40.0
    call(ledger, run)
    clock.time -= 10_000.0
    assert elapsed(ledger) == [40.0]
    call(ledger, run)
    clock.time += 15.0
    assert elapsed(ledger) == [55.0]
    clock.time += 5.0
    with pytest.raises(RefusedError, match="used up its time"):
        ledger.reserve(run, NOTHING, LABEL)


def test_the_time_of_a_closed_budget_stands(ledger: Ledger, clock: HandClock):
    run = ledger.open_budget("run", Caps()).budget
    in_flight = ledger.reserve(run, NOTHING, LABEL).call
    clock.time += 7.0
    ledger.close_budget(run)
    clock.time += 100.0
    ledger.settle(in_flight, "failed")
    ledger.pause_budget(run)
    ledger.resume_budget(run)
    assert elapsed(ledger) == [7.0]


def test_active_time_stands_while_a_budget_is_paused(ledger: Ledger, clock: HandClock):
    run = ledger.open_budget("run", Caps(), clock="active").budget
    ledger.open_budget("wall", Caps(), parent=run)
    ledger.open_budget("active", Caps(), parent=run, clock="active")
    clock.time += 10.0
    ledger.pause_budget(run)
    clock.time += 100.0
    assert [(status.name, status.paused) for status in ledger.tree()] == [
        ("run", True),
        ("wall", False),
        ("active", True),
    ]
    assert elapsed(ledger) == [10.0, 110.0, 10.0]
    ledger.resume_budget(run)
    clock.time += 1.0
    assert elapsed(ledger) == [11.0, 111.0, 11.0]


def test_a_call_from_a_paused_budget_lets_its_time_run_again(ledger: Ledger, clock: HandClock):
    run = ledger.open_budget("run", Caps(), clock="active").budget
    ledger.pause_budget(run)
    clock.time += 100.0
    call(ledger, run)
    clock.time += 1.0
    assert (elapsed(ledger), ledger.status(run).paused) == ([1.0], False)


def test_a_call_that_ends_while_its_budget_is_paused_does_not_let_time_run(ledger: Ledger, clock: HandClock):
    run = ledger.open_budget("run", Caps(), clock="active").budget
    in_flight = ledger.reserve(run, NOTHING, LABEL).call
    ledger.pause_budget(run)
    clock.time += 100.0
    ledger.settle(in_flight, "failed")
    assert (elapsed(ledger), ledger.status(run).paused) == ([0.0], True)


@pytest.mark.parametrize("clock_kind", ["active", "wall"])
def test_a_run_that_died_drops_the_time_since_its_last_call_only_if_it_counts_active_time(
    ledger: Ledger, clock: HandClock, clock_kind: str
):
    run = ledger.open_budget("run", Caps(), clock="active" if clock_kind == "active" else "wall").budget
    clock.time += 20.0
    call(ledger, run)
    clock.time += 5000.0
    ledger.resume_budget(run)
    clock.time += 3.0
    assert elapsed(ledger) == [23.0 if clock_kind == "active" else 5023.0]
