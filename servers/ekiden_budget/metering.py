"""The ledger as the proxy uses it: reserved before a call is sent, settled exactly once however the call ends."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeVar

import anyio

from ekiden_budget.errors import LedgerBusyError, LedgerError, RefusedError, WrongTokenError
from ekiden_budget.forwarding import Progress
from ekiden_budget.records import Balance, BudgetId, BudgetStatus, CallLabel, Receipt, Reserved, TokenParts
from ekiden_budget.rejections import RejectionError
from ekiden_policies.budget import NOTHING, Amount, Outcome, SoftNotice, dollars

if TYPE_CHECKING:
    from ekiden_budget.ledger import Ledger

SETTLE_TRIES = 3
TIDY_UP_EVERY_S = 2.0
MOST_KNOWN = 1024
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever showed a token.

    Attributes:
        token: The token.
        budget: The budget that it spends.
    """

    token: str = field(repr=False)
    budget: BudgetId


@dataclass(slots=True)
class OpenCall:
    """A call that is in flight.

    Attributes:
        reserved: What the ledger said when it was let through.
        progress: How far it has come; settled like this unless `settle` says otherwise.
        receipt: What the ledger said when it was settled.
    """

    reserved: Reserved
    progress: Progress = field(default_factory=Progress)
    receipt: Receipt | None = None


class Till:
    """The ledger for an event loop; a context manager.

    Work on it takes less than waking a thread would, so it is done at once. Where another process is at work on the
    file it is done on a thread, which waits.
    """

    def __init__(self, ledger: "Ledger", *, unsent_is_free: bool) -> None:
        self._ledger = ledger
        self._hasty = ledger.hasty()
        self._unsent_is_free = unsent_is_free
        self._known: dict[str, BudgetId] = {}
        self._written = False
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True  # who is cut short settles even later
        self._hasty.close()

    async def tidy_up(self) -> None:
        """Keep the log beside the ledger's file short, for as long as this is not cancelled."""
        while True:
            await anyio.sleep(TIDY_UP_EVERY_S)
            if self._written:
                self._written = False
                with suppress(LedgerError):  # what is wrong with the file is told to whoever calls
                    await anyio.to_thread.run_sync(self._ledger.checkpoint)

    async def _run(self, work: "Callable[[Ledger], _Answer]") -> _Answer:
        self._written = True
        if not self._ended:
            with suppress(LedgerBusyError):
                return work(self._hasty)
        waiting = asyncio.ensure_future(anyio.to_thread.run_sync(work, self._ledger))
        with anyio.CancelScope(shield=True):
            while not waiting.done():  # what was done must be known, also to whom the web server's end cuts short
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([waiting])
        return waiting.result()

    async def caller(self, token: str) -> Caller:
        """Return whose token it is. One that was good before is looked at again only when something is reserved.

        Raises:
            RejectionError: If it is nobody's.
        """
        budget = self._known.get(token)
        if budget is None:
            budget = await self._run(lambda ledger: self._authenticate(ledger, token))
        return Caller(token, budget)

    def _authenticate(self, ledger: "Ledger", token: str) -> BudgetId:
        budget = ledger.authenticate(token)
        if budget is None:
            raise self._forget(token)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[token] = budget
        return budget

    def _forget(self, token: str) -> RejectionError:
        self._known.pop(token, None)
        return RejectionError(401, "unauthorized: invalid shared secret", code="invalid_api_key")

    async def status(self, caller: Caller) -> BudgetStatus:
        """Return where a caller's budget stands.

        Raises:
            RejectionError: If the token is no longer good.
        """
        return await self._run(lambda ledger: ledger.status(self._authenticate(ledger, caller.token)))

    @asynccontextmanager
    async def open_call(self, caller: Caller, asked: Amount, label: CallLabel) -> AsyncGenerator[OpenCall]:
        """Reserve what a call may use, and settle it at the end if that was not done before.

        Args:
            caller: Who asks; the token is looked at once more, since it may have been replaced.
            asked: The most that the call can use.
            label: What it is.

        Raises:
            RejectionError: If the budgets have no room for it, or the token is no longer good.
        """

        def work(ledger: "Ledger") -> OpenCall:
            try:
                return OpenCall(ledger.reserve(caller.budget, asked, label, token=caller.token))
            except RefusedError as error:
                told = budget_headers(error.balance, (), NOTHING)
                raise RejectionError.out_of_budget(error, label, told) from error
            except WrongTokenError as error:
                raise self._forget(caller.token) from error

        call = await self._run(work)
        try:
            yield call
        finally:
            if call.receipt is None:
                await self.settle(call, call.progress.outcome, None, call.progress.detail)

    async def settle(
        self,
        call: OpenCall,
        outcome: Outcome,
        used: Amount | None,
        detail: str = "",
        *,
        parts: TokenParts | None = None,
    ) -> None:
        """Settle a call; this is never cut short."""

        def work(ledger: "Ledger") -> Receipt:
            number, free = call.reserved.call, self._unsent_is_free
            return ledger.settle(number, outcome, used, detail=detail, unsent_is_free=free, parts=parts)

        for left in reversed(range(SETTLE_TRIES)):
            try:
                call.receipt = await self._run(work)
                break
            except LedgerBusyError:
                if not left:
                    raise


def budget_headers(balance: Balance, notices: Sequence[SoftNotice], billed: Amount | None) -> dict[str, str]:
    """Return what a caller is told about its budget with an answer.

    Args:
        balance: Where the budget stands.
        notices: The soft limits that the call may have passed.
        billed: What the call cost; None if that is not known yet.
    """
    used, left = balance.used, balance.left
    cap = balance.caps.tokens
    own = -1 if cap is None else max(0, cap - used.tokens)
    headers = {"x-marathon-tokens-used-total": str(used.tokens), "x-marathon-tokens-remaining": str(own)}
    if billed is not None:
        headers["x-marathon-tokens-used-call"] = str(billed.tokens)
        if billed.nanodollars is not None:
            headers["x-ekiden-budget-usd-used-call"] = _usd(billed.nanodollars)
    if used.nanodollars is not None:
        headers["x-ekiden-budget-usd-used-total"] = _usd(used.nanodollars)
    if left.tokens is not None:
        headers["x-ekiden-budget-tokens-left"] = str(left.tokens)
    if left.nanodollars is not None:
        headers["x-ekiden-budget-usd-left"] = _usd(left.nanodollars)
    if notices:
        headers["x-ekiden-budget-notice"] = " ".join(notice.message for notice in notices)
    return headers


def _usd(nanodollars: int) -> str:
    return f"{dollars(nanodollars):f}"
