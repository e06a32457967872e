"""Whatever is asked of a ledger in whatever order: no cap is passed, and every total is the sum of its calls."""

import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ekiden_budget import Balance, BudgetId, CallId, CallLabel, ClosedBudgetError, Ledger, RefusedError, Settled
from ekiden_policies.budget import NOTHING, Amount, Caps, Outcome

LABEL = CallLabel("chat", "gpt-oss-120b", "openrouter")
FIGURES = st.integers(0, 5)  # small, so that budgets are filled to the last token
PRICES = st.none() | FIGURES
LIMITS = st.none() | st.integers(0, 12)
OUTCOMES: tuple[Outcome, ...] = ("answered", "unreadable", "failed", "unsent", "abandoned")
PLACES = st.integers(0, 10**6)


@dataclass
class ModelBudget:
    caps: Caps
    chain: list[BudgetId]
    closed: bool = False
    refused: int = 0


@dataclass
class ModelCall:
    budget: BudgetId
    reserved: Amount
    settled: Settled | None = None


def known(amount: Amount) -> Amount:
    return Amount(amount.tokens, amount.nanodollars or 0)


class Bookkeeping(RuleBasedStateMachine):
    """Two ledger objects on one file against a plain list of calls."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger.sqlite"
        self.ledgers = [Ledger(self.path), Ledger(self.path)]
        self.turn = 0
        self.budgets: dict[BudgetId, ModelBudget] = {}
        self.calls: dict[CallId, ModelCall] = {}

    def teardown(self) -> None:
        for ledger in self.ledgers:
            ledger.close()
        self.folder.cleanup()

    @property
    def ledger(self) -> Ledger:
        self.turn = 1 - self.turn
        return self.ledgers[self.turn]

    def budget_at(self, place: int) -> BudgetId:
        return list(self.budgets)[place % len(self.budgets)]

    def in_flight(self) -> list[CallId]:
        return [call for call, model in self.calls.items() if model.settled is None]

    def below(self, budget: BudgetId) -> list[ModelCall]:
        return [call for call in self.calls.values() if budget in self.budgets[call.budget].chain]

    def held(self, budget: BudgetId) -> tuple[Amount, Amount, Amount]:
        """What is settled, reserved and in excess, summed over the calls."""
        settled = reserved = excess = NOTHING
        for call in self.below(budget):
            if call.settled is None:
                reserved += known(call.reserved)
            else:
                settled += known(call.settled.billed)
                excess += known(call.settled.excess)
        return settled, reserved, excess

    def has_room(self, budget: BudgetId, asked: Amount) -> bool:
        model = self.budgets[budget]
        settled, reserved, _ = self.held(budget)
        total = settled + reserved + asked
        if model.closed or model.caps.tokens == 0 or model.caps.nanodollars == 0:
            return False
        if model.caps.tokens is not None and total.tokens > model.caps.tokens:
            return False
        if model.caps.nanodollars is None:
            return True
        return total.nanodollars is not None and total.nanodollars <= model.caps.nanodollars

    @rule(tokens=LIMITS, price=LIMITS, above=st.none() | PLACES)
    def open_budget(self, tokens: int | None, price: int | None, above: int | None) -> None:
        caps = Caps(tokens=tokens, nanodollars=price)
        parent = None if above is None or not self.budgets else self.budget_at(above)
        chain = [] if parent is None else self.budgets[parent].chain
        if any(self.budgets[one].closed for one in chain):
            with pytest.raises(ClosedBudgetError):
                self.ledger.open_budget("b", caps, parent=parent)
            return
        budget = self.ledger.open_budget("b", caps, parent=parent).budget
        self.budgets[budget] = ModelBudget(caps, [budget, *chain])

    @precondition(lambda self: self.budgets)
    @rule(place=PLACES, tokens=FIGURES, price=PRICES)
    def reserve(self, place: int, tokens: int, price: int | None) -> None:
        budget, asked = self.budget_at(place), Amount(tokens, price)
        chain = self.budgets[budget].chain
        full = [one for one in chain if not self.has_room(one, asked)]
        if not full:
            reserved = self.ledger.reserve(budget, asked, LABEL)
            self.calls[reserved.call] = ModelCall(budget, asked)
            assert reserved.balance == self.balance_of(budget)
            return
        with pytest.raises(RefusedError) as caught:
            self.ledger.reserve(budget, asked, LABEL)
        assert caught.value.refusal.budget_id == full[0]
        assert caught.value.balance == self.balance_of(budget)
        for one in chain:
            self.budgets[one].refused += 1

    @precondition(lambda self: self.in_flight())
    @rule(
        place=PLACES,
        outcome=st.sampled_from(OUTCOMES),
        used=st.none() | st.builds(Amount, st.integers(-1, 12), st.none() | st.integers(-1, 12)),
        free=st.booleans(),
    )
    def settle(self, place: int, outcome: Outcome, used: Amount | None, free: bool) -> None:
        open_calls = self.in_flight()
        call = open_calls[place % len(open_calls)]
        model = self.calls[call]
        receipt = self.ledger.settle(call, outcome, used, unsent_is_free=free)
        assert receipt.balance == self.balance_of(model.budget)
        model.settled = settled = receipt.settled
        readable = used is not None and used.tokens >= 0 and (used.nanodollars is None or used.nanodollars >= 0)
        if outcome == "answered" and used is not None and readable:
            price = model.reserved.nanodollars if used.nanodollars is None else used.nanodollars
            cost = Amount(used.tokens, price)
        elif outcome == "unsent" and free:
            cost = NOTHING
        else:
            cost = model.reserved
        assert settled.billed + settled.excess == cost
        if settled.excess.tokens:
            chain = self.budgets[model.budget].chain
            assert any(self.tokens_of(one) == self.budgets[one].caps.tokens for one in chain)

    def balance_of(self, budget: BudgetId) -> Balance:
        status = self.ledger.status(budget)
        return Balance(status.caps, status.settled + status.reserved, status.left)

    def tokens_of(self, budget: BudgetId) -> int:
        settled, reserved, _ = self.held(budget)
        return (settled + reserved).tokens

    @precondition(lambda self: self.calls)
    @rule(place=PLACES, outcome=st.sampled_from(OUTCOMES))
    def settle_again(self, place: int, outcome: Outcome) -> None:
        call = list(self.calls)[place % len(self.calls)]
        first = self.calls[call].settled
        if first is not None:
            assert self.ledger.settle(call, outcome, Amount(1)).settled == first

    @precondition(lambda self: self.budgets)
    @rule(place=PLACES)
    def close_budget(self, place: int) -> None:
        budget = self.budget_at(place)
        assert self.ledger.close_budget(budget).closed
        for model in self.budgets.values():
            model.closed |= budget in model.chain

    @rule(which=st.integers(0, 1))
    def open_the_file_anew(self, which: int) -> None:
        self.ledgers[which].close()
        self.ledgers[which] = Ledger(self.path)

    @rule()
    def recover_while_all_live(self) -> None:
        assert self.ledger.recover() == 0

    @rule()
    def die(self) -> None:
        """Make it that the reservations are those of processes that have ended, then recover."""
        for ledger in self.ledgers:
            ledger.close()
        with closing(sqlite3.connect(self.path)) as raw:
            raw.execute("UPDATE owners SET started = 'long ago ' || number")
            raw.commit()
        self.ledgers = [Ledger(self.path), Ledger(self.path)]
        open_calls = self.in_flight()
        assert self.ledger.recover() == len(open_calls)
        for call in open_calls:
            self.calls[call].settled = Settled("abandoned", self.calls[call].reserved, NOTHING)

    @invariant()
    def every_total_is_the_sum_of_its_calls_and_within_its_cap(self) -> None:
        tree = self.ledger.tree()
        assert {status.budget for status in tree} == set(self.budgets)
        for status in tree:
            model = self.budgets[status.budget]
            calls = self.below(status.budget)
            assert (status.settled, status.reserved, status.excess) == self.held(status.budget)
            assert status.calls.open == sum(call.settled is None for call in calls)
            for outcome in OUTCOMES:
                ended = sum(call.settled is not None and call.settled.outcome == outcome for call in calls)
                assert getattr(status.calls, outcome) == ended
            assert (status.calls.refused, status.closed) == (model.refused, model.closed)
            total = status.settled + status.reserved
            assert model.caps.tokens is None or total.tokens <= model.caps.tokens
            assert model.caps.nanodollars is None or (total.nanodollars or 0) <= model.caps.nanodollars
            assert {record.call for record in self.ledger.calls(status.budget, limit=1000)} == {
                call for call, one in self.calls.items() if status.budget in self.budgets[one.budget].chain
            }


TestBookkeeping = Bookkeeping.TestCase
TestBookkeeping.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)
