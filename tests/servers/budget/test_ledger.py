"""Budgets and calls of a ledger, as one caller sees them."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ekiden_budget import (
    BudgetExistsError,
    BudgetId,
    CallCounts,
    CallId,
    CallLabel,
    ClosedBudgetError,
    InvalidFigureError,
    Ledger,
    LedgerError,
    RefusedError,
    Settled,
    UnknownBudgetError,
    WrongTokenError,
)
from ekiden_budget.records import FailureTally, TokenParts
from ekiden_policies.budget import NANO, NOTHING, Amount, Caps, Outcome
from ekiden_policies.burn_rate import Forecast, Left, Rate
from hand_clock import HandClock

LABEL = CallLabel("chat", "gpt-oss-120b", "openrouter")
NO_CALLS = CallCounts(open=0, answered=0, unreadable=0, failed=0, unsent=0, abandoned=0, refused=0)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def ledger(tmp_path: Path, clock: HandClock) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.sqlite", now=clock) as ledger:
        yield ledger


def refusal_of(ledger: Ledger, budget: BudgetId, asked: Amount) -> tuple[str, str]:
    with pytest.raises(RefusedError) as caught:
        ledger.reserve(budget, asked, LABEL)
    assert str(caught.value) == caught.value.refusal.message
    return caught.value.refusal.name, caught.value.refusal.limit


def test_a_call_spends_from_its_budget_and_from_all_above(ledger: Ledger):
    run = ledger.open_budget("run", Caps(tokens=1000, nanodollars=5 * NANO), role="run").budget
    solver = ledger.open_budget("solver", Caps(), parent=run, role="role").budget
    agent = ledger.open_budget("agent", Caps(tokens=700), parent=solver).budget
    call = ledger.reserve(agent, Amount(600, 2 * NANO), LABEL).call
    assert [(s.name, s.reserved, s.left) for s in ledger.tree()] == [
        ("run", Amount(600, 2 * NANO), Left(400, 3 * NANO, None)),
        ("solver", Amount(600, 2 * NANO), Left(400, 3 * NANO, None)),
        ("agent", Amount(600, 2 * NANO), Left(100, 3 * NANO, None)),
    ]
    assert ledger.settle(call, "answered", Amount(250, NANO)).settled == Settled("answered", Amount(250, NANO), NOTHING)
    assert [(s.settled, s.reserved) for s in ledger.tree()] == [(Amount(250, NANO), NOTHING)] * 3
    assert ledger.status(agent).left == Left(450, 4 * NANO, None)


def test_a_call_that_does_not_fit_is_refused_by_the_first_budget_without_room_and_counted(ledger: Ledger):
    run = ledger.open_budget("run", Caps(tokens=100)).budget
    agent = ledger.open_budget("agent", Caps(tokens=80), parent=run).budget
    other = ledger.open_budget("other", Caps(), parent=run).budget
    ledger.reserve(agent, Amount(50), LABEL)
    assert refusal_of(ledger, agent, Amount(31)) == ("agent", "tokens")
    assert refusal_of(ledger, other, Amount(51)) == ("run", "tokens")
    ledger.reserve(other, Amount(50), LABEL)
    assert refusal_of(ledger, other, Amount(1)) == ("run", "tokens")
    assert [(s.calls.open, s.calls.refused, s.reserved.tokens) for s in ledger.tree()] == [
        (2, 3, 100),
        (1, 1, 50),
        (1, 2, 50),
    ]
    assert len(ledger.calls(run)) == 2


def test_an_unknown_price_passes_only_where_no_dollars_are_capped(ledger: Ledger):
    capped = ledger.open_budget("capped", Caps(nanodollars=NANO)).budget
    free = ledger.open_budget("free", Caps(tokens=100)).budget
    assert refusal_of(ledger, capped, Amount(1, None)) == ("capped", "price")
    call = ledger.reserve(free, Amount(10, None), LABEL).call
    assert ledger.settle(call, "answered", Amount(6, None)).settled.billed == Amount(6, None)
    status = ledger.status(free)
    assert (status.settled, status.unpriced_calls, status.calls.answered) == (Amount(6, 0), 1, 1)


def test_soft_limits_are_told_and_nothing_is_refused(ledger: Ledger):
    run = ledger.open_budget("run", Caps(soft_tokens=10)).budget
    assert ledger.reserve(run, Amount(10), LABEL).notices == ()
    assert [notice.limit for notice in ledger.reserve(run, Amount(1), LABEL).notices] == ["tokens"]


def test_a_call_settles_once(ledger: Ledger):
    run = ledger.open_budget("run", Caps(tokens=100)).budget
    call = ledger.reserve(run, Amount(50), LABEL).call
    first = ledger.settle(call, "answered", Amount(20), detail="first")
    assert ledger.settle(call, "failed", detail="second") == first
    assert ledger.status(run).settled == Amount(20)
    assert [(record.outcome, record.detail) for record in ledger.calls(run)] == [("answered", "first")]


def test_what_a_call_used_beyond_its_reservation_is_billed_as_far_as_there_is_room(ledger: Ledger):
    run = ledger.open_budget("run", Caps(tokens=100)).budget
    agent = ledger.open_budget("agent", Caps(tokens=1000), parent=run).budget
    other = ledger.reserve(run, Amount(30), LABEL).call
    call = ledger.reserve(agent, Amount(20), LABEL).call
    assert ledger.settle(call, "answered", Amount(90, 7)).settled == Settled("answered", Amount(70, 7), Amount(20, 0))
    ledger.settle(other, "failed")
    assert [(s.settled, s.excess) for s in ledger.tree()] == [
        (Amount(100, 7), Amount(20)),
        (Amount(70, 7), Amount(20)),
    ]
    assert [record.excess.tokens for record in ledger.calls(run)] == [20, 0]


@pytest.mark.parametrize("used", [None, Amount(-1), Amount(10**30), Amount(1, -5), Amount(1, 10**16)])
def test_usage_that_cannot_be_costs_the_reservation(ledger: Ledger, used: Amount | None):
    run = ledger.open_budget("run", Caps(tokens=100)).budget
    call = ledger.reserve(run, Amount(50, 3), LABEL).call
    assert ledger.settle(call, "answered", used, detail="HTTP 200").settled == Settled(
        "unreadable", Amount(50, 3), NOTHING
    )
    assert ledger.calls(run)[0].detail == f"HTTP 200 (usage {used!r})"


def test_what_the_tokens_were_is_noted_where_it_makes_up_what_was_used(ledger: Ledger):
    run = ledger.open_budget("run", Caps(tokens=90)).budget
    told = TokenParts(60, 40, 20, 15)
    calls = [ledger.reserve(run, Amount(10), LABEL).call for _ in range(5)]
    ledger.settle(calls[0], "answered", Amount(100), parts=told)
    ledger.settle(calls[1], "answered", Amount(7), parts=told)
    ledger.settle(calls[2], "answered", Amount(100), parts=replace(told, cached_input=61))
    ledger.settle(calls[3], "answered", Amount(100), parts=replace(told, reasoning=-1))
    ledger.settle(calls[4], "failed", Amount(100), parts=told)
    records = ledger.calls(run)[::-1]
    assert [record.parts for record in records] == [told, None, None, None, None]
    assert records[0].billed is not None
    assert records[0].billed.tokens + records[0].excess.tokens == 100
    assert [record.outcome for record in records] == [*["answered"] * 4, "failed"]


def test_a_call_that_never_left_is_free_if_the_one_who_settles_says_so(ledger: Ledger):
    run = ledger.open_budget("run", Caps(tokens=100)).budget
    calls = [ledger.reserve(run, Amount(30), LABEL).call for _ in range(2)]
    assert ledger.settle(calls[0], "unsent").settled.billed == NOTHING
    assert ledger.settle(calls[1], "unsent", unsent_is_free=False).settled.billed == Amount(30)


def test_the_audit_log_tells_all_about_each_call_page_by_page(ledger: Ledger, clock: HandClock):
    run = ledger.open_budget("run", Caps()).budget
    agent = ledger.open_budget("agent", Caps(), parent=run).budget
    elsewhere = ledger.open_budget("elsewhere", Caps()).budget
    calls: list[CallId] = []
    for number, budget in enumerate([run, agent, elsewhere, agent, run]):
        label = replace(LABEL, stream=True, purpose=f"normal_{number}")
        calls.append(ledger.reserve(budget, Amount(10 + number), label).call)
    clock.time += 2.5
    ledger.settle(calls[3], "failed", detail="HTTP 503")
    pages = [ledger.calls(run, limit=2)]
    pages.append(ledger.calls(run, limit=2, before=pages[0][-1].call))
    assert [[record.call for record in page] for page in pages] == [[calls[4], calls[3]], [calls[1], calls[0]]]
    assert [record.call for record in ledger.calls(agent, before=CallId(10**30))] == [calls[3], calls[1]]
    record = pages[0][1]
    assert (record.budget, record.label) == (agent, replace(LABEL, stream=True, purpose="normal_3"))
    assert (record.reserved, record.outcome, record.billed, record.detail) == (
        Amount(13),
        "failed",
        Amount(13),
        "HTTP 503",
    )
    assert (record.begun_at, record.ended_at) == (
        datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC),
        datetime(2026, 3, 1, 12, 0, 2, 500_000, tzinfo=UTC),
    )
    assert (pages[0][0].outcome, pages[0][0].billed, pages[0][0].ended_at) == (None, None, None)


def test_a_token_opens_its_own_budget_and_a_renewed_one_replaces_it(ledger: Ledger, tmp_path: Path):
    first, second = ledger.open_budget("run", Caps()), ledger.open_budget("run", Caps())
    assert first.token.startswith("ekb_")
    assert len(first.token) == 4 + 43
    assert first.token not in repr(first)
    assert [ledger.authenticate(one.token) for one in (first, second)] == [first.budget, second.budget]
    renewed = ledger.renew_token(first.budget)
    assert [ledger.authenticate(token) for token in (first.token, renewed)] == [None, first.budget]
    with pytest.raises(WrongTokenError):
        ledger.reserve(first.budget, NOTHING, LABEL, token=first.token)
    with pytest.raises(WrongTokenError):
        ledger.reserve(second.budget, NOTHING, LABEL, token=renewed)
    assert ledger.reserve(first.budget, NOTHING, LABEL, token=renewed).balance.used == NOTHING
    for wrong in ("", "ekb_", "ekb_\udcff◇", second.token[:-1], "x" * 10**6, first.budget):
        assert ledger.authenticate(wrong) is None
    ledger.close()
    kept = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert renewed.encode() not in kept
    assert second.token.encode() not in kept


def test_a_closed_budget_lets_no_call_through_and_settles_those_in_flight(ledger: Ledger):
    run = ledger.open_budget("run", Caps(tokens=100))
    agent = ledger.open_budget("agent", Caps(), parent=run.budget)
    call = ledger.reserve(agent.budget, Amount(50), LABEL).call
    closed = ledger.close_budget(run.budget)
    assert (closed.closed, closed.calls.open, ledger.status(agent.budget).closed) == (True, 1, True)
    assert refusal_of(ledger, agent.budget, NOTHING) == ("agent", "closed")
    assert ledger.settle(call, "answered", Amount(40)).settled.billed == Amount(40)
    assert ledger.authenticate(agent.token) == agent.budget
    with pytest.raises(ClosedBudgetError, match=r"'run' .* is closed: nobody can open 'late' under it"):
        ledger.open_budget("late", Caps(), parent=run.budget)
    with pytest.raises(ClosedBudgetError, match="a new token"):
        ledger.renew_token(agent.budget)
    assert ledger.close_budget(run.budget).closed_at == closed.closed_at


def test_closing_a_child_leaves_its_parent_open(ledger: Ledger):
    run = ledger.open_budget("run", Caps()).budget
    agent = ledger.open_budget("agent", Caps(), parent=run).budget
    ledger.close_budget(agent)
    assert ledger.reserve(run, Amount(1), LABEL).notices == ()


def test_an_id_of_ones_own_finds_a_budget_again_and_is_given_once(ledger: Ledger):
    assert ledger.open_budget("run", Caps(), budget_id="run:2026-03-01.a_b").budget == "run:2026-03-01.a_b"
    with pytest.raises(BudgetExistsError, match="There is a budget 'run:2026"):
        ledger.open_budget("another", Caps(), budget_id="run:2026-03-01.a_b")
    assert [status.name for status in ledger.tree()] == ["run"]


@pytest.mark.parametrize("budget_id", ["", "a b", "-a", "é", "a" * 101, "a\n", "\udcff"])
def test_an_id_that_cannot_stand_in_a_command_is_refused(ledger: Ledger, budget_id: str):
    with pytest.raises(InvalidFigureError, match="id cannot be"):
        ledger.open_budget("run", Caps(), budget_id=budget_id)


@pytest.mark.parametrize("name", ["", "a\nb", "a\x1b[2J", "\udcff", "x" * 201, "a\0b", "\u202eevil"])
def test_a_name_that_cannot_be_shown_is_refused(ledger: Ledger, name: str):
    with pytest.raises(InvalidFigureError, match="cannot be named"):
        ledger.open_budget(name, Caps())


@pytest.mark.parametrize("name", ["x ◇ y", "'; DROP TABLE budgets; --", "名前", "%s {0} \\", "🏃"])
def test_any_other_name_is_kept_as_it_is(ledger: Ledger, name: str):
    budget = ledger.open_budget(name, Caps(tokens=0)).budget
    assert ledger.status(budget).name == name
    assert refusal_of(ledger, budget, NOTHING) == (name, "tokens")


@pytest.mark.parametrize(
    "caps",
    [
        Caps(tokens=-1),
        Caps(soft_tokens=10**15 + 1),
        Caps(nanodollars=-1),
        Caps(soft_nanodollars=10**400),
        Caps(seconds=-0.5),
        Caps(seconds=float("nan")),
        Caps(soft_seconds=float("inf")),
        Caps(seconds=10**400),
        Caps(tokens=True),
        Caps(tokens=1.5),  # pyright: ignore[reportArgumentType] - what JSON may bring
    ],
)
def test_a_cap_that_cannot_be_is_refused(ledger: Ledger, caps: Caps):
    with pytest.raises(InvalidFigureError, match="cannot be: give"):
        ledger.open_budget("run", caps)
    assert ledger.tree() == []


@pytest.mark.parametrize("asked", [Amount(-1), Amount(10**12 + 1), Amount(0, -1), Amount(0, 10**20)])
def test_an_amount_that_cannot_be_is_refused(ledger: Ledger, asked: Amount):
    run = ledger.open_budget("run", Caps()).budget
    with pytest.raises(InvalidFigureError, match="No call can use"):
        ledger.reserve(run, asked, LABEL)
    assert ledger.status(run).calls == NO_CALLS


def test_labels_of_any_size_and_make_are_kept_as_far_as_they_can_be(ledger: Ledger):
    run = ledger.open_budget("run", Caps(), role="r" * 500).budget
    call = ledger.reserve(run, NOTHING, CallLabel("chat", "m\ud800\0", "u" * 10**6, purpose="◇")).call
    ledger.settle(call, "failed", detail="x" * 10**6)
    record = ledger.calls(run)[0]
    assert (record.label.model, len(record.label.upstream), record.label.purpose) == ("m?�", 200, "◇")
    assert (len(record.detail), record.detail[-1], len(ledger.status(run).role)) == (1000, "…", 200)


@pytest.mark.parametrize("budget", ["nope", "", "\udcff", "run' OR 1=1 --"])
def test_an_unknown_budget_is_named(ledger: Ledger, budget: str):
    unknown = BudgetId(budget)
    for ask in (
        lambda: ledger.status(unknown),
        lambda: ledger.tree(unknown),
        lambda: ledger.calls(unknown),
        lambda: ledger.close_budget(unknown),
        lambda: ledger.renew_token(unknown),
        lambda: ledger.pause_budget(unknown),
        lambda: ledger.resume_budget(unknown),
        lambda: ledger.reserve(unknown, NOTHING, LABEL),
        lambda: ledger.open_budget("child", Caps(), parent=unknown),
    ):
        with pytest.raises(UnknownBudgetError, match="No budget"):
            ask()
    with pytest.raises(UnknownBudgetError, match="No call 7 "):
        ledger.settle(CallId(7), "failed")


@pytest.mark.parametrize("limit", [0, -1, 10_001])
def test_a_page_of_no_size_is_refused(ledger: Ledger, limit: int):
    run = ledger.open_budget("run", Caps()).budget
    with pytest.raises(InvalidFigureError, match="cannot be: give a limit"):
        ledger.calls(run, limit=limit)


def test_a_tree_is_listed_depth_first_the_oldest_child_first(ledger: Ledger):
    budgets: dict[str, BudgetId] = {}
    for name in ("a", "b", "aa", "ba", "ab", "aab", "aaa"):
        parent = budgets.get(name[:-1])
        budgets[name] = ledger.open_budget(name, Caps(), parent=parent).budget
    assert [status.name for status in ledger.tree()] == ["a", "aa", "aab", "aaa", "ab", "b", "ba"]
    below = ledger.tree(budgets["aa"])
    assert [status.name for status in below] == ["aa", "aab", "aaa"]
    assert (below[0].parent, below[0].children) == (budgets["a"], (budgets["aab"], budgets["aaa"]))
    assert below == [ledger.status(status.budget) for status in below]


def test_budgets_nest_deep_but_not_without_end(ledger: Ledger):
    parent = None
    for depth in range(32):
        parent = ledger.open_budget(f"{depth}", Caps(), parent=parent).budget
    with pytest.raises(InvalidFigureError, match="at most 32 deep"):
        ledger.open_budget("32", Caps(), parent=parent)


def test_thousands_of_budgets_add_up(ledger: Ledger):
    run = ledger.open_budget("run", Caps(tokens=3 * 2000)).budget
    agents = [ledger.open_budget(f"agent {n}", Caps(tokens=3), parent=run).budget for n in range(2000)]
    for agent in agents[::10]:
        ledger.settle(ledger.reserve(agent, Amount(3), LABEL).call, "failed")
    tree = ledger.tree()
    assert len(tree) == 2001
    assert len(tree[0].children) == 2000
    assert tree[0].settled.tokens == sum(status.settled.tokens for status in tree[1:]) == 600


def test_rates_look_back_a_few_minutes_and_foretell_the_end(ledger: Ledger, clock: HandClock):
    run = ledger.open_budget("run", Caps(tokens=1000)).budget
    agent = ledger.open_budget("agent", Caps(tokens=5000), parent=run).budget
    clock.time += 60.0
    ledger.settle(ledger.reserve(agent, Amount(120, 60), LABEL).call, "failed")
    assert ledger.status(agent).rate == Rate(window_s=60.0, tokens_per_s=2.0, nanodollars_per_s=1.0)
    assert ledger.status(agent).forecast == Forecast(440.0, "tokens", run)
    assert ledger.status(run).rate == ledger.status(agent).rate
    clock.time += 3600.0
    assert ledger.status(agent).rate == Rate(window_s=240.0, tokens_per_s=0.0, nanodollars_per_s=0.0)
    assert ledger.status(agent).forecast is None


def test_a_ledger_that_was_closed_says_so(ledger: Ledger):
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="has been closed"):
        ledger.tree()


def test_what_is_settled_and_reserved_outlives_the_ledger_object(tmp_path: Path):
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        opened = ledger.open_budget("run", Caps(tokens=100))
        ledger.settle(ledger.reserve(opened.budget, Amount(10), LABEL).call, "failed")
        call = ledger.reserve(opened.budget, Amount(20), LABEL).call
    with Ledger(path, create=False) as ledger:
        assert ledger.authenticate(opened.token) == opened.budget
        assert ledger.recover() == 0  # its owner, this process, lives
        status = ledger.status(opened.budget)
        assert (status.settled, status.reserved) == (Amount(10), Amount(20))
        assert ledger.settle(call, "answered", Amount(15)).settled.billed == Amount(15)


def test_calls_that_were_not_answered_are_counted_by_kind_those_of_children_included(ledger: Ledger):
    run = ledger.open_budget("run", Caps()).budget
    child = ledger.open_budget("child", Caps(), parent=run).budget
    ends: list[tuple[Outcome, str]] = [
        ("unsent", "HTTP 400: no such model"),
        ("failed", "cut short"),
        ("unsent", "HTTP 400: too long"),
        ("unsent", "ConnectError"),
        ("answered", ""),
    ]
    for outcome, detail in ends:
        ledger.settle(ledger.reserve(child, Amount(1), LABEL).call, outcome, Amount(1), detail=detail)
    ledger.reserve(child, Amount(1), LABEL)  # still in flight
    assert ledger.failures(run) == [
        FailureTally("unsent", "HTTP 400: too long", 2),
        FailureTally("failed", "cut short", 1),
        FailureTally("unsent", "ConnectError", 1),
    ]
