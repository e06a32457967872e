"""What the ledger takes and gives."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NewType

from ekiden_policies.budget import Amount, Caps, Outcome, SoftNotice
from ekiden_policies.burn_rate import Forecast, Left, Rate

BudgetId = NewType("BudgetId", str)
CallId = NewType("CallId", int)
Clock = Literal["wall", "active"]
"""What counts as a budget's time: all since it was opened, or only while it is in use (see `Ledger.open_budget`)."""


@dataclass(frozen=True, slots=True)
class CallLabel:
    """What a call is, for the audit log.

    Attributes:
        dialect: The wire format.
        model: The model asked for.
        upstream: The name of the upstream that gets it.
        stream: Whether the answer is streamed.
        purpose: What the caller says that it is for, such as a problem's id.
        prompt_sha256: The hash of what the model is asked; empty: not known. The prompt itself is not kept.
        temperature: The temperature asked for; None: the model's own.
    """

    dialect: str
    model: str
    upstream: str
    stream: bool = False
    purpose: str = ""
    prompt_sha256: str = ""
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class TokenParts:
    """What the tokens of a call were, as its upstream told.

    Attributes:
        input: Those of the request, those of caches included.
        output: Those of the answer, reasoning included.
        cached_input: Those of the request that were read from a cache.
        reasoning: Those of the answer that were reasoning, where that is told.
    """

    input: int
    output: int
    cached_input: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True)
class Opened:
    """A budget that was opened.

    Attributes:
        budget: Its id.
        token: What its callers show. Nobody can read it again: the ledger keeps its SHA-256 alone.
    """

    budget: BudgetId
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Balance:
    """Where a budget stands, as far as its callers are told.

    Attributes:
        caps: Its own limits.
        used: What is settled and reserved.
        left: What a call from here may still use: the limits of the budgets above count too.
    """

    caps: Caps
    used: Amount
    left: Left


@dataclass(frozen=True, slots=True)
class Reserved:
    """A call that may be made, and must be settled.

    Attributes:
        call: Its number.
        balance: Where its budget stands, this call included.
        notices: The soft limits that it passes.
    """

    call: CallId
    balance: Balance
    notices: tuple[SoftNotice, ...] = ()


@dataclass(frozen=True, slots=True)
class Settled:
    """How a call was settled.

    Attributes:
        outcome: How it ended.
        billed: What its budgets were charged.
        excess: What it used beyond what they had room for.
    """

    outcome: Outcome
    billed: Amount
    excess: Amount


@dataclass(frozen=True, slots=True)
class Receipt:
    """What whoever settles a call is told.

    Attributes:
        settled: How it was settled.
        balance: Where its budget stands now.
    """

    settled: Settled
    balance: Balance


@dataclass(frozen=True, slots=True)
class CallCounts:
    """The calls of a budget and of all below it: those in flight, those settled by outcome, those refused."""

    open: int
    answered: int
    unreadable: int
    failed: int
    unsent: int
    abandoned: int
    refused: int


@dataclass(frozen=True, slots=True)
class BudgetStatus:
    """All about a budget. Figures hold what its children use.

    Attributes:
        budget: Its id.
        name: Its name.
        role: What it is for: a run, a role, an agent.
        parent: The budget above.
        children: The budgets right below, the oldest first.
        caps: Its own limits.
        settled: What is spent. Dollars are those of calls with a known price.
        reserved: What calls in flight may still spend.
        excess: What calls used beyond what there was room for.
        left: What a call from here may still use: the limits of the budgets above count too.
        calls: How many calls there were.
        unpriced_calls: Settled calls whose price is not known.
        opened_at: When it was opened.
        closed_at: When it was closed, if it was.
        clock: What counts as its time.
        paused: Whether its time stands still until it is resumed or called from.
        elapsed_s: Its time so far.
        rate: What was settled lately; None while it is too early to tell.
        forecast: When it ends at that rate; None when nothing makes it end.
    """

    budget: BudgetId
    name: str
    role: str
    parent: BudgetId | None
    children: tuple[BudgetId, ...]
    caps: Caps
    settled: Amount
    reserved: Amount
    excess: Amount
    left: Left
    calls: CallCounts
    unpriced_calls: int
    opened_at: datetime
    closed_at: datetime | None
    clock: Clock
    paused: bool
    elapsed_s: float
    rate: Rate | None
    forecast: Forecast | None

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self.closed_at is not None


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call in the audit log.

    Attributes:
        call: Its number; later calls have higher ones.
        budget: The budget it was made from.
        label: What it is.
        reserved: What was set aside for it.
        outcome: How it ended; None while it is in flight.
        billed: What it was charged, once it has ended. A price of None is not known.
        excess: What it used beyond what its budgets had room for.
        begun_at: When it was let through.
        ended_at: When it was settled.
        detail: What the one who settled it had to say.
        parts: What its tokens were: those billed and the excess; None where the upstream did not tell them apart.
    """

    call: CallId
    budget: BudgetId
    label: CallLabel
    reserved: Amount
    outcome: Outcome | None
    billed: Amount | None
    excess: Amount
    begun_at: datetime
    ended_at: datetime | None
    detail: str
    parts: TokenParts | None = None


@dataclass(frozen=True, slots=True)
class FailureTally:
    """Calls that were not answered, of one kind.

    Attributes:
        outcome: How they ended.
        detail: What the one who settled one of them had to say.
        calls: How many.
    """

    outcome: Outcome
    detail: str
    calls: int
