"""The ledger: a tree of budgets, and every call that spends from them."""

import hashlib
import hmac
import os
import secrets
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from ekiden_budget import accounts, journal
from ekiden_budget.accounts import Account, find_chain, find_subtree
from ekiden_budget.errors import (
    BudgetExistsError,
    ClosedBudgetError,
    InvalidFigureError,
    RefusedError,
    WrongTokenError,
)
from ekiden_budget.figures import (
    are_parts_of,
    checked_amount,
    checked_caps,
    checked_id,
    checked_name,
    is_amount,
    label_text,
)
from ekiden_budget.records import (
    Balance,
    BudgetId,
    BudgetStatus,
    CallId,
    CallLabel,
    CallRecord,
    Clock,
    FailureTally,
    Opened,
    Receipt,
    Reserved,
    Settled,
    TokenParts,
)
from ekiden_budget.statuses import describe, describe_tree
from ekiden_budget.storage import LedgerFile
from ekiden_policies.budget import NOTHING, Amount, Caps, Outcome, Standing, admit, bill, fit
from ekiden_policies.burn_rate import Left, left
from ekiden_warden.identity import lives, this_process

TOKEN_PREFIX = "ekb_"  # noqa: S105 - what tokens begin with, so that scanners for secrets know one
DEEPEST = 32
"""How many budgets can lie over each other."""
MOST_CALLS = 10_000
"""The most calls that one page of the audit log holds."""


class Ledger:
    """Budgets and calls, kept in a file that any number of threads and processes may use at once.

    A call is made in three steps: `reserve` sets the most that it can use aside in its budget and in all above, or
    refuses; the call is made; `settle` turns the reservation into what the call cost. Each step is one transaction, so
    what is settled and reserved never passes a cap, whoever dies when. Reservations of processes that died are billed
    by `recover`.

    Time: a budget's seconds run from its opening until it is closed. One opened with `clock="active"` counts only time
    in which it is used: `pause_budget` stops it, `resume_budget` or the next call lets it run again, and what lies
    between the last call of a run that died and `resume_budget` is dropped. A system clock that is set back stops no
    budget and frees none; one that is set forward takes that time from budgets that run. Seconds are looked at when a
    call is let through; a call in flight at the end is settled like any other.

    Args:
        path: The file; made with its folder if it is missing.
        create: Whether to make it. False: a file that is missing is an error.
        now: The clock, in seconds since 1970.

    Raises:
        LedgerError: The file cannot be used.
    """

    def __init__(self, path: Path, *, create: bool = True, now: Callable[[], float] = time.time) -> None:
        self._file = LedgerFile(path, create=create)
        self._now = now
        self._owner = (0, 0)  # the process that registered, and its number in the file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Calls in flight stay reserved until they are settled, or until this process has ended."""
        self._file.close()

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def hasty(self) -> "Ledger":
        """Open the same ledger once more, for an event loop: it waits for no other process, and hardly for the disk.

        Where this one waits, that one raises `LedgerBusyError`. This one has to `checkpoint` now and then.

        Raises:
            LedgerError: The file cannot be used.
        """
        ledger = Ledger(self.path, create=False, now=self._now)
        ledger._file.wait_for_nobody()
        return ledger

    def checkpoint(self) -> None:
        """Move what was written lately from the log beside the file into it; may wait for the disk.

        Raises:
            LedgerError: The file cannot be written.
        """
        self._file.checkpoint()

    def open_budget(
        self,
        name: str,
        caps: Caps,
        *,
        parent: BudgetId | None = None,
        role: str = "",
        budget_id: str | None = None,
        clock: Clock = "wall",
    ) -> Opened:
        """Open a budget.

        Args:
            name: What people call it; need not be unique.
            caps: Its limits. They may be wider than its parent's, which count all the same.
            parent: The budget above, if any.
            role: What it is for: a run, a role, an agent.
            budget_id: Its id, where the caller has one to find it by; else the ledger picks one.
            clock: What counts as its time.

        Raises:
            InvalidFigureError: A cap, the name or the id cannot be, or the tree would be too deep.
            BudgetExistsError: The id is taken.
            ClosedBudgetError: The parent is closed.
            UnknownBudgetError: There is no such parent.
        """
        checked_caps(caps)
        checked_name(name)
        budget = BudgetId(f"b{secrets.token_hex(8)}" if budget_id is None else checked_id(budget_id))
        token = _new_token()
        with self._file.writing() as connection:
            chain: list[Account] = [] if parent is None else find_chain(connection, parent)
            _check_open(chain, f"open {name!r} under it")
            if len(chain) >= DEEPEST:
                raise InvalidFigureError(f"Budgets lie at most {DEEPEST} deep: open {name!r} further up.")
            if connection.execute("SELECT 1 FROM budgets WHERE id = ?", (budget,)).fetchone():
                raise BudgetExistsError(
                    f"There is a budget {budget!r} already. Choose another id, or go on with it under a new token."
                )
            accounts.insert(
                connection,
                budget=budget,
                parent=chain[0] if chain else None,
                name=name,
                role=label_text(role),
                token_hash=_hash(token),
                clock=clock,
                caps=caps,
                now=self._now(),
            )
        return Opened(budget, token)

    def renew_token(self, budget: BudgetId) -> str:
        """Give a budget a new token; the old one no longer works.

        Raises:
            UnknownBudgetError: There is no such budget.
            ClosedBudgetError: It is closed.
        """
        token = _new_token()
        with self._file.writing() as connection:
            _check_open(find_chain(connection, budget)[:1], "give it a new token")
            connection.execute("UPDATE budgets SET token_hash = ? WHERE id = ?", (_hash(token), budget))
        return token

    def authenticate(self, token: str) -> BudgetId | None:
        """Return the budget that a token is for, closed or not: a caller of a closed one is refused as out of budget.

        What is looked for is the token's hash, so the time that takes says nothing about any token.
        """
        with self._file.reading() as connection:
            return _authenticate(connection, token)

    def reserve(self, budget: BudgetId, asked: Amount, label: CallLabel, *, token: str | None = None) -> Reserved:
        """Let a call through, and set aside the most that it can use.

        Args:
            budget: Who pays.
            asked: The most that the call can use.
            label: What it is.
            token: What its caller showed, if that has to be the budget's still.

        Raises:
            RefusedError: A budget of the chain has no room, no time, or is closed; nothing was set aside.
            InvalidFigureError: No call can ask for that amount.
            UnknownBudgetError: There is no such budget.
            WrongTokenError: The budget has another token by now.
        """
        checked_amount(asked)
        owner = self._register()
        with self._file.writing() as connection:
            if token is not None and _authenticate(connection, token) != budget:
                raise WrongTokenError(
                    f"The token shown is not that of the budget {budget!r}; it may have been renewed."
                )
            now = self._now()
            chain = find_chain(connection, budget)
            standings = [account.standing(now) for account in chain]
            admission = admit(standings, asked)
            if admission.refusal is None:
                number = chain[0].number
                call = journal.begin(connection, number, owner=owner, label=label, reserved=asked, now=now)
                accounts.reserve(connection, chain, asked, now)
                return Reserved(call, _balance(standings, _known(asked)), admission.notices)
            accounts.refuse(connection, chain)
        raise RefusedError(admission.refusal, _balance(standings, NOTHING))

    def settle(
        self,
        call: CallId,
        outcome: Outcome,
        used: Amount | None = None,
        *,
        detail: str = "",
        unsent_is_free: bool = True,
        parts: TokenParts | None = None,
    ) -> Receipt:
        """Turn a reservation into what the call cost. A call is settled once: later tries get the first result.

        An answer without usage, or with one that cannot be, counts as `unreadable` and costs what was reserved. What a
        call used beyond all that its budgets have room for is its excess: noted and told, but not billed.

        Args:
            call: The call.
            outcome: How it ended.
            used: What it used, if it was answered.
            detail: A note for the audit log.
            unsent_is_free: Whether a call that surely never left is billed nothing.
            parts: What the tokens were, if it was answered; noted where they make up what it used, else left out.

        Raises:
            UnknownBudgetError: There is no such call.
        """
        if outcome == "answered" and (used is None or not is_amount(used)):
            outcome, detail = "unreadable", f"{detail} (usage {used!r})".strip()
        with self._file.writing() as connection:
            now = self._now()
            entry = journal.find(connection, call)
            if entry.settled is not None:
                standings = [account.standing(now) for account in find_chain(connection, entry.budget)]
                return Receipt(entry.settled, _balance(standings, NOTHING))
            cost = bill(entry.reserved, outcome, used, unsent_is_free=unsent_is_free)
            told = parts if outcome == "answered" and are_parts_of(parts, used) else None
            return _settle(connection, entry, outcome, cost, detail=detail, now=now, parts=told)

    def status(self, budget: BudgetId) -> BudgetStatus:
        """Describe a budget as it is now.

        Raises:
            UnknownBudgetError: There is no such budget.
        """
        with self._file.reading() as connection:
            return describe(connection, budget, self._now())

    def tree(self, budget: BudgetId | None = None) -> list[BudgetStatus]:
        """Describe a budget and all below it, or all there are: depth first, the oldest child first.

        Raises:
            UnknownBudgetError: There is no such budget.
        """
        with self._file.reading() as connection:
            return describe_tree(connection, budget, self._now())

    def calls(self, budget: BudgetId, *, limit: int = 100, before: CallId | None = None) -> list[CallRecord]:
        """Return a page of the audit log: the calls of a budget and of all below it, the newest first.

        Args:
            budget: The budget.
            limit: The most calls to return.
            before: Where the page starts: calls older than this one.

        Raises:
            UnknownBudgetError: There is no such budget.
            InvalidFigureError: The limit is none.
        """
        if not 1 <= limit <= MOST_CALLS:
            raise InvalidFigureError(f"A page of {limit!r} calls cannot be: give a limit in 1..{MOST_CALLS}.")
        with self._file.reading() as connection:
            find_chain(connection, budget)
            return journal.page(connection, budget, limit=limit, before=before)

    def failures(self, budget: BudgetId) -> list[FailureTally]:
        """Count the settled calls of a budget and of all below it that were not answered; the most frequent kind first.

        Raises:
            UnknownBudgetError: There is no such budget.
        """
        with self._file.reading() as connection:
            find_chain(connection, budget)
            return journal.tally_failures(connection, budget)

    def pause_budget(self, budget: BudgetId) -> None:
        """Stop the time of a budget and of all below it, as far as they count active time alone.

        Raises:
            UnknownBudgetError: There is no such budget.
        """
        with self._file.writing() as connection:
            accounts.keep_time(connection, self._active(connection, budget), self._now(), paused=True)

    def resume_budget(self, budget: BudgetId) -> None:
        """Let the time of a budget and of all below it run from now on, as far as they count active time alone.

        After a pause, that ends it. Without one, whoever used the budget has died: the time since its last call is
        dropped.

        Raises:
            UnknownBudgetError: There is no such budget.
        """
        with self._file.writing() as connection:
            accounts.restart_time(connection, self._active(connection, budget), self._now())

    def close_budget(self, budget: BudgetId) -> BudgetStatus:
        """Close a budget and all below it: no call is let through any more; those in flight are settled as ever.

        Raises:
            UnknownBudgetError: There is no such budget.
        """
        with self._file.writing() as connection:
            now = self._now()
            find_chain(connection, budget)
            accounts.close(connection, find_subtree(connection, budget), now)
            return describe(connection, budget, now)

    def recover(self) -> int:
        """Bill the calls in flight of processes that have ended, as `abandoned`, and return how many.

        A process is told by its number, its start time and the machine's boot, so one that got an old number is no
        reason to wait. Two containers that share a ledger do not see each other's processes: let only one recover.
        """
        billed = 0
        with self._file.writing() as connection:
            now = self._now()
            for number, owner in journal.in_flight(connection).items():
                if lives(owner):
                    continue
                for entry in journal.in_flight_of(connection, number):
                    cost = bill(entry.reserved, "abandoned", None, unsent_is_free=False)
                    _settle(connection, entry, "abandoned", cost, detail=f"process {owner.pid} has ended", now=now)
                    billed += 1
        return billed

    def _register(self) -> int:
        pid, number = self._owner
        if pid != os.getpid():
            with self._file.writing() as connection:
                number = journal.register(connection, this_process())
            self._owner = (os.getpid(), number)
        return number

    def _active(self, connection: sqlite3.Connection, budget: BudgetId) -> list[Account]:
        find_chain(connection, budget)
        return [account for account in find_subtree(connection, budget) if account.clock == "active"]


def _settle(
    connection: sqlite3.Connection,
    entry: journal.Entry,
    outcome: Outcome,
    cost: Amount,
    *,
    detail: str,
    now: float,
    parts: TokenParts | None = None,
) -> Receipt:
    chain = find_chain(connection, entry.budget)
    standings = [account.standing(now) for account in chain]
    billed, excess = fit(standings, entry.reserved, cost)
    settled = Settled(outcome, billed, excess)
    journal.end(connection, entry.call, settled, detail=detail, now=now, parts=parts)
    reserved = entry.reserved
    accounts.settle(connection, chain, reserved=reserved, billed=billed, excess=excess, outcome=outcome, now=now)
    return Receipt(settled, _balance(standings, _known(billed) - _known(reserved)))


def _authenticate(connection: sqlite3.Connection, token: str) -> BudgetId | None:
    wanted = _hash(token)
    query = "SELECT id, token_hash FROM budgets WHERE token_hash = ?"
    row = connection.execute(query, (wanted,)).fetchone()
    return BudgetId(row[0]) if row is not None and hmac.compare_digest(row[1], wanted) else None


def _balance(chain: list[Standing], more: Amount) -> Balance:
    """Return where a budget stands once all of its chain hold more than what was read."""
    own = chain[0]
    read = left(chain)
    tokens = None if read.tokens is None else read.tokens - more.tokens
    nanodollars = None if read.nanodollars is None else read.nanodollars - (more.nanodollars or 0)
    return Balance(own.caps, own.settled + own.reserved + more, Left(tokens, nanodollars, read.seconds))


def _known(amount: Amount) -> Amount:
    """Return what the sums of budgets count of an amount: a price that is not known adds nothing."""
    return Amount(amount.tokens, amount.nanodollars or 0)


def _check_open(chain: list[Account], wish: str) -> None:
    for account in chain:
        if account.closed_at is not None:
            raise ClosedBudgetError(
                f"The budget {account.name!r} ({account.budget}) is closed: nobody can {wish}. Open a new one."
            )


def _new_token() -> str:
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
